#include "reconciler/source/cache_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "specs/files/file_error.hpp"
#include "specs/files/own_folder.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "fetched-";
constexpr std::size_t kUniqueLetters = 6;  // mkdtemp(3)

// A locked descriptor of the folder of this name; none: it is in use, is gone, or is not this user's.
Descriptor lock_folder(const std::string& path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat opened {};
  struct stat named {};
  if (!folder || ::flock(folder.number(), LOCK_EX | LOCK_NB) != 0 || ::fstat(folder.number(), &opened) != 0 ||
      opened.st_uid != ::geteuid())
    return {};
  if (::lstat(path.c_str(), &named) != 0 || named.st_ino != opened.st_ino || named.st_dev != opened.st_dev)
    return {};
  return folder;
}

void remove_whole(const std::string& path) {
  std::error_code none;  // what can't be removed now is a leftover of the next start
  fs::remove_all(path, none);
}

}  // namespace

Result<std::shared_ptr<CacheFolder>> CacheFolder::make(const std::string& cache) {
  constexpr int kTries = 16;  // a choice: another process may take a new folder for a leftover, rarely twice
  TRY_DONE(make_private_folder(cache));
  for (int tries = 0; tries < kTries; ++tries) {
    std::string path = cache + "/" + std::string(kPrefix) + std::string(kUniqueLetters, 'X');
    if (::mkdtemp(path.data()) == nullptr) return file_error("create a folder in " + cache, errno);
    if (Descriptor lock = lock_folder(path))
      return std::make_shared<CacheFolder>(std::move(path), std::move(lock));
  }
  return Error{ErrorKind::refused,
               cache + ": new folders can't be locked (flock(2)); use a local file system"};
}

CacheFolder::~CacheFolder() { remove_whole(path_); }

void remove_leftovers(const std::string& cache) {
  std::error_code none;
  std::vector<std::string> found;
  for (fs::directory_iterator at(cache, none), end; !none && at != end; at.increment(none)) {
    const std::string name = at->path().filename().string();
    if (name.size() == kPrefix.size() + kUniqueLetters && name.starts_with(kPrefix))
      found.push_back(at->path().string());
  }
  for (const std::string& path : found)
    if (const Descriptor lock = lock_folder(path)) remove_whole(path);
}

Result<Done> write_new_file(const std::string& folder, const std::string& name, std::string_view text) {
  for (std::size_t end = name.find('/'); end != name.npos; end = name.find('/', end + 1)) {
    const std::string above = folder + "/" + name.substr(0, end);
    if (::mkdir(above.c_str(), 0700) != 0 && errno != EEXIST) return file_error("create " + above, errno);
  }
  const std::string path = folder + "/" + name;
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return file_error("create " + path, errno);
  while (!text.empty()) {
    const ssize_t written = ::write(file.number(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return file_error("write " + path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return Done{};
}

}  // namespace lockstep
