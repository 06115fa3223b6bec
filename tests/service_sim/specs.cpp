#include "specs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace lockstep::service_simulation {
namespace {

constexpr std::array<const char*, kGroups> kNames{"open", "daily", "manual", "all"};

constexpr const char* kCluster = R"yaml(apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: served}
spec: {mode: converge}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: hosts}
spec:
  names: gpu[1-6]
  role: host
  drivers: [sim]
  interfaces:
    - {name: rail0, platform: connectx-7, speed: 400Gbps}
---
apiVersion: lockstep.dev/v1alpha1
kind: DeviceSet
metadata: {name: leaves}
spec: {names: leaf0, role: leaf, platform: spectrum-4, drivers: [sim]}
---
apiVersion: lockstep.dev/v1alpha1
kind: Fabric
metadata: {name: backend}
spec:
  role: backend
  topology: rail-optimized
  mtu: {host: 9000, fabric: 9216}
  cabling:
    - {from: "gpu[1-6]:rail0", to: "leaf0:swp[1-6]", by: rail, cableLength: 5m}
  addressing: {hosts: 10.64.0.0/16, hostLink: p2p, loopbacks: 10.255.0.0/24}
---
apiVersion: lockstep.dev/v1alpha1
kind: ValidationSuite
metadata: {name: slo}
spec:
  fabric: backend
  transport: tcp
  benchmarks:
    - {name: pairs, workload: stream, pairs: all, duration: 600ms,
       slo: [{metric: bandwidth, statistic: min, atLeast: 85% of nominal}]}
  onChange: {scope: affected, onViolation: rollback}
  onSchedule: {every: 20min, budget: 4min}
)yaml";

constexpr const char* kPolicy = R"yaml(---
apiVersion: lockstep.dev/v1alpha1
kind: RolloutPolicy
metadata: {{name: {0}}}
spec:
  selector: {{names: "{1}"}}
  unit: device
  waves: ["1", "100%"]
  maxDelete: 10%
  {2}
)yaml";

constexpr const char* kProfile = R"yaml(---
apiVersion: lockstep.dev/v1alpha1
kind: HostProfile
metadata: {{name: {0}}}
spec: {{selector: {{names: "{1}"}}, onDelete: {2}, sysctl: {{{3}: {4}}}}}
)yaml";

std::string parameter_of(Group group) { return group == Group::all ? "vm.dirty_ratio" : "vm.swappiness"; }

std::string names_of(Group group) {
  std::string out;
  for (const std::string& one : hosts_of(group)) out += (out.empty() ? "" : ",") + one;
  return out;
}

}  // namespace

std::size_t Commit::profiles() const {
  return static_cast<std::size_t>(std::ranges::count_if(values, [](const auto& one) { return bool(one); }));
}

Setting setting(const std::string& device, const std::string& path) { return device + " " + path; }
std::string device_of(const Setting& setting) { return setting.substr(0, setting.find(' ')); }

std::vector<std::string> all_hosts() { return hosts_of(Group::all); }

const std::vector<std::string>& hosts_of(Group group) {
  static const std::array<std::vector<std::string>, kGroups> kHosts{
      {{"gpu1", "gpu2", "gpu3"},
       {"gpu4", "gpu5"},
       {"gpu6"},
       {"gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6"}}};
  return kHosts[static_cast<std::size_t>(group)];
}

std::string path_of(Group group) { return "sysctl[" + parameter_of(group) + "]"; }

bool is_of_profile(const Setting& setting) {
  return setting.ends_with(path_of(Group::open)) || setting.ends_with(path_of(Group::all));
}
bool is_manual(const Setting& setting) { return device_of(setting) == "gpu6"; }
bool is_daily(const Setting& setting) {
  return std::ranges::count(hosts_of(Group::daily), device_of(setting)) != 0;
}

std::string other_value(const std::string& value) { return value + "02"; }

std::map<Setting, std::string> wants(const Commit& commit, Kind kind) {
  std::map<Setting, std::string> out;
  for (std::size_t i = 0; i < kGroups; ++i) {
    if (!commit.values[i]) continue;
    const auto group = static_cast<Group>(i);
    const std::string value = std::to_string(*commit.values[i]);
    for (const std::string& host : hosts_of(group))
      out[setting(host, path_of(group))] =
          group == Group::open && kind == Kind::other ? other_value(value) : value;
  }
  return out;
}

std::map<std::string, std::string> files_of(const Commit& commit, bool has_window, const std::string& lock) {
  std::string policies;
  policies += fmt::format(kPolicy, "open", "gpu[1-3],leaf0", "");
  policies += fmt::format(
      kPolicy, "daily", names_of(Group::daily),
      has_window
          ? fmt::format(R"(windows: [{{from: "{:02}:00", to: "{:02}:00", timezone: UTC}}])", kOpens, kCloses)
          : "");
  policies += fmt::format(kPolicy, "manual", names_of(Group::manual),
                          "approval: {none: manual, traffic: manual, reset: manual, reboot: manual}");
  std::string profiles = commit.loads ? "" : "kind: HostProfil\n";
  for (std::size_t i = 0; i < kGroups; ++i)
    if (const auto group = static_cast<Group>(i); commit.values[i])
      profiles += fmt::format(kProfile, kNames[i], names_of(group), group == Group::all ? "restore" : "leave",
                              parameter_of(group), *commit.values[i]);
  std::map<std::string, std::string> out{{"cluster.yaml", kCluster + policies}};
  if (!profiles.empty()) out["profiles.yaml"] = profiles;
  if (!lock.empty()) out["allocations.lock"] = lock;
  return out;
}

}  // namespace lockstep::service_simulation
