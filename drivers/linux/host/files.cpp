#include "drivers/linux/host/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "specs/files/descriptor.hpp"
#include "specs/files/replace_file.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Readable by every user's jobs and logins.
constexpr mode_t kOwnFileMode = 0644;

Error failed(std::string_view path, int code) {
  const std::string what = std::string(path) + ": " + std::strerror(code);
  if (code == ENOENT || code == ENOTDIR) return Error{ErrorKind::unsupported, what};
  if (code == EPERM || code == EACCES || code == EROFS) return Error{ErrorKind::denied, what};
  return Error{ErrorKind::refused, what};
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

fs::path HostFiles::at(std::string_view path) const { return root_ / fs::path(path).relative_path(); }

bool HostFiles::exists(std::string_view path) const {
  std::error_code failed;
  return fs::exists(at(path), failed);
}

std::vector<std::string> HostFiles::names(std::string_view folder) const {
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::directory_iterator entry(at(folder), failed), end; !failed && entry != end;
       entry.increment(failed))
    out.push_back(entry->path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string HostFiles::linked_name(std::string_view link) const {
  std::error_code failed;
  const fs::path target = fs::read_symlink(at(link), failed);
  return failed ? std::string() : target.filename().string();
}

Result<std::string> HostFiles::read(std::string_view path) const {
  const Descriptor file(::open(at(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return failed(path, errno);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return failed(path, errno);
  if (!S_ISREG(status.st_mode)) return Error{ErrorKind::refused, std::string(path) + ": not a regular file"};
  std::string out;
  std::array<char, 16384> piece;
  for (;;) {
    const ssize_t got = ::read(file.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(path, errno);
    if (got == 0) return out;
    out.append(piece.data(), static_cast<std::size_t>(got));
    if (out.size() > kFileMax)
      return Error{ErrorKind::refused,
                   std::string(path) + ": larger than " + std::to_string(kFileMax >> 20U) + " MiB"};
  }
}

Result<std::string> HostFiles::line(std::string_view path) const {
  TRY(const std::string text, read(path));
  return std::string(trimmed(text));
}

Result<Done> HostFiles::write(std::string_view path, std::string_view text) const {
  const Descriptor file(::open(at(path).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file) return failed(path, errno);
  const std::string line = std::string(text) + "\n";
  const ssize_t put = ::write(file.number(), line.data(), line.size());
  if (put < 0) return failed(path, errno);
  if (static_cast<std::size_t>(put) != line.size())
    return Error{ErrorKind::refused, std::string(path) + ": took only a part of '" + std::string(text) + "'"};
  return Done{};
}

Result<Done> HostFiles::replace(std::string_view path, std::string_view text) const {
  const fs::path target = at(path);
  std::error_code code;
  fs::create_directories(target.parent_path(), code);
  if (code) return failed(path, code.value());
  return replace_file(target.string(), text, {.mode = kOwnFileMode});
}

Result<Done> HostFiles::remove(std::string_view path) const {
  if (::unlink(at(path).c_str()) != 0 && errno != ENOENT) return failed(path, errno);
  return Done{};
}

}  // namespace lockstep
