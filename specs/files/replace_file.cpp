#include "specs/files/replace_file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "specs/files/descriptor.hpp"
#include "specs/files/file_error.hpp"
#include "specs/files/unfinished_files.hpp"

namespace lockstep {
namespace {

// Accessible to its owner only until it has its final mode.
constexpr mode_t kUnfinished = 0600;
constexpr mode_t kPermissions = 07777;
// 64 random bits can only be taken deliberately, and more attempts would not help then.
constexpr int kNamesTried = 16;

Error not_regular(const std::string& file, mode_t mode) {
  const char* const what = S_ISLNK(mode)   ? "is a symbolic link"
                           : S_ISDIR(mode) ? "is a directory"
                                           : "is no regular file";
  return Error{ErrorKind::refused, file + ": " + what};
}

Result<Done> write_all(int descriptor, std::string_view text, const std::string& file) {
  while (!text.empty()) {
    const ssize_t put = ::write(descriptor, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return file_error(file, errno);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return Done{};
}

// EINVAL: a filesystem without anything to sync here (fsync(2)).
Result<Done> sync(int descriptor, const std::string& file) {
  if (::fsync(descriptor) == 0 || errno == EINVAL) return Done{};
  return file_error(file, errno);
}

// Descriptors that a shell passed to this process: links in /dev, which belongs to root (fd(4), stdout(3)).
bool is_given_open(std::string_view file) {
  return file == "/dev/stdout" || file == "/dev/stderr" || file.starts_with("/dev/fd/");
}

Result<Done> write_to(const std::string& file, std::string_view text) {
  const int nofollow = is_given_open(file) ? O_TRUNC : O_NOFOLLOW;
  const Descriptor out(::open(file.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC | nofollow));
  if (!out) return file_error(file, errno);
  TRY_DONE(write_all(out.number(), text, file));
  struct stat written {};
  if (::fstat(out.number(), &written) != 0) return file_error(file, errno);
  return S_ISREG(written.st_mode) ? sync(out.number(), file) : Done{};
}

// A uniquely named file in a folder, removed with this object unless it was renamed.
class Beside {
 public:
  explicit Beside(int folder) : folder_(folder) {
    for (int tries = 0; !file_ && tries < kNamesTried; ++tries) {
      unsigned long long bits = 0;
      if (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) continue;
      (void)std::snprintf(name_.data(), name_.size(), "%s%016llx", kUnfinishedPrefix.data(), bits);
      file_ = Descriptor(
          ::openat(folder, name_.data(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kUnfinished));
      if (!file_ && errno != EEXIST) return;
    }
  }
  ~Beside() {
    if (file_) (void)::unlinkat(folder_, name_.data(), 0);
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  explicit operator bool() const { return static_cast<bool>(file_); }
  int descriptor() const { return file_.number(); }
  const char* name() const { return name_.data(); }
  bool rename_to(const std::string& name) {
    if (::renameat(folder_, name_.data(), folder_, name.c_str()) != 0) return false;
    file_ = Descriptor();
    return true;
  }

 private:
  int folder_;
  std::array<char, 32> name_{};
  Descriptor file_;
};

// Changes only what differs: a member of a group may not be allowed to set that group again.
bool give_to(int descriptor, uid_t owner, gid_t group) {
  struct stat now {};
  if (::fstat(descriptor, &now) != 0) return false;
  return (now.st_uid == owner && now.st_gid == group) || ::fchown(descriptor, owner, group) == 0;
}

class Replacing {
 public:
  Replacing(const std::string& file, const Replacement& how) : file_(file), how_(how) {
    const std::size_t slash = file.rfind('/');
    folder_ = slash == std::string::npos ? "./" : file.substr(0, slash + 1);
    name_ = slash == std::string::npos ? file : file.substr(slash + 1);
  }

  // `write`: to the descriptor of the new file, or by its path.
  Result<Done> with(const std::function<Result<Done>(int descriptor, const std::string& path)>& write) {
    return begun([&](int folder, Beside& fresh) -> Result<Done> {
      TRY_DONE(write(fresh.descriptor(), folder_ + fresh.name()));
      TRY_DONE(ready(folder, fresh.descriptor()));
      TRY_DONE(sync(fresh.descriptor(), file_));
      if (!fresh.rename_to(name_)) return file_error(file_, errno);
      return sync(folder, file_);
    });
  }

  Result<Done> check() {
    return begun([&](int folder, Beside& fresh) { return ready(folder, fresh.descriptor()); });
  }

 private:
  // `go_on`: called with the folder and a new file in it.
  Result<Done> begun(const std::function<Result<Done>(int folder, Beside& fresh)>& go_on) {
    if (name_.empty()) return file_error(file_, file_.empty() ? ENOENT : EISDIR);
    const Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return file_error(file_, errno);
    exists_ = ::fstatat(folder.number(), name_.c_str(), &old_, AT_SYMLINK_NOFOLLOW) == 0;
    if (!exists_ && errno != ENOENT) return file_error(file_, errno);
    if (exists_ && !S_ISREG(old_.st_mode)) return not_regular(file_, old_.st_mode);
    Beside fresh(folder.number());
    if (!fresh) return file_error(file_, errno);
    return go_on(folder.number(), fresh);
  }

  Result<Done> ready(int folder, int descriptor) const {
    return exists_ ? take_over(descriptor, old_) : begin(descriptor, folder);
  }

  // The owner is set first: changing it clears set-user-id bits (chown(2)).
  Result<Done> take_over(int descriptor, const struct stat& old) const {
    if (!give_to(descriptor, old.st_uid, old.st_gid))
      return file_error(file_ + ": can't keep its owner", errno);
    if (::fchmod(descriptor, old.st_mode & kPermissions) != 0) return file_error(file_, errno);
    return Done{};
  }

  Result<Done> begin(int descriptor, int folder) const {
    if (how_.owner == Replacement::Owner::folder) {
      struct stat around {};
      if (::fstat(folder, &around) != 0 || !give_to(descriptor, around.st_uid, around.st_gid))
        return file_error(file_ + ": can't have its folder's owner", errno);
    }
    if (::fchmod(descriptor, how_.mode) != 0) return file_error(file_, errno);
    return Done{};
  }

  const std::string& file_;
  const Replacement& how_;
  std::string folder_;
  std::string name_;
  struct stat old_ {};
  bool exists_ = false;
};

// Whether the existing file is written to and not replaced.
bool goes_through(const std::string& file, const Replacement& how) {
  struct stat old {};
  const bool there = how.write_through && ::lstat(file.c_str(), &old) == 0;
  return there && (is_given_open(file) || S_ISFIFO(old.st_mode) || S_ISCHR(old.st_mode));
}

}  // namespace

Result<Done> replace_file(const std::string& file, std::string_view text, const Replacement& how) {
  if (goes_through(file, how)) return write_to(file, text);
  return Replacing(file, how).with(
      [&](int descriptor, const std::string&) { return write_all(descriptor, text, file); });
}

Result<Done> check_replaceable(const std::string& file, const Replacement& how) {
  return goes_through(file, how) ? Done{} : Replacing(file, how).check();
}

Result<Done> replace_file_by(const std::string& file, const FileWriter& write, const Replacement& how) {
  return Replacing(file, how).with([&](int, const std::string& beside) { return write(beside); });
}

Result<std::string> file_in(const std::string& folder, const std::string& name) {
  if (!name.empty() && name.front() != '.' && name.find('/') == name.npos) return folder + "/" + name;
  return Error{ErrorKind::refused, "'" + name + "' can't be the name of a file in " + folder};
}

}  // namespace lockstep
