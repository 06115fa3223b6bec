#include "reconciler/store/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "reconciler/store/utc_text.hpp"

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

// Whoever asks who holds it (writer_of) shares it for some microseconds, and is no holder. False: errno.
bool lock_now(int descriptor) {
  constexpr int kSharers = 100;
  for (int i = 0; i < kSharers; ++i) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK || ::flock(descriptor, LOCK_SH | LOCK_NB) != 0) return false;
    (void)::flock(descriptor, LOCK_UN);
    std::this_thread::yield();
  }
  errno = EWOULDBLOCK;
  return false;
}

constexpr const char* kWriting = "lock";

Result<FileLock> lock_in(const std::string& directory, const char* name, const std::string& doing,
                         const std::string& command, WallTime now) {
  std::error_code why;
  std::filesystem::create_directories(directory, why);
  if (why) return Error{ErrorKind::denied, directory + ": " + why.message()};
  return FileLock::take(directory + "/" + name, doing, command, now);
}

}  // namespace

FileLock::~FileLock() {
  if (held_) (void)::ftruncate(held_.number(), 0);  // nobody holds it from here on
}

Result<FileLock> FileLock::take(const std::string& file, const std::string& doing, const std::string& command,
                                WallTime now) {
  for (;;) {
    Descriptor opened(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!opened) return Error{ErrorKind::denied, file + ": " + std::strerror(errno)};
    const int descriptor = opened.number();
    if (!lock_now(descriptor)) {
      const int why = errno;
      if (why == EWOULDBLOCK)
        return Error{ErrorKind::conflict, "this cluster is being " + doing + " by " + holder_in(descriptor)};
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
  return lock_in(directory, kWriting, "changed", command, now);
}

Result<FileLock> lock_for_measuring(const std::string& directory, const std::string& command) {
  return lock_in(directory, "measuring.lock", "measured", command, std::chrono::system_clock::now());
}

std::optional<std::string> writer_of(const std::string& directory) {
  const Descriptor opened(::open((directory + "/" + kWriting).c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) return std::nullopt;
  const int descriptor = opened.number();
  // The lock of a file that names nobody is not tried: for as long as that takes it would refuse a writer.
  struct stat file {};
  const bool names_one = ::fstat(descriptor, &file) == 0 && file.st_size > 0;
  const bool held = names_one && ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return held ? std::optional(holder_in(descriptor)) : std::nullopt;
}

}  // namespace lockstep
