#include "reconciler/pki/stored_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kFormerMax = std::size_t{4} << 20;

struct Written {
  std::string path;
  std::optional<std::string> former;  // none: it was not there
};

// The error of the write that failed is reported; this one is of no more use.
void bring_back(const Written& one) {
  if (one.former)
    (void)replace_file(one.path, *one.former);
  else
    (void)::unlink(one.path.c_str());
}

}  // namespace

Result<Done> store_files(const std::vector<StoredFile>& files) {
  std::vector<Written> written;
  Result<Done> stored = Done{};
  for (const StoredFile& file : files) {
    FileText former = read_named(file.path, kFormerMax);
    if (!former && former.outcome != FileText::Outcome::missing)
      stored = Error{ErrorKind::refused, file.path + ": " + former.why};
    else
      stored = replace_file(file.path, file.text, {.mode = file.mode});
    if (!stored) break;
    written.push_back({file.path, former ? std::optional(std::move(former.text)) : std::nullopt});
  }
  if (!stored)
    for (auto one = written.rbegin(); one != written.rend(); ++one) bring_back(*one);
  return stored;
}

bool file_is_there(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0;
}

}  // namespace lockstep
