#include "drivers/linux/sysctl.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "specs/files/descriptor.hpp"

namespace lockstep {
namespace {

Error failed(std::string_view name, int code) {
  std::string what = "sysctl " + std::string(name) + ": ";
  if (code == ENOENT)
    return Error{ErrorKind::unsupported, what + "this kernel (or namespace) has no such parameter"};
  what += std::strerror(code);
  if (code == EPERM || code == EACCES || code == EROFS) return Error{ErrorKind::denied, what};
  return Error{ErrorKind::refused, what};
}

// Arbitrary: the longest known (net.ipv4.ip_local_reserved_ports with every other port) has some 190 KB.
constexpr std::size_t kValueMax = 1U << 20;

// Vectors that are written with blanks are read with tabs (kernel/sysctl.c, proc_dointvec).
bool is_blank(char one) { return one == ' ' || one == '\t' || one == '\n'; }

}  // namespace

Result<std::string> sysctl_file(std::string_view name) {
  std::string path = "/proc/sys/";
  std::size_t component = path.size();
  const auto bad_component = [&] {
    const std::string_view last = std::string_view(path).substr(component);
    return last.empty() || last == "." || last == "..";
  };
  const Error wrong{ErrorKind::invalid_spec, "'" + std::string(name) + "' is not a sysctl's dotted name"};
  for (const char one : name) {
    if (one == '\0') return wrong;
    if (one == '.') {
      if (bad_component()) return wrong;
      path += '/';
      component = path.size();
    } else {
      path += one == '/' ? '.' : one;
    }
  }
  if (bad_component()) return wrong;
  return path;
}

std::string normal_sysctl(std::string_view raw) {
  std::string out;
  for (const char one : raw) {
    if (!is_blank(one)) {
      out += one;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

Result<std::string> read_sysctl(std::string_view name) {
  TRY(const std::string path, sysctl_file(name));
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failed(name, errno);
  // Keys and seeds (net.ipv4.tcp_fastopen_key, net.ipv6.conf.*.stable_secret): a plan would print them.
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return failed(name, errno);
  if ((status.st_mode & S_IROTH) == 0)
    return Error{ErrorKind::denied,
                 "sysctl " + std::string(name) + ": only root may read it, so it is not shown"};
  std::string raw;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t got = ::read(file.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(name, errno);
    if (got == 0) break;
    raw.append(piece.data(), static_cast<std::size_t>(got));
    if (raw.size() > kValueMax)
      return Error{ErrorKind::refused, "sysctl " + std::string(name) + ": a value of more than 1 MiB"};
  }
  return normal_sysctl(raw);
}

Result<Done> write_sysctl(std::string_view name, std::string_view value) {
  TRY(const std::string path, sysctl_file(name));
  {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) return failed(name, errno);
    const std::string line = std::string(value) + "\n";
    // One write: the kernel parses each write as a whole value.
    const ssize_t put = ::write(file.number(), line.data(), line.size());
    if (put < 0) return failed(name, errno);
  }
  TRY(const std::string now, read_sysctl(name));
  if (now != normal_sysctl(value))
    return Error{ErrorKind::refused, "sysctl " + std::string(name) + ": wrote '" + std::string(value) +
                                         "', and the kernel made it '" + now + "'"};
  return Done{};
}

}  // namespace lockstep
