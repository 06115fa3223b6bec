#include "reconciler/store/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "reconciler/store/utc_text.hpp"
#include "specs/files/own_folder.hpp"

namespace lockstep {
namespace {

std::string holder_in(int descriptor) {
  std::array<char, 512> text{};
  const ssize_t got = ::pread(descriptor, text.data(), text.size() - 1, 0);
  return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : "another process";
}

bool is_still(const std::string& file, int descriptor) {
  struct stat there {};
  struct stat held {};
  return ::stat(file.c_str(), &there) == 0 && ::fstat(descriptor, &held) == 0 &&
         there.st_ino == held.st_ino && there.st_dev == held.st_dev;
}

// The holder has its name in the file until it releases the lock: while the file is empty, a lock is being
// taken or released. writer_of() shares the lock for some microseconds, and the lock outlives its descriptor
// while another process lists the descriptors of its process (/proc/PID/fd, lsof: proc_fd_link in
// fs/proc/fd.c holds the file). False: errno.
bool lock_now(int descriptor) {
  constexpr std::chrono::milliseconds kPause{1};
  constexpr int kPauses = 1000;
  constexpr int kPausesForHolder = 3;  // it may have just been killed
  for (int i = 0; i < kPauses; ++i) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK) return false;
    struct stat file {};
    if (::fstat(descriptor, &file) != 0) return false;
    if (::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && file.st_size > 0 && i >= kPausesForHolder)
      return false;
    (void)::flock(descriptor, LOCK_UN);
    std::this_thread::sleep_for(kPause);
  }
  errno = EWOULDBLOCK;
  return false;
}

constexpr const char* kWriting = "lock";
constexpr const char* kMeasuringLock = "measuring.lock";

Result<FileLock> lock_in(const std::string& directory, const std::string& name, const std::string& taken,
                         const std::string& command, WallTime now) {
  TRY_DONE(make_private_folder(directory));
  return FileLock::take(directory + "/" + name, taken, command, now);
}

constexpr int kOpen = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

// The file must have one name only: a hard link is another name of a foreign file.
Result<Done> is_a_lock(const std::string& file, int descriptor) {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) return Error{ErrorKind::denied, file + ": " + std::strerror(errno)};
  if (S_ISREG(found.st_mode) && found.st_nlink <= 1 && found.st_uid == ::geteuid()) return Done{};
  return Error{ErrorKind::refused, file + " is no lock of ours: remove it"};
}

}  // namespace

FileLock::~FileLock() {
  if (!held_) return;
  (void)::ftruncate(held_.number(), 0);  // released from here on
  // While it is held: a process that opened it before finds that it no longer exists (is_still).
  if (!passing_.empty()) (void)::unlink(passing_.c_str());
}

Result<FileLock> FileLock::take(const std::string& file, const std::string& taken, const std::string& command,
                                WallTime now) {
  for (;;) {
    Descriptor opened(::open(file.c_str(), kOpen, 0600));
    if (!opened && errno == ELOOP)
      return Error{ErrorKind::refused, file + " is a symbolic link, and no lock of ours: remove it"};
    if (!opened) return Error{ErrorKind::denied, file + ": " + std::strerror(errno)};
    TRY_DONE(is_a_lock(file, opened.number()));
    const int descriptor = opened.number();
    if (!lock_now(descriptor)) {
      const int why = errno;
      if (why == EWOULDBLOCK) return Error{ErrorKind::conflict, taken + " by " + holder_in(descriptor)};
      return Error{ErrorKind::denied, file + ": flock: " + std::strerror(why)};
    }
    FileLock lock(std::move(opened));
    if (!is_still(file, descriptor)) continue;
    const std::string who = "process " + std::to_string(::getpid()) + " since " + utc_text(now) +
                            (command.empty() ? "" : " (" + command + ")");
    if (::ftruncate(descriptor, 0) != 0 || ::pwrite(descriptor, who.data(), who.size(), 0) < 0)
      return Error{ErrorKind::denied, file + ": " + std::strerror(errno)};
    return lock;
  }
}

Result<FileLock> lock_for_writing(const std::string& directory, const std::string& command, WallTime now) {
  return lock_in(directory, kWriting, "this cluster is being changed", command, now);
}

std::string measuring_lock_file(const std::string& directory) { return directory + "/" + kMeasuringLock; }

Result<FileLock> lock_for_measuring(const std::string& directory, const std::string& command) {
  return lock_in(directory, kMeasuringLock, "this cluster is being measured", command,
                 std::chrono::system_clock::now());
}

Result<FileLock> lock_for_machine(const std::string& folder, const std::string& machine,
                                  const std::string& command, WallTime now) {
  TRY(FileLock lock,
      lock_in(folder, machine + ".lock", "this machine (" + machine + ") is being changed", command, now));
  lock.leave_nothing(folder + "/" + machine + ".lock");
  return lock;
}

std::optional<std::string> writer_of(const std::string& directory) {
  const Descriptor opened(
      ::open((directory + "/" + kWriting).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!opened) return std::nullopt;
  const int descriptor = opened.number();
  // A file without a holder's name is not locked for the test: that would refuse a writer meanwhile.
  struct stat file {};
  const bool names_one = ::fstat(descriptor, &file) == 0 && file.st_size > 0;
  const bool held = names_one && ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return held ? std::optional(holder_in(descriptor)) : std::nullopt;
}

}  // namespace lockstep
