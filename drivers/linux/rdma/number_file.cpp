#include "drivers/linux/rdma/number_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace lockstep::rdma {
namespace {

// Assumes that its configfs entry exists.
Result<std::int64_t> number_in(const HostFiles& files, const std::string& path) {
  TRY(const std::string line, files.line(path));
  const bool hex = line.starts_with("0x");
  const std::string_view digits = std::string_view(line).substr(hex ? 2 : 0);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out, hex ? 16 : 10);
  if (error == std::errc{} && end == digits.data() + digits.size()) return out;
  return Error{ErrorKind::transient, path + " holds no number: '" + line + "'"};
}

}  // namespace

Result<ConfigfsEntry> ConfigfsEntry::open(const HostFiles& files, const std::string& folder) {
  if (folder.empty()) return ConfigfsEntry({});
  const std::string at = files.at(folder);
  if (::mkdir(at.c_str(), 0755) == 0) return ConfigfsEntry(at);
  if (errno == EEXIST) return ConfigfsEntry({});
  const int code = errno;
  return Error{code == EACCES || code == EPERM ? ErrorKind::denied : ErrorKind::refused,
               folder + ": " + std::strerror(code)};
}

ConfigfsEntry::ConfigfsEntry(ConfigfsEntry&& other) noexcept : made_(std::exchange(other.made_, {})) {}

ConfigfsEntry::~ConfigfsEntry() {
  if (!made_.empty()) (void)::rmdir(made_.c_str());
}

Result<std::int64_t> read_number(const HostFiles& files, const NumberFile& file) {
  TRY(const ConfigfsEntry entry, ConfigfsEntry::open(files, file.entry));
  return number_in(files, file.path);
}

Result<Done> write_number(const HostFiles& files, const NumberFile& file, std::int64_t wanted) {
  char text[24];
  std::snprintf(text, sizeof(text), file.hex ? "0x%llx" : "%lld", static_cast<long long>(wanted));
  TRY(const ConfigfsEntry entry, ConfigfsEntry::open(files, file.entry));
  TRY_DONE(files.write(file.path, text));
  // Versions that collect changes have a file that commits them.
  if (!file.apply.empty() && files.exists(file.apply)) TRY_DONE(files.write(file.apply, "1"));
  TRY(const std::int64_t now, number_in(files, file.path));
  if (now == wanted) return Done{};
  return Error{ErrorKind::refused, file.path + " took " + text + " and has " + std::to_string(now)};
}

}  // namespace lockstep::rdma
