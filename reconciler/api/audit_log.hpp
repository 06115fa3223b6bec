// AuditLog: who asked for which action, and what became of it: a file of JSON lines.
//
// Promises: record() returns after its line is on the disk (fsync), whole and on a line of its own, behind
// all that the file had: a line that could only be written in part, as the disk is full, is ended by the next
// one. Otherwise it is an error, and the action must not be acknowledged. A file that was moved or removed
// (logrotate) is created anew, 0600. Texts are printable. Any thread. Refuses at open (denied, refused): a
// file that can't be appended to, or is no regular file.
//
// An action has two lines with one id: RequestReceived, before anything happens, and ResponseComplete. A
// request that is refused because of its caller's role has only the second.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "drivers/posix/call.hpp"
#include "reconciler/api/role.hpp"
#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep::api {

struct AuditLine {
  enum class Stage : std::uint8_t { received, complete };
  std::string id{};  // of the request
  Stage stage{};
  WallTime at{};
  Caller caller{};
  std::string action{};              // "approve"
  std::string object{};              // "Revision/3f2a..."
  std::vector<std::string> steps{};  // of an approval
  std::string reason{};
  std::string outcome{};  // "done", or why not; of `complete`
  int code = 0;           // HTTP status; of `complete`
};
std::string audit_text(const AuditLine& line);  // JSON, without the line's end

class AuditLog {
 public:
  static Result<std::unique_ptr<AuditLog>> open(std::string file);
  Result<Done> record(const AuditLine& line);

 private:
  explicit AuditLog(std::string file) : file_(std::move(file)) {}
  Result<Done> reopen();
  Result<Done> write(std::string text);
  bool was_moved() const;

  const std::string file_;
  std::mutex mutex_;
  Descriptor open_;    // under mutex_
  bool torn_ = false;  // under mutex_: its last line has no end
};

}  // namespace lockstep::api
