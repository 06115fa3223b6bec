// FileLock: mutual exclusion by a file, in one process or between many. flock(2): the lock belongs to the
// open file, not to the process, and the kernel drops it when its owner ends, however it ended.
//
// Promises: a conflict names the process that holds the lock, since when and with which command; only a lock
// file of ours is written to, never the target of a link or another name of it; a file system without locks
// is reported with its error message (denied). The file names its current holder only. A file that was
// removed during the wait is not mistaken for the one that exists now.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "drivers/posix/call.hpp"
#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

class FileLock {
 public:
  FileLock(FileLock&&) = default;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

  // `taken`: "this cluster is being changed", as in "... by process 7 since ... (lockstep apply)".
  static Result<FileLock> take(const std::string& file, const std::string& taken, const std::string& command,
                               WallTime now = std::chrono::system_clock::now());
  // From now on the file is removed together with the lock.
  void leave_nothing(std::string file) { passing_ = std::move(file); }

 private:
  explicit FileLock(Descriptor held) : held_(std::move(held)) {}
  Descriptor held_;
  std::string passing_;
};

// The locks in a cluster's state directory, which is created if missing (own_folder.hpp): for the one writer,
// and for the one process that sends measuring traffic.
Result<FileLock> lock_for_writing(const std::string& directory, const std::string& command,
                                  WallTime now = std::chrono::system_clock::now());
Result<FileLock> lock_for_measuring(const std::string& directory, const std::string& command);
std::string measuring_lock_file(const std::string& directory);  // exists since the first measurement

// The lock for the one writer of a machine, in a folder shared by all clusters; its file is removed with it.
Result<FileLock> lock_for_machine(const std::string& folder, const std::string& machine,
                                  const std::string& command, WallTime now);

// The current holder of a cluster's writing lock: "process 7 since 2026-11-21T10:05:26Z (lockstep apply)".
// Blocks no writer and creates nothing; none if the file can't be read.
std::optional<std::string> writer_of(const std::string& directory);

}  // namespace lockstep
