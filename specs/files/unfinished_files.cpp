#include "specs/files/unfinished_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

namespace lockstep {
namespace {

bool is_unfinished(std::string_view name) {
  constexpr std::size_t kDigits = 16;
  return name.size() == kUnfinishedPrefix.size() + kDigits && name.starts_with(kUnfinishedPrefix) &&
         name.find_first_not_of("0123456789abcdef", kUnfinishedPrefix.size()) == name.npos;
}

}  // namespace

void remove_unfinished(const std::string& folder) {
  std::error_code none;
  std::vector<std::string> found;
  for (std::filesystem::directory_iterator at(folder, none), end; !none && at != end; at.increment(none))
    if (is_unfinished(at->path().filename().native())) found.push_back(at->path().native());
  for (const std::string& file : found) {
    struct stat is {};
    if (::lstat(file.c_str(), &is) == 0 && S_ISREG(is.st_mode) && is.st_uid == ::geteuid())
      (void)::unlink(file.c_str());
  }
}

}  // namespace lockstep
