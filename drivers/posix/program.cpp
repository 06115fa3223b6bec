#include "drivers/posix/program.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "specs/files/descriptor.hpp"

namespace lockstep {
namespace {

using std::chrono::steady_clock;

// Arbitrary: a signature with the largest RSA key that OpenSSH accepts (16,384 bits) has about 4 KiB, all
// settings of a ConnectX-7 some 20 KiB.
constexpr std::size_t kLargestAnswer = std::size_t{1} << 20;

Error failed(const std::string& what, int number) {
  return Error{ErrorKind::refused, what + ": " + std::generic_category().message(number)};
}

// A file in memory (memfd_create(2)): unlike a pipe it never blocks the other side.
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

Result<pid_t> spawn(const Program& program, const Descriptor& in, const Descriptor& out,
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
  std::vector<std::string> words{program.name};
  words.insert(words.end(), program.words.begin(), program.words.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int number = ::posix_spawnp(&pid, program.name.c_str(), &files, &attributes, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (number == ENOENT)
    return Error{ErrorKind::unsupported, "there is no " + program.name + " here" +
                                             (program.package.empty() ? "" : ": install " + program.package)};
  if (number != 0) return failed("start " + program.name, number);
  return pid;
}

// False: it did not end in time, and was killed.
bool ends_in_time(pid_t pid, std::chrono::milliseconds patience) {
  const Descriptor watch(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const auto deadline = steady_clock::now() + patience;
  while (watch) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    pollfd ended{watch.number(), POLLIN, 0};
    const int ready = left <= 0 ? 0 : ::poll(&ended, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno == EINTR) continue;  // Ctrl-C: the program has received it too
    break;
  }
  (void)::kill(pid, SIGKILL);
  return false;
}

}  // namespace

std::string Ended::complaint() const {
  std::string said = err + out;
  while (!said.empty() && (said.back() == '\n' || said.back() == '\r')) said.pop_back();
  std::replace(said.begin(), said.end(), '\n', ';');
  std::erase(said, '\r');
  return said;
}

Result<Ended> run(const Program& program, std::string_view input) {
  TRY(const Descriptor in, memory_file(input));
  TRY(const Descriptor out, memory_file(""));
  TRY(const Descriptor err, memory_file(""));
  TRY(const pid_t pid, spawn(program, in, out, err));
  const bool in_time = ends_in_time(pid, program.patience);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (!in_time)
    return Error{ErrorKind::transient, program.name + " did not answer within " +
                                           std::to_string(program.patience.count() / 1000) + " s"};
  return Ended{WIFEXITED(status) && WEXITSTATUS(status) == 0, content_of(out), content_of(err)};
}

}  // namespace lockstep
