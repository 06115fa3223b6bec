#include "specs/files/own_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "specs/files/descriptor.hpp"

namespace lockstep {
namespace {

Error errno_error(const std::string& what) {
  const int code = errno;
  const bool denied = code == EACCES || code == EPERM || code == EROFS;
  return Error{denied ? ErrorKind::denied : ErrorKind::refused, what + ": " + std::strerror(code)};
}

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
    return errno_error("create " + path);
  }
  TRY_DONE(check_own_folder(path));
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder && errno == ENOENT) return false;
  if (!folder) return errno_error("open " + path);
  // Of what was opened: the name may stand for something else by now.
  struct stat opened {};
  if (::fstat(folder.number(), &opened) != 0) return errno_error("stat " + path);
  TRY_DONE(check_own(path, opened));
  if (::fchown(folder.number(), whom.owner, ::getegid()) != 0) return errno_error("chown " + path);
  if (::fchmod(folder.number(), whom.mode) != 0) return errno_error("chmod " + path);
  return true;
}

Result<Done> make_private_folder(const std::string& path) {
  constexpr mode_t kPassable = 0755;
  std::string above;
  for (const auto& part : std::filesystem::path(path).parent_path()) {
    above = (std::filesystem::path(above) / part).string();
    if (above.empty() || ::mkdir(above.c_str(), 0700) != 0) continue;  // what is there stays as it is
    if (::chmod(above.c_str(), kPassable) != 0) return errno_error("chmod " + above);
  }
  TRY(const bool made, make_folder(path, {::geteuid(), 0700}));
  if (made) return Done{};
  errno = ENOENT;
  return errno_error("create " + path);
}

Result<Done> check_own_folder(const std::string& path) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0) return check_own(path, there);
  if (errno == ENOENT || errno == ENOTDIR) return Done{};
  return errno_error("stat " + path);
}

}  // namespace lockstep
