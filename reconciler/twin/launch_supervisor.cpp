#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>

#include "reconciler/twin/namespace.hpp"
#include "reconciler/twin/places.hpp"
#include "reconciler/twin/supervisor.hpp"

namespace lockstep {
namespace {

// The supervisor reads the record first; the largest is about 8 MiB.
constexpr std::chrono::seconds kRecordPatience{10};

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

// The supervisor inherits only the lock and one socket: no terminal, no ignored or blocked signals, no other
// descriptors. Both source descriptors are above their targets, so that no dup2 overwrites a source.
void prepare(Actions& actions, int lock, int launcher, const std::string& log) {
  posix_spawn_file_actions_addopen(&actions.files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions.files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions.files, 1, 2);
  posix_spawn_file_actions_adddup2(&actions.files, lock, kSupervisorLock);
  posix_spawn_file_actions_adddup2(&actions.files, launcher, kSupervisorLauncher);
  posix_spawn_file_actions_addclosefrom_np(&actions.files, kSupervisorLauncher + 1);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&actions.attributes, &none);
  posix_spawnattr_setsigdefault(&actions.attributes, &all);
  posix_spawnattr_setflags(&actions.attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
}

Result<Descriptor> moved_up(int descriptor) {
  constexpr int kAboveAll = 100;
  Descriptor out(::fcntl(descriptor, F_DUPFD_CLOEXEC, kAboveAll));
  if (!out) return errno_error("duplicate a descriptor");
  return out;
}

}  // namespace

Result<LineChannel> launch_supervisor(const std::string& executable, const TwinRecord& record,
                                      const Descriptor& lock) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return errno_error("socketpair");
  LineChannel supervisor{Descriptor(ends[0])};
  {
    const Descriptor theirs(ends[1]);
    TRY(const Descriptor high_lock, moved_up(lock.number()));
    TRY(const Descriptor high_launcher, moved_up(theirs.number()));
    Actions actions;
    prepare(actions, high_lock.number(), high_launcher.number(), twin_places(record.layout.cluster).log);
    // The cluster name is shown by ps(1).
    std::array<std::string, 3> words{"lockstep", kSupervisorWord, record.layout.cluster};
    std::array<char*, 4> argv{words[0].data(), words[1].data(), words[2].data(), nullptr};
    pid_t first = -1;
    const int failed =
        ::posix_spawn(&first, executable.c_str(), &actions.files, &actions.attributes, argv.data(), environ);
    if (failed != 0)
      return Error{ErrorKind::refused,
                   "start the supervisor, " + executable + ": " + std::generic_category().message(failed)};
    int status = 0;
    while (::waitpid(first, &status, 0) < 0 && errno == EINTR) continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      return Error{ErrorKind::denied, "can't start the supervisor in a session and PID namespace of its own"};
  }
  TRY_DONE(supervisor.write_line(to_text(record),
                                 Call{std::chrono::steady_clock::now() + kRecordPatience, {}, -1}));
  return supervisor;
}

}  // namespace lockstep
