// FileLock: one at a time does what a file stands for, in one process or in many. flock(2): it belongs to the
// open file, not to the process, and the kernel drops it when its owner ends, however it ended.
//
// Promises: whoever finds it taken (conflict) is told which process holds it, since when and with which
// command; only a lock file of ours is written to, never what a link or another name of it leads to; a file
// system that has no locks is told in its words (denied). The file names its holder and nobody else. A file
// that was removed while it was waited for is not mistaken for the one that is there.
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
  // From now on the file goes with the lock.
  void leave_nothing(std::string file) { passing_ = std::move(file); }

 private:
  explicit FileLock(Descriptor held) : held_(std::move(held)) {}
  Descriptor held_;
  std::string passing_;
};

// In a cluster's state directory, which is made (own_folder.hpp): its one writer, and the one that sends it
// measuring traffic.
Result<FileLock> lock_for_writing(const std::string& directory, const std::string& command,
                                  WallTime now = std::chrono::system_clock::now());
Result<FileLock> lock_for_measuring(const std::string& directory, const std::string& command);
std::string measuring_lock_file(const std::string& directory);  // there since the first measurement

// The one writer of a machine, in a folder that all clusters have in common; its file goes with it.
Result<FileLock> lock_for_machine(const std::string& folder, const std::string& machine,
                                  const std::string& command, WallTime now);

// Who holds the first of the two of a cluster now: "process 7 since 2026-11-21T10:05:26Z (lockstep apply)".
// Holds no writer up, makes nothing; nobody where the file can't be read.
std::optional<std::string> writer_of(const std::string& directory);

}  // namespace lockstep
