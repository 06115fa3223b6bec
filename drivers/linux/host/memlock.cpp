// memlock: how much memory a user's process may lock (RLIMIT_MEMLOCK), as configured for all users.
//
// Read as a login session gets it: the soft limit of domain '*' in /etc/security/limits.conf, then in
// limits.d/*.conf in order, with the last line taking precedence (limits.conf(5), pam_limits(8)); else
// systemd's DefaultLimitMEMLOCK (systemd-system.conf(5): of drop-ins with the same name the one in the first
// folder counts, and all are sorted by name), which services and their sessions inherit; else absent: not
// configured. Root's limit is not read: CAP_IPC_LOCK overrides it (setrlimit(2)). Lines for single users and
// groups are ignored and left alone. Written: a file of our own, for '*'. It applies to sessions that begin
// later. A foreign file that is later in order and has another limit is an error that names it.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>

#include "drivers/linux/host/map.hpp"

namespace lockstep {
namespace {

using host_map::kMemlock;

constexpr std::string_view kLimits = "/etc/security/limits.conf";
constexpr std::string_view kLimitsFolder = "/etc/security/limits.d";
constexpr std::string_view kManagerFolders[] = {
    "/etc/systemd/system.conf.d", "/run/systemd/system.conf.d", "/usr/local/lib/systemd/system.conf.d",
    "/usr/lib/systemd/system.conf.d"};  // the first hide the others' files
constexpr std::string_view kOwnFile = "/etc/security/limits.d/60-lockstep.conf";
constexpr std::string_view kUnlimited = "unlimited";
constexpr std::uint64_t kKilobyte = 1024;  // limits.conf(5) counts in KB

struct Found {
  std::string limit;  // "unlimited" or bytes
  std::string where;  // file
};

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

// None: overflow.
std::optional<std::uint64_t> times(std::uint64_t number, std::uint64_t scale) {
  std::uint64_t out = 0;
  return __builtin_mul_overflow(number, scale, &out) ? std::nullopt : std::optional(out);
}

std::string normal_pam(std::string_view value) {
  if (value == kUnlimited || value == "infinity" || value == "-1") return std::string(kUnlimited);
  const auto kilobytes = number_of(value);
  if (!kilobytes) return std::string(value);
  // pam_limits.c, process_limit(): a value that overflows means no limit.
  const auto bytes = times(*kilobytes, kKilobyte);
  return bytes ? std::to_string(*bytes) : std::string(kUnlimited);
}

// "infinity", "64M", "8388608:infinity" (soft:hard). A value that systemd would reject is returned as it is.
std::string normal_systemd(std::string_view said) {
  std::string_view value = said.substr(0, said.find(':'));
  if (value == "infinity") return std::string(kUnlimited);
  constexpr std::string_view kSuffixes = "KMGTPE";
  std::uint64_t scale = 1;
  if (!value.empty())
    if (const std::size_t power = kSuffixes.find(value.back()); power != std::string_view::npos) {
      for (std::size_t i = 0; i <= power; ++i) scale *= 1024;
      value.remove_suffix(1);
    }
  const auto number = number_of(value);
  const auto bytes = number ? times(*number, scale) : std::nullopt;
  return bytes ? std::to_string(*bytes) : std::string(said);
}

// The last line of a limits file that sets a soft limit for all users.
std::optional<std::string> limit_in(const std::string& text) {
  std::optional<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string domain, type, item, value;
    if (!(words >> domain >> type >> item >> value)) continue;
    if (domain == "*" && item == "memlock" && (type == "soft" || type == "-")) out = normal_pam(value);
  }
  return out;
}

std::optional<std::string> default_in(const std::string& text) {
  std::optional<std::string> out;
  constexpr std::string_view kKey = "DefaultLimitMEMLOCK=";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (const std::string_view said = trimmed(line); said.starts_with(kKey))
      out = normal_systemd(trimmed(said.substr(kKey.size())));
  return out;
}

class Memlock final : public HostSetting {
 public:
  explicit Memlock(HostFiles files) : files_(std::move(files)) {}

  void read(HostReading& out, const Call&) override {
    const auto found = effective();
    if (!found) return out.fails(kMemlock, found.error());
    if (!found->limit.empty()) out.add(kMemlock, Value::text(found->limit));
  }

  Result<Done> set(const Change& change, const Call&) override {
    if (!change.want) return files_.remove(kOwnFile);
    TRY(const std::string wanted, wanted_text(change));
    const auto bytes = number_of(wanted);
    if (wanted != kUnlimited && (!bytes || *bytes % kKilobyte != 0))
      return Error{ErrorKind::invalid_spec,
                   "memlock is 'unlimited' or a number of bytes that is a whole number of KiB"};
    const std::string limit = bytes ? std::to_string(*bytes / kKilobyte) : wanted;
    TRY_DONE(files_.replace(kOwnFile, "# Written by lockstep: replaced whole.\n* - memlock " + limit + "\n"));
    TRY(const Found now, effective());
    if (now.limit != wanted)
      return Error{ErrorKind::refused, "memlock is " + now.limit + " all the same: " + now.where +
                                           " is read after " + std::string(kOwnFile)};
    return Done{};
  }

 private:
  using Parser = std::optional<std::string> (*)(const std::string&);

  // The last of the existing files, in order, that sets the limit.
  Result<Found> last_of(const std::vector<std::string>& paths, Parser parse) const {
    Found out;
    for (const std::string& path : paths) {
      const auto text = files_.read(path);
      if (!text && text.error().kind == ErrorKind::unsupported) continue;
      if (!text) return text.error();
      if (const auto said = parse(*text)) out = {*said, path};
    }
    return out;
  }

  std::vector<std::string> drop_ins(std::string_view folder) const {
    std::vector<std::string> out;
    for (const std::string& name : files_.names(folder))
      if (name.ends_with(".conf")) out.push_back(std::string(folder) + "/" + name);
    return out;
  }

  Result<Found> effective() const {
    std::vector<std::string> limits = drop_ins(kLimitsFolder);
    limits.insert(limits.begin(), std::string(kLimits));
    TRY(Found found, last_of(limits, limit_in));
    if (!found.limit.empty()) return found;
    std::map<std::string, std::string> by_name;
    for (const std::string_view folder : kManagerFolders)
      for (const std::string& path : drop_ins(folder)) by_name.emplace(path.substr(folder.size()), path);
    std::vector<std::string> managers = {"/etc/systemd/system.conf"};
    for (const auto& [name, path] : by_name) managers.push_back(path);
    return last_of(managers, default_in);
  }

  HostFiles files_;
};

}  // namespace

std::string memlock_words(const Change& change) {
  if (!change.want) return "rm " + std::string(kOwnFile);
  const auto bytes = number_of(change.want.to_string());
  return "echo '* - memlock " +
         (bytes ? std::to_string(*bytes / kKilobyte) : std::string(change.want.as_text())) + "' > " +
         std::string(kOwnFile);
}

OneSetting memlock_setting(const LinuxTarget& target, const SharedPci&) {
  return std::make_unique<Memlock>(HostFiles(target.root));
}

}  // namespace lockstep
