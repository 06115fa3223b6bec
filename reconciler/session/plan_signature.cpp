#include "reconciler/session/plan_signature.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <system_error>
#include <vector>

#include "specs/files/descriptor.hpp"

namespace lockstep {
namespace {

constexpr const char* kProgram = "ssh-keygen";
constexpr const char* kNamespace = "lockstep-plan";
// A choice: time to touch a security key, or to answer an agent that asks before it signs.
constexpr std::chrono::seconds kPatience{30};
// A choice: a signature by the largest RSA key that OpenSSH takes (16,384 bits) has about 4 KiB.
constexpr std::size_t kLargestAnswer = std::size_t{1} << 20;

Error failed(const std::string& what, int number) {
  return Error{ErrorKind::refused, what + ": " + std::generic_category().message(number)};
}

// A file in memory (memfd_create(2)): unlike a pipe it never makes the other side wait.
Result<Descriptor> memory_file(std::string_view content) {
  Descriptor out(::memfd_create("lockstep", MFD_CLOEXEC));
  if (!out) return failed("memfd_create", errno);
  while (!content.empty()) {
    const ssize_t written = ::write(out.number(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed("write to memory", errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(out.number(), 0, SEEK_SET);
  return out;
}

std::string content_of(const Descriptor& file) {
  struct stat about {};
  if (::fstat(file.number(), &about) != 0) return "";
  std::string out(std::min(static_cast<std::size_t>(about.st_size), kLargestAnswer), '\0');
  const ssize_t got = ::pread(file.number(), out.data(), out.size(), 0);
  out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return out;
}

// The three are its standard descriptors, and it has no others; no signal is ignored or blocked.
Result<pid_t> spawn(std::vector<std::string> words, const Descriptor& in, const Descriptor& out,
                    const Descriptor& err) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&files, in.number(), 0);
  ::posix_spawn_file_actions_adddup2(&files, out.number(), 1);
  ::posix_spawn_file_actions_adddup2(&files, err.number(), 2);
  ::posix_spawn_file_actions_addclosefrom_np(&files, 3);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  words.insert(words.begin(), kProgram);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int number = ::posix_spawnp(&pid, kProgram, &files, &attributes, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (number == ENOENT)
    return Error{ErrorKind::unsupported, "there is no ssh-keygen here: install openssh-client"};
  if (number != 0) return failed("start ssh-keygen", number);
  return pid;
}

// False: it did not end in time, and was killed.
bool ends_in_time(pid_t pid) {
  using std::chrono::steady_clock;
  const Descriptor watch(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const auto deadline = steady_clock::now() + kPatience;
  while (watch) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    pollfd ended{watch.number(), POLLIN, 0};
    const int ready = left <= 0 ? 0 : ::poll(&ended, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno == EINTR) continue;  // Ctrl-C: it has got it too
    break;
  }
  (void)::kill(pid, SIGKILL);
  return false;
}

// What it printed. It says what is wrong on either of its outputs, in its last line.
Result<std::string> ssh_keygen(std::vector<std::string> words, std::string_view input) {
  TRY(const Descriptor in, memory_file(input));
  TRY(const Descriptor out, memory_file(""));
  TRY(const Descriptor err, memory_file(""));
  TRY(const pid_t pid, spawn(std::move(words), in, out, err));
  const bool in_time = ends_in_time(pid);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (!in_time) return Error{ErrorKind::transient, "ssh-keygen did not answer within 30 s"};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return content_of(out);
  std::string said = content_of(err) + content_of(out);
  while (!said.empty() && (said.back() == '\n' || said.back() == '\r')) said.pop_back();
  std::replace(said.begin(), said.end(), '\n', ';');
  std::erase(said, '\r');
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
  // All names of the first line that has the key; verify wants one.
  std::string last;  // why not by the last one
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
