#include "reconciler/api/audit_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "reconciler/api/api_object.hpp"
#include "reconciler/store/utc_text.hpp"
#include "specs/files/file_error.hpp"

namespace lockstep::api {
namespace {

// A choice: the total is logged beside them, and the store has what was approved.
constexpr std::size_t kStepsAudited = 1000;

}  // namespace

std::string audit_text(const AuditLine& line) {
  const bool complete = line.stage == AuditLine::Stage::complete;
  nlohmann::json out{{"at", utc_text(line.at)},
                     {"id", line.id},
                     {"stage", complete ? "ResponseComplete" : "RequestReceived"},
                     {"who", line.caller.name},
                     {"role", to_string(line.caller.role)},
                     {"credential", line.caller.credential},
                     {"from", line.caller.from},
                     {"action", line.action},
                     {"object", line.object},
                     {"reason", line.reason}};
  if (!line.steps.empty()) {
    out["stepsInAll"] = line.steps.size();
    out["steps"] = std::vector<std::string>(
        line.steps.begin(),
        line.steps.begin() + static_cast<std::ptrdiff_t>(std::min(line.steps.size(), kStepsAudited)));
  }
  if (complete) {
    out["outcome"] = line.outcome;
    out["code"] = line.code;
  }
  make_presentable(out);
  return out.dump();
}

Result<std::unique_ptr<AuditLog>> AuditLog::open(std::string file) {
  auto out = std::unique_ptr<AuditLog>(new AuditLog(std::move(file)));
  TRY_DONE(out->reopen());
  return out;
}

Result<Done> AuditLog::reopen() {
  open_ = Descriptor(::open(
      file_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
  if (!open_) return file_error(file_, errno);
  struct stat found {};
  if (::fstat(open_.number(), &found) != 0) return file_error(file_, errno);
  // A file that was just made is lost with the power if only its content is on the disk.
  const std::string folder = std::filesystem::path(file_).parent_path();
  const Descriptor parent(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent || ::fsync(parent.number()) != 0) return file_error(folder, errno);
  if (S_ISREG(found.st_mode)) {
    // An earlier process may have been killed within a line.
    char last = '\n';
    torn_ = found.st_size > 0 && ::pread(open_.number(), &last, 1, found.st_size - 1) == 1 && last != '\n';
    return Done{};
  }
  open_.close();
  return Error{ErrorKind::refused, file_ + ": is not a regular file"};
}

bool AuditLog::was_moved() const {
  struct stat named {};
  struct stat opened {};
  return !open_ || ::stat(file_.c_str(), &named) != 0 || ::fstat(open_.number(), &opened) != 0 ||
         named.st_ino != opened.st_ino || named.st_dev != opened.st_dev;
}

Result<Done> AuditLog::write(std::string text) {
  if (torn_) text.insert(0, "\n");
  const ssize_t written = ::write(open_.number(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) {
    torn_ = false;
  } else {
    const int code = written < 0 ? errno : ENOSPC;
    torn_ = torn_ || written > 0;
    return file_error(file_, code);
  }
  if (::fsync(open_.number()) != 0) return file_error(file_, errno);
  return Done{};
}

Result<Done> AuditLog::record(const AuditLine& line) {
  const std::scoped_lock lock(mutex_);
  if (was_moved()) TRY_DONE(reopen());
  return write(audit_text(line) + "\n");
}

}  // namespace lockstep::api
