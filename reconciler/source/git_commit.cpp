#include "reconciler/source/git_commit.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <utility>

#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

constexpr std::uint64_t kCommitMost = std::uint64_t{1} << 20;  // a choice
constexpr std::size_t kShownMost = 512;                        // a choice

// Up to the first occurrence of `end`, which is removed with it.
std::string_view take_until(std::string_view& rest, char end) {
  const std::size_t at = std::min(rest.find(end), rest.size());
  const std::string_view out = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return out;
}

std::string shown(std::string_view text) { return printable(text.substr(0, kShownMost)); }

// RFC 3339 in UTC; empty: not a time in years of four digits. (WallTime ends in 2262.)
std::string time_text(std::string_view seconds) {
  std::int64_t count = 0;
  const auto [end, failed] = std::from_chars(seconds.data(), seconds.data() + seconds.size(), count);
  constexpr std::int64_t kYear10000 = 253'402'300'800;
  if (failed != std::errc{} || count < 0 || count >= kYear10000) return "";
  const std::chrono::sys_seconds at{std::chrono::seconds(count)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  std::array<char, 64> out{};
  const int size =
      std::snprintf(out.data(), out.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                    static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                    static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                    static_cast<int>(time.seconds().count()));
  return std::string(out.data(), static_cast<std::size_t>(std::max(size, 0)));
}

// "Good "git" signature for PRINCIPAL with ED25519 key SHA256:..." (ssh-keygen(1))
std::string principal_in(std::string_view said) {
  constexpr std::string_view kBegin = "Good \"git\" signature for ";
  constexpr std::string_view kEnd = " with ";
  while (!said.empty()) {
    const std::string_view line = take_until(said, '\n');
    const std::size_t end = line.rfind(kEnd);
    if (line.starts_with(kBegin) && end != line.npos && end > kBegin.size())
      return shown(line.substr(kBegin.size(), end - kBegin.size()));
  }
  return "";
}

// Whether the commit's headers have a signature of OpenPGP or X.509, which lockstep does not verify.
bool has_other_signature(const std::string& commit) {
  const std::string_view headers = std::string_view(commit).substr(0, commit.find("\n\n"));
  const std::size_t at = headers.find("\ngpgsig");
  return at != headers.npos && headers.find("-----BEGIN SSH SIGNATURE-----", at) == headers.npos;
}

}  // namespace

Fetched<Revision> describe_git_commit(const GitProgram& git, const std::string& reference, const Call& call) {
  TRY(const Ended ended, git.run({"log", "-1", "--no-color", "--format=%H%x00%an%x00%ae%x00%ct%x00%B",
                                  reference + "^{commit}", "--"},
                                 kCommitMost, call));
  if (ended.signal != 0) return object_trouble(ended, git.context());
  if (!ended.well)
    return trouble_with(
        SourceTrouble::not_found,
        git.context().title + ": is not a commit; name a branch, a tag of a commit, or a commit");
  std::string_view rest = ended.out;
  Revision out{.id = std::string(take_until(rest, '\0'))};
  const std::string_view name = take_until(rest, '\0');
  const std::string_view mail = take_until(rest, '\0');
  out.author = shown(std::string(name) + " <" + std::string(mail) + ">");
  out.made = time_text(take_until(rest, '\0'));
  out.subject = shown(take_until(rest, '\n'));
  return out;
}

Fetched<std::string> verify_git_commit(const GitProgram& git, const std::string& commit,
                                       const std::string& signers_file, const Call& call) {
  TRY(const Ended ended, git.run({"verify-commit", "--raw", commit}, kCommitMost, call));
  if (std::string principal = principal_in(ended.err); ended.well && !principal.empty()) return principal;
  const std::string complaint = complaint_of(ended, git.context());
  if (complaint.starts_with("cannot run ssh-keygen"))
    return run_trouble({ErrorKind::unsupported, "there is no ssh-keygen here: install openssh-client"},
                       git.context());
  const std::string what = git.context().title + ": commit " + commit;
  TRY(const Ended object, git.run({"cat-file", "commit", commit}, kCommitMost, call));
  if (object.well && has_other_signature(object.out))
    return trouble_with(
        SourceTrouble::not_verified,
        what +
            " is signed by OpenPGP or X.509, and only SSH signatures are verified; sign it with a "
            "key of " +
            signers_file);
  return trouble_with(SourceTrouble::not_verified,
                      what + (complaint.empty() ? " is not signed" : " has no valid signature by") +
                          (complaint.empty() ? "; sign it with a key of " : " anyone in ") + signers_file +
                          (complaint.empty() ? "" : " (git: " + complaint + ")"));
}

}  // namespace lockstep
