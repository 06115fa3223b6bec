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
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "drivers/posix/wait.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep {
namespace {

using std::chrono::steady_clock;

// A choice: killed processes end within milliseconds, unless they wait for a disk.
constexpr std::chrono::seconds kKilledEnd{1};
constexpr std::chrono::milliseconds kLookAgain{2};

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

std::string content_of(const Descriptor& file, std::size_t most) {
  struct stat about {};
  if (::fstat(file.number(), &about) != 0) return "";
  std::string out(std::min(static_cast<std::size_t>(about.st_size), most), '\0');
  const ssize_t got = ::pread(file.number(), out.data(), out.size(), 0);
  out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return out;
}

// As execve(2) takes them.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
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
  const int group = program.own_group ? POSIX_SPAWN_SETPGROUP : 0;  // its number is the program's
  ::posix_spawnattr_setflags(&attributes,
                             static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
  std::vector<std::string> words{program.name};
  words.insert(words.end(), program.words.begin(), program.words.end());
  std::vector<char*> argv = pointers(words);
  std::vector<std::string> environment = program.environment.value_or(std::vector<std::string>{});
  std::vector<char*> variables = pointers(environment);
  pid_t pid = -1;
  const int number = ::posix_spawnp(&pid, program.name.c_str(), &files, &attributes, argv.data(),
                                    program.environment ? variables.data() : environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (number == ENOENT)
    return Error{ErrorKind::unsupported, "there is no " + program.name + " here" +
                                             (program.package.empty() ? "" : ": install " + program.package)};
  if (number != 0) return failed("start " + program.name, number);
  return pid;
}

// Once the program has ended and is not reaped yet, so that its number can't be another group's. An error: it
// did not end in time, or had to be stopped, and was killed.
Result<Done> wait_for_end(pid_t pid, const Program& program, const Call& call) {
  const Descriptor watch(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  Call own = call;
  const auto patience_ends = steady_clock::now() + program.patience;
  own.deadline = std::min(call.deadline, patience_ends);
  // Ctrl-C does not end the wait: the program has received it too.
  Result<Done> ended = watch ? wait_for(watch.number(), POLLIN, own) : failed("pidfd_open", errno);
  if (!ended) (void)::kill(pid, SIGKILL);
  if (program.own_group) (void)::kill(-pid, SIGKILL);
  if (ended || ended.error().kind != ErrorKind::transient) return ended;
  if (call.deadline < patience_ends)
    return Error{ErrorKind::transient, program.name + " did not answer before the deadline"};
  return Error{ErrorKind::transient, program.name + " did not answer within " +
                                         std::to_string(program.patience.count() / 1000) + " s"};
}

// Whether a process of the group runs (proc_pid_stat(5)). One that has ended stays in the group until its
// parent has waited for it, which may be never: not every container has an init.
bool runs_in_group(pid_t group) {
  if (::kill(-group, 0) != 0) return false;
  std::error_code none;
  for (std::filesystem::directory_iterator at("/proc", none), end; !none && at != end; at.increment(none)) {
    const std::string name = at->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(at->path() / "stat");
    std::string line;
    std::getline(file, line);
    std::istringstream after_name(line.substr(std::min(line.rfind(')') + 1, line.size())));
    std::string state;
    pid_t parent = 0;
    pid_t its_group = 0;
    if (after_name >> state >> parent >> its_group && its_group == group && state != "Z" && state != "X")
      return true;
  }
  return false;
}

void wait_for_killed_group(pid_t group) {
  const Call own{.deadline = steady_clock::now() + kKilledEnd, .stop = {}, .wake_fd = -1};
  while (runs_in_group(group))
    if (!pause(kLookAgain, own)) break;
  // Where this process is the init, they have become its children.
  while (::waitpid(-group, nullptr, WNOHANG) > 0) continue;
}

}  // namespace

std::string Ended::complaint() const {
  std::string said = err + out;
  while (!said.empty() && (said.back() == '\n' || said.back() == '\r')) said.pop_back();
  std::replace(said.begin(), said.end(), '\n', ';');
  std::erase(said, '\r');
  return said;
}

Result<Ended> run(const Program& program, std::string_view input, const Call& call) {
  if (const auto why = call.why_ended(steady_clock::now())) return *why;
  TRY(const Descriptor in, memory_file(input));
  TRY(const Descriptor out, memory_file(""));
  TRY(const Descriptor err, memory_file(""));
  TRY(const pid_t pid, spawn(program, in, out, err));
  const Result<Done> ended = wait_for_end(pid, program, call);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (program.own_group) wait_for_killed_group(pid);
  if (!ended) return ended.error();
  return Ended{WIFEXITED(status) && WEXITSTATUS(status) == 0, content_of(out, program.largest_output),
               content_of(err, program.largest_output), WIFSIGNALED(status) ? WTERMSIG(status) : 0,
               WIFEXITED(status) ? WEXITSTATUS(status) : 0};
}

}  // namespace lockstep
