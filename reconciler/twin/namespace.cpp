#include "reconciler/twin/namespace.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "drivers/posix/in_namespace.hpp"

namespace lockstep {
namespace {

constexpr const char* kNetnsDir = "/run/netns";  // ip-netns(8)
// Of the thread, not of the process: "self" is the thread group's leader.
constexpr const char* kOwnNetns = "/proc/thread-self/ns/net";

// A chosen limit: iproute2 holds the lock of the folder for three calls of mount(2).
constexpr std::chrono::seconds kLockPatience{5};
constexpr int kLockPollMs = 10;

std::string path_of(const std::string& name) { return std::string(kNetnsDir) + "/" + name; }

// The holder of a lock on that file, from /proc/locks (proc(5)): "1: FLOCK  ADVISORY  WRITE 4711 00:1a:23 0
// EOF".
std::string lock_holder(int descriptor) {
  struct stat locked {};
  if (::fstat(descriptor, &locked) != 0) return "another process";
  const std::string file =
      fmt::format("{:02x}:{:02x}:{}", major(locked.st_dev), minor(locked.st_dev), locked.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, how, inode;
    pid_t pid = -1;
    if (!(words >> number >> kind >> advisory >> how >> pid >> inode) || inode != file || kind != "FLOCK")
      continue;
    struct stat process {};
    if (::stat(fmt::format("/proc/{}", pid).c_str(), &process) != 0) continue;
    return fmt::format("process {} (uid {})", pid, process.st_uid);
  }
  return "another process";
}

bool share_netns_dir() { return ::mount("", kNetnsDir, "none", MS_SHARED | MS_REC, nullptr) == 0; }

// The folder must be a shared mount, so that a namespace bound there appears in (and, on deletion, disappears
// from) every mount namespace. Making it a mount takes the same lock as iproute2's ipnetns.c, because two
// such mounts would hide each other's namespaces; an existing mount needs no lock. Every user can open the
// folder, and so hold that lock indefinitely.
Result<Done> prepare_netns_dir(const GoOn& go_on) {
  if (::mkdir(kNetnsDir, 0755) != 0 && errno != EEXIST) return errno_error("mkdir /run/netns");
  const Descriptor folder(::open(kNetnsDir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return errno_error("open /run/netns");
  const auto until = std::chrono::steady_clock::now() + kLockPatience;
  for (bool locked = false;;) {
    if (share_netns_dir()) return Done{};
    if (errno != EINVAL) return errno_error("make /run/netns a shared mount");
    if (locked) break;
    locked = ::flock(folder.number(), LOCK_EX | LOCK_NB) == 0;
    if (locked) continue;
    if (errno != EWOULDBLOCK) return errno_error("lock /run/netns");
    if (go_on && !go_on()) return Error{ErrorKind::cancelled, "stopped"};
    if (std::chrono::steady_clock::now() > until)
      return Error{ErrorKind::transient,
                   fmt::format("/run/netns is locked by {}: try again once it has ended",
                               lock_holder(folder.number()))};
    (void)::poll(nullptr, 0, kLockPollMs);
  }
  if (::mount(kNetnsDir, kNetnsDir, "none", MS_BIND | MS_REC, nullptr) != 0)
    return errno_error("bind /run/netns onto itself");
  if (!share_netns_dir()) return errno_error("make /run/netns a shared mount");
  return Done{};
}

Result<Descriptor> raise_loopback() {
  Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error("open a socket in the new namespace");
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", 3);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.number(), SIOCSIFFLAGS, &request) != 0) return errno_error("set lo up");
  return socket;
}

}  // namespace

// mount(2) changes the propagation of mounts, and a chroot's root may be a folder inside a mount: EINVAL.
// That mount is accessible only from outside the chroot: setns(2) to the thread's own namespace goes to the
// namespace's root; then this returns to the chroot.
bool change_propagation(unsigned long propagation) {
  if (::mount("", "/", nullptr, MS_REC | propagation, nullptr) == 0) return true;
  if (errno != EINVAL) return false;
  const Descriptor root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Descriptor folder(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Descriptor own(::open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC));
  if (!root || !folder || !own || ::setns(own.number(), CLONE_NEWNS) != 0) return false;
  const bool changed = ::mount("", "/", nullptr, MS_REC | propagation, nullptr) == 0;
  const int code = errno;
  if (::fchdir(root.number()) != 0 || ::chroot(".") != 0 || ::fchdir(folder.number()) != 0)
    ::abort();  // must not continue outside its chroot
  errno = code;
  return changed;
}

Error errno_error(std::string what) {
  const int code = errno;
  ErrorKind kind = ErrorKind::refused;
  if (code == EPERM || code == EACCES) kind = ErrorKind::denied;
  if (code == EAGAIN || code == EBUSY || code == EINTR || code == ENOMEM || code == ENOBUFS)
    kind = ErrorKind::transient;
  if (code == EOPNOTSUPP || code == ENOSYS) kind = ErrorKind::unsupported;
  return Error{kind, std::move(what) + ": " + std::strerror(code)};
}

Result<MadeNetns> create_netns(const std::string& name, const GoOn& go_on) {
  if (name.empty() || name.find('/') != std::string::npos)
    return Error{ErrorKind::invalid_spec, "'" + name + "' can't name a network namespace"};
  TRY_DONE(prepare_netns_dir(go_on));
  const std::string path = path_of(name);
  {
    const Descriptor target(::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0));
    if (!target) return errno_error("create " + path);
  }
  // From here on a failure removes the file again.
  const auto fail = [&](Error error) -> Result<MadeNetns> {
    if (auto gone = delete_netns(name); !gone) error.what += "; and " + gone.error().what;
    return error;
  };
  MadeNetns made;
  auto done = inside_new_namespace(name, [&]() -> Result<Done> {
    if (::mount(kOwnNetns, path.c_str(), "none", MS_BIND, nullptr) != 0) return errno_error("bind " + path);
    TRY(made.socket, raise_loopback());
    made.netns = Descriptor(::open(kOwnNetns, O_RDONLY | O_CLOEXEC));
    if (!made.netns) return errno_error("open " + path);
    return Done{};
  });
  if (!done) return fail(std::move(done.error()));
  return made;
}

Result<MadeNetns> reopen_netns(const std::string& name) {
  MadeNetns out;
  TRY(out.netns, open_netns(name));
  TRY_DONE(inside_namespace(out.netns.number(), [&]() -> Result<Done> {
    out.socket = Descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    return out.socket ? Result<Done>(Done{}) : errno_error("open a socket in " + name);
  }));
  return out;
}

Result<Done> delete_netns(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos)
    return Error{ErrorKind::invalid_spec, "'" + name + "' can't name a network namespace"};
  const std::string path = path_of(name);
  // EINVAL: a file without a mount, left by an interrupted creation.
  while (::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) continue;
  if (errno != EINVAL && errno != ENOENT) return errno_error("unmount " + path);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_error("remove " + path);
  return Done{};
}

Result<Descriptor> open_netns(const std::string& name) {
  Descriptor fd(::open(path_of(name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error("open network namespace " + name);
  return fd;
}

std::vector<std::string> netns_with_prefix(std::string_view prefix) {
  std::vector<std::string> out;
  std::error_code ignored;  // no folder: no namespaces
  for (const auto& entry : std::filesystem::directory_iterator(kNetnsDir, ignored))
    if (std::string name = entry.path().filename().string(); name.starts_with(prefix))
      out.push_back(std::move(name));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace lockstep
