#include "reconciler/cli/systemd.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-daemon.h>

#include <cstdlib>
#include <memory>
#include <system_error>

// This file's own place in every entry would tell nobody anything.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

namespace lockstep {
namespace {

// sd_listen_fds_with_names(3): the array and each name are the caller's to free.
struct FreeNames {
  void operator()(char** names) const {
    for (char** one = names; *one != nullptr; ++one) std::free(*one);
    std::free(names);
  }
};

}  // namespace

Result<std::vector<api::GivenSocket>> given_sockets() {
  char** named = nullptr;
  const int count = ::sd_listen_fds_with_names(1, &named);
  if (count < 0)
    return Error{ErrorKind::refused,
                 "take the sockets of systemd: " + std::generic_category().message(-count)};
  const std::unique_ptr<char*, FreeNames> names(named);
  std::vector<api::GivenSocket> out;
  for (int i = 0; i < count; ++i) out.push_back({SD_LISTEN_FDS_START + i, names.get()[i]});
  return out;
}

bool leads_to_journal(int descriptor) {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat found {};
  return stream != nullptr && ::fstat(descriptor, &found) == 0 &&
         std::to_string(found.st_dev) + ":" + std::to_string(found.st_ino) == stream;
}

bool tell_journal(const std::vector<std::string>& fields) {
  std::vector<iovec> parts;
  parts.reserve(fields.size());
  for (const std::string& field : fields)
    parts.push_back({const_cast<char*>(field.data()), field.size()});  // which only reads
  return ::sd_journal_sendv(parts.data(), static_cast<int>(parts.size())) == 0;
}

void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  // Always possible; a process that may not would go on with what it has.
  [[maybe_unused]] const int raised = ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace lockstep
