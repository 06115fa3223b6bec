#include "reconciler/source/git_address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

Error wrong(std::string what) { return Error{ErrorKind::invalid_spec, std::move(what)}; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
bool is_letter_or_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool has_control(std::string_view text) { return std::ranges::any_of(text, is_control); }

constexpr std::string_view kForms =
    "https://HOST/PATH, ssh://USER@HOST/PATH, an absolute path, or http://HOST/PATH with a loopback HOST";

bool is_host(std::string_view host) {
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return false;
    in6_addr address{};
    return ::inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), &address) == 1;
  }
  return !host.empty() && host.front() != '-' &&
         std::ranges::all_of(host, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '-'; });
}

bool is_loopback(std::string_view host) {
  in_addr address{};
  if (::inet_pton(AF_INET, std::string(host).c_str(), &address) == 1)
    return (ntohl(address.s_addr) >> 24) == 127;
  return host == "localhost" || host == "[::1]";
}

bool is_port(std::string_view port) {
  return !port.empty() && port.size() <= 5 && std::ranges::all_of(port, is_digit);
}

bool is_user(std::string_view user) {
  return !user.empty() && user.front() != '-' && std::ranges::all_of(user, [](char c) {
    return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
  });
}

// Git decodes %XX and passes the result on, line by line, for example to helpers.
bool has_encoded_control(std::string_view text) {
  for (std::size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 1)) {
    const std::string_view digits = text.substr(at + 1, 2);
    if (digits.starts_with('0') || digits.starts_with('1') || digits == "7f" || digits == "7F") return true;
  }
  return false;
}

// USER@HOST:PORT/PATH, after the scheme.
Result<Done> check_url(GitTransport transport, std::string_view rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  const std::string_view path = rest.substr(slash);
  if (const std::size_t at = authority.rfind('@'); at != authority.npos) {
    const std::string_view user = authority.substr(0, at);
    if (transport != GitTransport::ssh)
      return wrong("the repository's address contains a user or a password; use username and passwordFile");
    if (user.find(':') != user.npos)
      return wrong("the repository's address contains a password; use sshKeyFile");
    if (!is_user(user)) return wrong("the user in the repository's ssh:// address is not a user name");
    authority.remove_prefix(at + 1);
  }
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.find(':', bracket == authority.npos ? 0 : bracket);
  const std::string_view host = authority.substr(0, colon);
  if (!is_host(host) || (colon != authority.npos && !is_port(authority.substr(colon + 1))))
    return wrong("the repository's address has no valid host and port: use " + std::string(kForms));
  if (path.size() < 2) return wrong("the repository's address has no path after its host");
  if (transport == GitTransport::http && !is_loopback(host))
    return wrong("the repository's address is http:// to " + std::string(host) +
                 ", where others can read and change what is sent; use https://");
  return Done{};
}

// git-check-ref-format(1).
bool is_reference_name(std::string_view name) {
  constexpr std::size_t kLongest = 1024;  // a choice; file systems take less for one component
  constexpr std::string_view kForbidden = " ~^:?*[\\";
  if (name.empty() || name.size() > kLongest || has_control(name) || name == "@") return false;
  if (name.find_first_of(kForbidden) != name.npos || name.find("..") != name.npos ||
      name.find("@{") != name.npos || name.find("//") != name.npos)
    return false;
  if (name.front() == '/' || name.back() == '/' || name.back() == '.') return false;
  const std::string within = "/" + std::string(name) + "/";
  return within.find("/.") == within.npos && within.find(".lock/") == within.npos;
}

bool is_full_hash(std::string_view name) {
  return (name.size() == 40 || name.size() == 64) &&
         std::ranges::all_of(name, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

Result<Done> check_reference(const GitReference& reference) {
  const std::string shown = printable(to_string(reference));
  if (reference.kind == GitReference::Kind::commit) {
    if (is_full_hash(reference.name)) return Done{};
    return wrong(shown + ": a commit is named by its full hash, 40 or 64 lower-case hexadecimal digits");
  }
  if (reference.name.starts_with('-'))
    return wrong(shown + ": a name that starts with '-' could be taken for an option of git; rename it");
  if (reference.name.starts_with("refs/"))
    return wrong(shown + ": use the name without refs/heads/ or refs/tags/");
  if (!is_reference_name(reference.name))
    return wrong(shown + ": not a name that git allows (git-check-ref-format(1))");
  return Done{};
}

Result<Done> check_path(const std::string& path) {
  if (path.empty()) return Done{};
  const std::string within = "/" + path + "/";
  if (has_control(path) || within.find("//") != within.npos || within.find("/./") != within.npos ||
      within.find("/../") != within.npos)
    return wrong("path " + printable(path) +
                 ": a folder of the repository is named from its top, without '.', '..' and "
                 "slashes at its ends");
  return Done{};
}

struct NamedFile {
  std::string_view name;
  const std::string& file;
  bool of_transport;  // it has a use with this address
};

Result<Done> check_files(const GitSettings& settings, GitTransport transport) {
  const bool https = transport == GitTransport::https;
  const bool ssh = transport == GitTransport::ssh;
  const bool web = https || transport == GitTransport::http;
  const std::array<NamedFile, 6> files{{{"cache", settings.cache, true},
                                        {"signersFile", settings.allowed_signers_file, true},
                                        {"passwordFile", settings.password_file, web},
                                        {"caFile", settings.ca_file, https},
                                        {"sshKeyFile", settings.ssh_key_file, ssh},
                                        {"sshKnownHostsFile", settings.ssh_known_hosts_file, ssh}}};
  for (const auto& [name, file, of_transport] : files) {
    if (file.empty()) continue;
    const std::string shown = std::string(name) + " " + printable(file);
    if (!of_transport)
      return wrong(shown + ": has no use with an address that starts with " +
                   (transport == GitTransport::file ? "/" : to_string(transport) + "://"));
    // ssh(1) can't be given a name with quotes in -o.
    if (!file.starts_with('/') || has_control(file) || file.find('"') != file.npos)
      return wrong(shown + ": must be an absolute path without control characters and quotation marks");
  }
  if (settings.cache.empty()) return wrong("cache: must name a folder for what is fetched");
  if (ssh && (settings.ssh_key_file.empty() || settings.ssh_known_hosts_file.empty()))
    return wrong("ssh:// needs sshKeyFile, and sshKnownHostsFile with the server's host key");
  if (settings.username.empty() != settings.password_file.empty())
    return wrong("username and passwordFile are used together; one of them is missing");
  if (!settings.username.empty() &&
      (!web || has_control(settings.username) || settings.username.find(':') != std::string::npos))
    return wrong("username " + printable(settings.username) +
                 ": is for https:// only, and contains neither ':' nor control characters");
  return Done{};
}

}  // namespace

std::string to_string(GitTransport transport) {
  switch (transport) {
    case GitTransport::https: return "https";
    case GitTransport::http: return "http";
    case GitTransport::ssh: return "ssh";
    case GitTransport::file: return "file";
  }
  return "";
}

Result<GitTransport> git_transport(const std::string& address) {
  constexpr std::size_t kLongest = 4096;  // PATH_MAX
  if (address.size() > kLongest || has_control(address))
    return wrong("the repository's address has control characters, or more than 4096 bytes");
  if (address.starts_with('/')) return GitTransport::file;
  for (const auto transport : {GitTransport::https, GitTransport::http, GitTransport::ssh}) {
    const std::string scheme = to_string(transport) + "://";
    if (!address.starts_with(scheme)) continue;
    if (std::ranges::any_of(address, [](char c) { return static_cast<unsigned char>(c) > 0x7e; }) ||
        address.find_first_of(" \"'\\<>^`{|}?#") != address.npos || has_encoded_control(address))
      return wrong(
          "the repository's address has characters that a URL can't have here, such as spaces, quotes, '?' "
          "and '#'");
    TRY_DONE(check_url(transport, std::string_view(address).substr(scheme.size())));
    return transport;
  }
  return wrong("the repository's address is of a kind that is not supported: use " + std::string(kForms));
}

Result<Done> check_git_settings(const GitSettings& settings) {
  TRY(const GitTransport transport, git_transport(settings.address));
  TRY_DONE(check_reference(settings.reference));
  TRY_DONE(check_path(settings.path));
  TRY_DONE(check_files(settings, transport));
  if (settings.max_bytes == 0 || settings.max_file_bytes == 0 || settings.max_files == 0)
    return wrong("max_bytes, max_file_bytes and max_files must be more than 0");
  return Done{};
}

std::string git_reference(const GitReference& reference) {
  switch (reference.kind) {
    case GitReference::Kind::branch: return "refs/heads/" + reference.name;
    case GitReference::Kind::tag: return "refs/tags/" + reference.name;
    case GitReference::Kind::commit: break;
  }
  return reference.name;
}

std::string to_string(const GitReference& reference) {
  switch (reference.kind) {
    case GitReference::Kind::branch: return "branch " + reference.name;
    case GitReference::Kind::tag: return "tag " + reference.name;
    case GitReference::Kind::commit: break;
  }
  return "commit " + reference.name;
}

}  // namespace lockstep
