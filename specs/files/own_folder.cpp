#include "specs/files/own_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "specs/files/descriptor.hpp"
#include "specs/files/file_error.hpp"

namespace lockstep {
namespace {

Result<Done> check_own(const std::string& path, const struct stat& there) {
  if (S_ISLNK(there.st_mode))
    return Error{ErrorKind::refused, path + " is a symbolic link; it is left alone"};
  if (!S_ISDIR(there.st_mode)) return Error{ErrorKind::refused, path + " is no folder; it is left alone"};
  if (there.st_uid != ::geteuid() && there.st_uid == 0)
    return Error{ErrorKind::denied, path + " belongs to root: run this as root"};
  if (there.st_uid != ::geteuid())
    return Error{ErrorKind::denied, path + " belongs to another user (uid " + std::to_string(there.st_uid) +
                                        "); it is left alone"};
  return Done{};
}

}  // namespace

Result<bool> make_folder(const std::string& path, const FolderFor& whom) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    if (errno == ENOENT) return false;
    return file_error("create " + path, errno);
  }
  TRY_DONE(check_own_folder(path));
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder && errno == ENOENT) return false;
  if (!folder) return file_error("open " + path, errno);
  // Checks the opened folder: the name may refer to something else by now.
  struct stat opened {};
  if (::fstat(folder.number(), &opened) != 0) return file_error("stat " + path, errno);
  TRY_DONE(check_own(path, opened));
  // A unit of systemd may forbid the call, even where it would change nothing.
  const bool is_theirs = opened.st_uid == whom.owner && opened.st_gid == ::getegid();
  if (!is_theirs && ::fchown(folder.number(), whom.owner, ::getegid()) != 0)
    return file_error("chown " + path, errno);
  if (::fchmod(folder.number(), whom.mode) != 0) return file_error("chmod " + path, errno);
  return true;
}

Result<Done> make_private_folder(const std::string& path) {
  constexpr mode_t kPassable = 0755;
  std::string above;
  for (const auto& part : std::filesystem::path(path).parent_path()) {
    above = (std::filesystem::path(above) / part).string();
    if (above.empty() || ::mkdir(above.c_str(), 0700) != 0) continue;  // an existing folder is not changed
    if (::chmod(above.c_str(), kPassable) != 0) return file_error("chmod " + above, errno);
  }
  TRY(const bool made, make_folder(path, {::geteuid(), 0700}));
  if (made) return Done{};
  return file_error("create " + path, ENOENT);
}

Result<Done> check_own_folder(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0) return check_own(path, there);
  if (errno == ENOENT || errno == ENOTDIR) return Done{};
  return file_error("stat " + path, errno);
}

}  // namespace lockstep
