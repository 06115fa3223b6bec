#include "reconciler/source/git_program.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "reconciler/source/cache_folder.hpp"
#include "reconciler/source/git_address.hpp"
#include "specs/files/file_error.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/secret_file.hpp"

namespace lockstep {
namespace {

// For calls without a deadline.
constexpr std::chrono::minutes kPatience{30};
// A choice: four times what git needs for the largest blob that it keeps in memory (core.bigFileThreshold),
// its libraries and the windows of its packs, which are set below.
constexpr std::uint64_t kMemory = std::uint64_t{1} << 30;
constexpr std::size_t kCredentialMost = std::size_t{64} << 10;
constexpr std::size_t kSignersMost = std::size_t{4} << 20;

// select(2), in whatever git runs, can't watch more; this process may have many more open.
rlim_t files_of_git() {
  constexpr rlim_t kMost = FD_SETSIZE;
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min(limit.rlim_max, kMost) : kMost;
}

Result<std::string> read_settings_file(const std::string& file, const std::string& name, std::size_t most) {
  FileText text = read_named(file, most);
  if (!text) return Error{ErrorKind::refused, name + " " + file + ": " + text.why};
  return std::move(text.text);
}

Result<GitSecrets> read_secrets(const GitSettings& settings) {
  GitSecrets out;
  TRY_DONE(check_secret_file(settings.ssh_key_file, "sshKeyFile"));
  TRY_DONE(check_secret_file(settings.password_file, "passwordFile"));
  for (const auto& [name, file] :
       {std::pair{"sshKeyFile", settings.ssh_key_file},
        std::pair{"sshKnownHostsFile", settings.ssh_known_hosts_file}, std::pair{"caFile", settings.ca_file}})
    if (!file.empty()) TRY_DONE(read_settings_file(file, name, kSignersMost));
  if (!settings.allowed_signers_file.empty()) {
    TRY(out.allowed_signers, read_settings_file(settings.allowed_signers_file, "signersFile", kSignersMost));
  }
  if (settings.password_file.empty()) return out;
  TRY(const std::string text, read_settings_file(settings.password_file, "passwordFile", kCredentialMost));
  out.password = text.substr(0, text.find_first_of("\r\n"));
  if (out.password.empty())
    return Error{ErrorKind::refused, "passwordFile " + settings.password_file + ": its first line is empty"};
  return out;
}

std::string base64(const std::string& text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

// git-config(1), Syntax.
std::string config_value(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// Every setting that could run a program, contact another host, or read a file of others. The repository that
// is fetched into does not outlive the call: nothing of it has to survive a power loss.
constexpr std::string_view kConfig = R"([core]
  hooksPath = /dev/null
  fsmonitor = false
  attributesFile = /dev/null
  excludesFile = /dev/null
  bigFileThreshold = 1m
  packedGitWindowSize = 32m
  packedGitLimit = 128m
  deltaBaseCacheLimit = 16m
  logAllRefUpdates = false
  fsync = none
[protocol]
  version = 2
  allow = never
[transfer]
  fsckObjects = true
  bundleURI = false
[fetch]
  fsckObjects = true
  unpackLimit = 1
  recurseSubmodules = false
  writeCommitGraph = false
[submodule]
  recurse = false
[gc]
  auto = 0
[maintenance]
  auto = false
[pack]
  threads = 1
[credential]
  helper =
[http]
  followRedirects = false
  proxy =
  sslVerify = true
  lowSpeedLimit = 1
  lowSpeedTime = 60
[gpg]
  program = /bin/false
  minTrustLevel = fully
[gpg "x509"]
  program = /bin/false
[log]
  mailmap = false
  showSignature = false
[i18n]
  logOutputEncoding = UTF-8
)";

struct Places {
  std::string home;
  std::string config;  // beneath home, where each version of git looks for it
  std::string nothing;
  std::string signers;
};

std::string config_text(const GitSettings& settings, GitTransport transport, const Places& places,
                        const std::string& authorization) {
  std::string out(kConfig);
  out += "[protocol " + config_value(to_string(transport)) + "]\n  allow = always\n";
  if (!settings.ca_file.empty())  // curl would add the folder of the system's authorities
    out += "[http]\n  sslCAInfo = " + config_value(settings.ca_file) +
           "\n  sslCAPath = " + config_value(places.nothing) + "\n";
  if (!authorization.empty())
    out += "[http]\n  extraHeader = " + config_value("Authorization: Basic " + authorization) + "\n";
  out +=
      "[gpg \"ssh\"]\n  program = ssh-keygen\n  allowedSignersFile = " + config_value(places.signers) + "\n";
  return out;
}

// Git passes it to sh(1), which must see one word. ssh(1) replaces tokens that begin with '%' and takes a
// name with spaces for two.
std::string ssh_file(const std::string& option, const std::string& file) {
  std::string out = " -o '" + option + "=\"";
  for (const char c : file) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c == '%' ? std::string("%%") : std::string(1, c);
  }
  return out + "\"'";
}

std::string ssh_command(const GitSettings& settings) {
  return "ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=yes -o GlobalKnownHostsFile=/dev/null"
         " -o UpdateHostKeys=no -o IdentitiesOnly=yes -o IdentityAgent=none"
         " -o PreferredAuthentications=publickey -o ConnectTimeout=60 -o ServerAliveInterval=20"
         " -o ServerAliveCountMax=3 -o LogLevel=ERROR" +
         ssh_file("UserKnownHostsFile", settings.ssh_known_hosts_file) +
         ssh_file("IdentityFile", settings.ssh_key_file);
}

std::vector<std::string> environment_of(const GitSettings& settings, GitTransport transport,
                                        const Places& places) {
  const char* const path = std::getenv("PATH");
  std::vector<std::string> out{
      "PATH=" + std::string(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin"),
      "HOME=" + places.home,
      "XDG_CONFIG_HOME=" + places.home,
      "TMPDIR=" + places.home,
      "LC_ALL=C",
      "TZ=UTC",
      "GIT_CONFIG_NOSYSTEM=1",
      "GIT_CONFIG_SYSTEM=/dev/null",
      "GIT_CONFIG_GLOBAL=" + places.config,
      "GIT_ATTR_NOSYSTEM=1",
      "GIT_TERMINAL_PROMPT=0",
      "GIT_ALLOW_PROTOCOL=" + to_string(transport),
      "GIT_NO_REPLACE_OBJECTS=1",
      "GIT_NO_LAZY_FETCH=1",
      "GIT_LITERAL_PATHSPECS=1",
  };
  if (transport == GitTransport::ssh) {
    out.push_back("GIT_SSH_VARIANT=ssh");
    out.push_back("GIT_SSH_COMMAND=" + ssh_command(settings));
  }
  return out;
}

}  // namespace

Fetched<GitSecrets> read_git_secrets(const GitSettings& settings, const std::string& title) {
  Result<GitSecrets> out = read_secrets(settings);
  if (out) return *std::move(out);
  return SourceError{SourceTrouble::local, wrap(title, std::move(out.error()))};
}

Fetched<GitProgram> GitProgram::make(const GitSettings& settings, const GitSecrets& secrets,
                                     const std::string& folder, std::string title) {
  const Result<GitTransport> transport = git_transport(settings.address);
  if (!transport) return SourceError{SourceTrouble::local, transport.error()};
  const Places places{folder + "/home", folder + "/home/.gitconfig", folder + "/nothing",
                      folder + "/signers"};
  const std::string authorization =
      secrets.password.empty() ? "" : base64(settings.username + ":" + secrets.password);
  if (::mkdir(places.nothing.c_str(), 0700) != 0)
    return SourceError{SourceTrouble::local, file_error("create " + places.nothing, errno)};
  const std::pair<const char*, std::string> files[] = {
      {"home/.gitconfig", config_text(settings, *transport, places, authorization)},
      {"signers", secrets.allowed_signers}};
  for (const auto& [name, text] : files) TRY_DONE(on_this_machine(write_new_file(folder, name, text)));
  GitProgram out;
  out.repository_ = folder + "/repository";
  out.environment_ = environment_of(settings, *transport, places);
  out.context_ = {std::move(title), {secrets.password, authorization}};
  return out;
}

Fetched<Ended> GitProgram::run(std::vector<std::string> words, std::uint64_t largest_file, const Call& call,
                               std::string_view input) const {
  Program program{.name = "prlimit",
                  .package = "util-linux",
                  .words = {"--fsize=" + std::to_string(largest_file), "--as=" + std::to_string(kMemory),
                            "--core=0", "--nofile=" + std::to_string(files_of_git()) + ":", "git",
                            "--no-pager", "--git-dir=" + repository_},
                  .patience = kPatience,
                  .environment = environment_,
                  .own_group = true,
                  .largest_output = largest_file};
  program.words.insert(program.words.end(), std::make_move_iterator(words.begin()),
                       std::make_move_iterator(words.end()));
  Result<Ended> ended = lockstep::run(program, input, call);
  if (!ended) return run_trouble(std::move(ended.error()), context_);
  if (ended->err.find("prlimit: failed to execute git") != std::string::npos)
    return run_trouble({ErrorKind::unsupported, "there is no git here: install git"}, context_);
  return *std::move(ended);
}

Fetched<std::string> GitProgram::read(std::vector<std::string> words, std::uint64_t largest_output,
                                      const Call& call, std::string_view input) const {
  TRY(Ended ended, run(std::move(words), largest_output, call, input));
  if (!ended.well) return object_trouble(ended, context_);
  return std::move(ended.out);
}

}  // namespace lockstep
