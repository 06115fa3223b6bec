// package[*]: versions of installed packages, by name, from dpkg's database.
//
// Read and compared, never written: an installation runs foreign scripts, restarts services and may need a
// reboot to take effect, so it requires manual action or the fleet's own tool; the reason reports the
// installed version.
#include <algorithm>

#include "drivers/linux/host/dpkg_status.hpp"
#include "drivers/linux/host/map.hpp"

namespace lockstep {
namespace {

using host_map::kPackage;

constexpr std::string_view kStatus = "/var/lib/dpkg/status";

class Packages final : public HostSetting {
 public:
  explicit Packages(HostFiles files) : files_(std::move(files)) {}

  std::vector<Incapable> incapable(const Scope& scope, const Call&) override {
    if (!files_.exists(kStatus))
      return {{kPackage, {}, "this machine's packages are not dpkg's (no " + std::string(kStatus) + ")"}};
    const std::set<std::string> names = scope.names(kPackage);
    const auto status = names.empty() ? Result<std::string>("") : files_.read(kStatus);
    if (!status) return {};  // reported by read()
    const auto versions = installed_versions(*status, names);
    std::vector<Incapable> out;
    for (const std::string& name : names) {
      const auto found = versions.find(name);
      const std::string have =
          found == versions.end() ? " is not installed" : " " + found->second + " is installed";
      out.push_back(
          {kPackage, {name}, name + have + "; packages are installed manually, not by lockstep", true});
    }
    return out;
  }

  void read(HostReading& out, const Call&) override {
    const std::set<std::string> names = out.scope.names(kPackage);
    if (names.empty() || !files_.exists(kStatus)) return;
    const auto status = files_.read(kStatus);
    if (!status) return out.fails(kPackage, status.error());
    for (const auto& [name, version] : installed_versions(*status, names))
      out.add(Path(kPackage, {name}), Value::text(version));
  }

 private:
  HostFiles files_;
};

std::string_view line_from(std::string_view text, std::size_t at) {
  return text.substr(at, text.find('\n', at) - at);
}

// The value of a field of one paragraph; empty: it has no such field.
std::string_view field(std::string_view paragraph, std::string_view name) {
  std::size_t at = 0;
  while (at < paragraph.size()) {
    const std::string_view line = line_from(paragraph, at);
    if (line.starts_with(name)) return trimmed(line.substr(name.size()));
    at += line.size() + 1;
  }
  return {};
}

}  // namespace

std::map<std::string, std::string> installed_versions(std::string_view status,
                                                      const std::set<std::string>& names) {
  std::map<std::string, std::string> out;
  for (std::size_t at = 0; at < status.size();) {
    const std::size_t blank = status.find("\n\n", at);
    const std::string_view paragraph = status.substr(at, blank - at);
    at = blank == std::string_view::npos ? status.size() : blank + 2;
    const std::string_view name = field(paragraph, "Package:");
    if (!names.contains(std::string(name))) continue;
    const std::string_view version = field(paragraph, "Version:");
    if (!version.empty() && field(paragraph, "Status:").ends_with(" installed")) out.emplace(name, version);
  }
  return out;
}

OneSetting packages_setting(const LinuxTarget& target, const SharedPci&) {
  return std::make_unique<Packages>(HostFiles(target.root));
}

}  // namespace lockstep
