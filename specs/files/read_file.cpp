#include "specs/files/read_file.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <utility>

#include "specs/files/descriptor.hpp"

namespace lockstep {
namespace {

using Outcome = FileText::Outcome;

// O_NONBLOCK: in case something replaces the regular file between the check and its opening.
constexpr int kToRead = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
constexpr int kToLook = O_PATH | O_CLOEXEC;

FileText failed(Outcome outcome, std::string why) { return {outcome, "", std::move(why)}; }

FileText failed(int code) {
  switch (code) {
    case ENOENT:
    case ENOTDIR: return failed(Outcome::missing, "no such file");
    case EXDEV: return failed(Outcome::outside, "outside of the folder of specs");
    case EAGAIN: return failed(Outcome::refused, "nothing can be read there now");
    default: return failed(Outcome::refused, std::strerror(code));
  }
}

FileText too_large(std::size_t most) {
  return failed(Outcome::too_large, "larger than " + std::to_string(most >> 20) + " MiB");
}

// Reads to the end, and at most one byte more than allowed.
FileText read_all(int descriptor, std::size_t most) {
  constexpr std::size_t kStep = std::size_t{64} << 10;
  FileText out;
  for (;;) {
    const std::size_t before = out.text.size();
    const std::size_t room = std::min(kStep, most + 1 - before);
    out.text.resize(before + room);
    const ssize_t got = ::read(descriptor, out.text.data() + before, room);
    const int code = errno;
    out.text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return out;
    if (got < 0 && code != EINTR) return failed(code);
    if (out.text.size() > most) return too_large(most);
  }
}

// `open`: opens with these flags; -1: errno.
FileText read_by(const std::function<int(int flags)>& open, std::size_t most) {
  struct stat found {};
  for (const int flags : {kToLook, kToRead}) {
    const Descriptor file(open(flags));
    if (!file) return failed(errno);
    if (::fstat(file.number(), &found) != 0) return failed(errno);
    if (S_ISLNK(found.st_mode)) return failed(Outcome::outside, "a symbolic link");
    if (!S_ISREG(found.st_mode)) return failed(Outcome::refused, "not a regular file");
    if (static_cast<std::uintmax_t>(found.st_size) > most) return too_large(most);
    if (flags == kToRead) return read_all(file.number(), most);
  }
  return failed(Outcome::refused, "not a regular file");
}

// Without openat2 no link is followed, so none can lead out.
int open_by_steps(int folder, const std::string& name, int flags) {
  const std::filesystem::path path = std::filesystem::path(name).lexically_normal();
  Descriptor inside(::openat(folder, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (auto part = path.begin(); inside && part != path.end(); ++part) {
    if (*part == ".." || part->is_absolute()) {
      errno = EXDEV;
      return -1;
    }
    const bool last = std::next(part) == path.end();
    const int how = last ? flags | O_NOFOLLOW : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const int next = ::openat(inside.number(), part->c_str(), how);
    if (last || next < 0) return next;
    inside = Descriptor(next);
  }
  errno = ENOENT;
  return -1;
}

int open_beneath(int folder, const std::string& name, int flags) {
  // openat2(2): EAGAIN if something is renamed meanwhile, and `..` can't be followed safely. A chosen limit.
  constexpr int kTries = 32;
  struct open_how how {};
  how.flags = static_cast<__u64>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int tries = 0;; ++tries) {
    const auto opened =
        static_cast<int>(::syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how));  // no wrapper yet
    if (opened >= 0) return opened;
    // A sandbox that does not know the call answers EPERM.
    if (errno == ENOSYS || errno == EPERM) return open_by_steps(folder, name, flags);
    if ((errno != EAGAIN && errno != EINTR) || tries == kTries) return -1;
  }
}

}  // namespace

FileText read_beneath(const std::string& folder, const std::string& name, std::size_t most) {
  const Descriptor beneath(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!beneath) return failed(errno);
  return read_by([&](int flags) { return open_beneath(beneath.number(), name, flags); }, most);
}

FileText read_named(const std::string& file, std::size_t most) {
  return read_by([&](int flags) { return ::open(file.c_str(), flags); }, most);
}

FileText read_open(int descriptor, std::size_t most) { return read_all(descriptor, most); }

std::string why_not_regular(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return failed(errno).why;
  return S_ISREG(found.st_mode) ? "" : "not a regular file";
}

}  // namespace lockstep
