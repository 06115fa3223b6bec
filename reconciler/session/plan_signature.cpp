#include "reconciler/session/plan_signature.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <system_error>
#include <vector>

#include "drivers/posix/program.hpp"

namespace lockstep {
namespace {

constexpr const char* kProgram = "ssh-keygen";
constexpr const char* kNamespace = "lockstep-plan";
// A choice: time to touch a security key, or to answer an agent that asks before it signs.
constexpr std::chrono::seconds kPatience{30};

// Its output. Errors are reported on either of its outputs.
Result<std::string> ssh_keygen(std::vector<std::string> words, std::string_view input) {
  TRY(Ended ended, run({kProgram, "openssh-client", std::move(words), kPatience}, input));
  if (ended.well) return std::move(ended.out);
  const std::string said = ended.complaint();
  return Error{ErrorKind::denied, said.empty() ? "ssh-keygen failed without a word" : said};
}

Result<Done> is_readable(const std::string& file, const std::string& what) {
  if (::access(file.c_str(), R_OK) == 0) return Done{};
  return Error{ErrorKind::denied, what + ", " + file + ": " + std::generic_category().message(errno)};
}

}  // namespace

Result<std::string> sign_plan(const std::string& bytes, const std::string& key) {
  Result<std::string> signature = ssh_keygen({"-Y", "sign", "-n", kNamespace, "-f", key}, bytes);
  return signature ? signature : wrap("can't sign with " + key, std::move(signature.error()));
}

Result<std::string> verify_plan_signature(const std::string& bytes, const std::string& signature_file,
                                          const std::string& allowed_signers) {
  TRY_DONE(is_readable(signature_file, "the plan's signature"));
  TRY_DONE(is_readable(allowed_signers, "the allowed signers"));
  const Result<std::string> found =
      ssh_keygen({"-Y", "find-principals", "-s", signature_file, "-f", allowed_signers}, "");
  if (!found)
    return Error{found.error().kind, signature_file + ": nobody of " + allowed_signers +
                                         " whose key is valid now signed it: " + found.error().what};
  // All names in the first line that has the key; verify wants one.
  std::string last;  // the error for the last name
  for (std::string_view rest = *found; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(",\n"), rest.size());
    const std::string principal(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (principal.empty()) continue;
    const Result<std::string> good = ssh_keygen(
        {"-Y", "verify", "-n", kNamespace, "-I", principal, "-s", signature_file, "-f", allowed_signers},
        bytes);
    if (good) return principal;
    last = signature_file + " is no signature by " + principal + " of this plan file: " + good.error().what;
  }
  return Error{ErrorKind::denied, last.empty() ? signature_file + " is by nobody that has a name" : last};
}

}  // namespace lockstep
