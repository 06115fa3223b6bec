#include "reconciler/source/git_trouble.hpp"

#include <algorithm>
#include <csignal>
#include <string_view>
#include <utility>

#include "reconciler/source/fetched.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

using Trouble = SourceTrouble;

struct Complaint {
  std::string_view words;  // of git 2.39, curl, GnuTLS, OpenSSL and ssh, in the C locale
  Trouble trouble;
  std::string_view meaning;
};

constexpr std::string_view kRefused =
    "the server refuses access; check username and passwordFile, or sshKeyFile";
constexpr std::string_view kCertificate =
    "the server's certificate is not trusted; check caFile, the host name and its dates";
constexpr std::string_view kHostKey =
    "the server's host key is not the one in sshKnownHostsFile; compare it with the server's and correct "
    "the file";
constexpr std::string_view kNoRepository =
    "the repository was not found; correct the address, or give this user access";
constexpr std::string_view kNoReference = "not in the repository; push it, or correct the name";
constexpr std::string_view kRedirected =
    "the server redirects to another address, which is not followed; use the address where the repository is";
constexpr std::string_view kTooLarge =
    "more would be received than is taken of one commit; make the repository smaller";
constexpr std::string_view kNoRoom =
    "there is no space for what is fetched; make room in the cache's file system";
constexpr std::string_view kNoSsh = "there is no ssh here; install openssh-client";
constexpr std::string_view kNoHelper = "git is incomplete here; install it again";
constexpr std::string_view kUnreachable = "the repository is unreachable from this machine";
constexpr std::string_view kServerFails = "the server has an error of its own";
constexpr std::string_view kCutOff = "the connection ended early";
constexpr std::string_view kOwner =
    "the repository belongs to another user, and git reads none of those; change its owner";
constexpr std::string_view kDumb =
    "the server has only files there, without git's protocol; use one that has it";
constexpr std::string_view kInvalid =
    "the repository contains invalid objects, and nothing of it is used; find them with "
    "\"git fsck --strict\"";

constexpr std::string_view kCorrupt =
    "the repository is damaged where it is; find out what is with \"git fsck\" there";

// In this order, as some complaints follow from others.
constexpr Complaint kComplaints[] = {
    {"No space left on device", Trouble::local, kNoRoom},
    {"Disk quota exceeded", Trouble::local, kNoRoom},
    {"Out of diskspace", Trouble::local, kNoRoom},
    {"cannot update ref", Trouble::local, kNoRoom},
    {"cannot run ssh", Trouble::local, kNoSsh},
    {" ssh: not found", Trouble::local, kNoSsh},
    {"is not a git command", Trouble::local, kNoHelper},
    {"Out of memory", Trouble::too_large, kTooLarge},
    {"fsck error", Trouble::broken, kInvalid},
    {"Host key verification failed", Trouble::denied, kHostKey},
    {"Permission denied (", Trouble::denied, kRefused},
    {"Too many authentication failures", Trouble::denied, kRefused},
    {"dubious ownership", Trouble::denied, kOwner},
    {"certificate verification", Trouble::denied, kCertificate},
    {"SSL certificate", Trouble::denied, kCertificate},
    {"certificate subject name", Trouble::denied, kCertificate},
    {"Authentication failed", Trouble::denied, kRefused},
    {"terminal prompts disabled", Trouble::denied, kRefused},
    {"returned error: 401", Trouble::denied, kRefused},
    {"returned error: 403", Trouble::denied, kRefused},
    {"returned error: 404", Trouble::not_found, kNoRepository},
    {"returned error: 30", Trouble::not_found, kRedirected},
    {"returned error: 429", Trouble::unreachable, kServerFails},
    {"returned error: 5", Trouble::unreachable, kServerFails},
    {"dumb http transport", Trouble::not_found, kDumb},
    {"couldn't find remote ref", Trouble::not_found, kNoReference},
    {"not our ref", Trouble::not_found, kNoReference},
    {"unadvertised object", Trouble::not_found, kNoReference},
    {"does not appear to be a git repository", Trouble::not_found, kNoRepository},
    {"invalid gitfile", Trouble::not_found, kNoRepository},
    {"' not found", Trouble::not_found, kNoRepository},
    {"not valid: is this a git repository", Trouble::not_found, kNoRepository},
    {"Repository not found", Trouble::not_found, kNoRepository},
    {"Could not resolve host", Trouble::unreachable, kUnreachable},
    {"Failed to connect", Trouble::unreachable, kUnreachable},
    {"ssh: ", Trouble::unreachable, kUnreachable},
    {"repository corruption", Trouble::broken, kCorrupt},
    {"bad pack header", Trouble::broken, kCorrupt},
    {"early EOF", Trouble::unreachable, kCutOff},
    {"hung up unexpectedly", Trouble::unreachable, kCutOff},
    {"unexpected disconnect", Trouble::unreachable, kCutOff},
    {"RPC failed", Trouble::unreachable, kCutOff},
    {"Connection closed", Trouble::unreachable, kCutOff},
    {"Connection reset", Trouble::unreachable, kCutOff},
    {"timed out", Trouble::unreachable, kUnreachable},
    {"unable to access", Trouble::unreachable, kUnreachable},
    {"index-pack", Trouble::broken, kInvalid},
    {"did not send all necessary objects", Trouble::broken, kInvalid},
    {"bad object", Trouble::broken, kInvalid},
    {"missing", Trouble::broken, kInvalid},
};

std::string without(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets)
    for (std::size_t at = text.find(secret); !secret.empty() && at != text.npos;
         at = text.find(secret, at + 3))
      text.replace(at, secret.size(), "***");
  return text;
}

// Git's own lines; progress ends with a carriage return.
std::vector<std::string_view> lines_of(std::string_view said) {
  std::vector<std::string_view> out;
  while (!said.empty()) {
    const std::size_t end = std::min(said.find_first_of("\r\n"), said.size());
    const std::string_view line = said.substr(0, end);
    if (!line.empty() && !line.starts_with("remote:")) out.push_back(line);
    said.remove_prefix(std::min(end + 1, said.size()));
  }
  return out;
}

// The line without the names in it, which others choose: what git quotes, addresses and references.
std::string without_names(std::string_view line) {
  std::string out;
  while (!line.empty()) {
    const bool is_quoted = line.front() == '\'' && line.find('\'', 1) != line.npos;
    const std::size_t end =
        is_quoted ? line.find('\'', 1) + 1 : std::min(line.find_first_of(" '", 1), line.size());
    const std::string_view word = line.substr(0, end);
    if (is_quoted)
      out += "''";
    else if (word.find("://") == word.npos && word.find("refs/") == word.npos)
      out += word;
    line.remove_prefix(end);
  }
  return out;
}

// In one line that can be shown, without git's "fatal: ".
std::string shown_line(std::string_view line, const GitContext& context) {
  constexpr std::size_t kLongest = 300;  // a choice
  for (const std::string_view prefix : {"fatal: ", "error: "})
    if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
  const std::string clean = without(std::string(line), context.secrets);
  return printable(std::string_view(clean).substr(0, kLongest));
}

bool is_generic(std::string_view line) {
  return line.find("Could not read from remote repository") != line.npos ||
         line.find("Please make sure you have the correct access rights") != line.npos ||
         line.find("and the repository exists") != line.npos;
}

SourceError with_complaint(Trouble trouble, std::string_view meaning, std::string_view line,
                           const GitContext& context) {
  const std::string shown = shown_line(line, context);
  return trouble_with(
      trouble, context.title + ": " + std::string(meaning) + (shown.empty() ? "" : " (git: " + shown + ")"));
}

// The largest file that a command may write is what may be received, and what it may print.
bool is_too_large(const Ended& ended) { return ended.signal == SIGXFSZ; }

}  // namespace

std::string complaint_of(const Ended& ended, const GitContext& context) {
  const auto lines = lines_of(ended.err);
  const auto last = std::find_if_not(lines.rbegin(), lines.rend(), is_generic);
  return last == lines.rend() ? "" : shown_line(*last, context);
}

SourceError received_too_much(const GitContext& context) {
  return with_complaint(Trouble::too_large, kTooLarge, "", context);
}

SourceError fetch_trouble(const Ended& ended, const GitContext& context) {
  if (is_too_large(ended)) return received_too_much(context);
  const auto lines = lines_of(ended.err);
  std::vector<std::string> matched;
  for (const std::string_view line : lines) matched.push_back(without_names(line));
  for (const Complaint& known : kComplaints)
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (matched[i].find(known.words) != std::string::npos)
        return with_complaint(known.trouble, known.meaning, lines[i], context);
  return with_complaint(Trouble::unreachable, kUnreachable, complaint_of(ended, context), context);
}

SourceError object_trouble(const Ended& ended, const GitContext& context) {
  if (is_too_large(ended)) return received_too_much(context);
  const std::string complaint = complaint_of(ended, context);
  const bool no_room = complaint.find("No space left on device") != complaint.npos;
  return with_complaint(no_room ? Trouble::local : Trouble::broken, no_room ? kNoRoom : kInvalid, complaint,
                        context);
}

SourceError run_trouble(Error error, const GitContext& context) {
  if (error.kind == ErrorKind::cancelled)
    return {Trouble::unreachable, wrap(context.title, std::move(error))};
  if (error.kind == ErrorKind::transient)
    return trouble_with(Trouble::unreachable, context.title + ": the repository did not answer in time");
  return {Trouble::local, wrap(context.title, std::move(error))};
}

}  // namespace lockstep
