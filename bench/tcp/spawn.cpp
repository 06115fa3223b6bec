#include "bench/tcp/spawn.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "specs/files/descriptor.hpp"

namespace lockstep::bench {
namespace {

struct Actions {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  Actions() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  ~Actions() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
};

void prepare(Actions& actions, int given, int as) {
  posix_spawn_file_actions_adddup2(&actions.files, given, as);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&actions.attributes, &none);
  posix_spawnattr_setsigdefault(&actions.attributes, &all);
  posix_spawnattr_setpgroup(&actions.attributes, 0);
  posix_spawnattr_setflags(&actions.attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

}  // namespace

Result<pid_t> spawn_probe(const std::string& executable, const std::vector<std::string>& words, int given,
                          int as) {
  Actions actions;
  prepare(actions, given, as);
  std::vector<std::string> all{"lockstep"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, executable.c_str(), &actions.files, &actions.attributes, argv.data(), environ);
  if (error != 0)
    return Error{ErrorKind::refused, "start " + executable + ": " + std::generic_category().message(error)};
  return pid;
}

std::string reap(pid_t pid, std::uint64_t grace_ns) {
  const Descriptor watch(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended{watch.number(), POLLIN, 0};
  if (!watch || poll(&ended, 1, static_cast<int>(grace_ns / 1'000'000)) <= 0) (void)kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
  return "ended with status " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

}  // namespace lockstep::bench
