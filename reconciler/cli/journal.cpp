#include "reconciler/cli/journal.hpp"

#include <sys/stat.h>
#include <sys/uio.h>

#include <cstdlib>

// This file's own place in every entry would tell nobody anything.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

namespace lockstep {

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

}  // namespace lockstep
