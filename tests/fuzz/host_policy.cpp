// /etc/lockstep/host.yaml.
#include <algorithm>

#include "drivers/host_policy/policy.hpp"
#include "specs/language/excerpt.hpp"
#include "tests/fuzz/parsers.hpp"

namespace lockstep::fuzzing {
namespace {

Change setting(const std::string& path, const char* want) {
  const Result<Path> parsed = Path::parse(path);
  must(static_cast<bool>(parsed), "a path of this test is one");
  return {*parsed, {}, Value::text(want), 0};
}

// A change that runs code as root, the field of the rules that can allow it, and its name in that field.
struct Dangerous {
  Change change;
  std::string_view field;
  std::string_view name;
};

}  // namespace

void parse_host_policy(std::string_view input) {
  static const Dangerous kDangerous[] = {
      {setting("sysctl[kernel.core_pattern]", "|/tmp/x"), "sysctls", "kernel.core_pattern"},
      {setting("service[sshd]", "active"), "services", "sshd"},
      {setting("kernel/module[evil]", "x"), "modules", "evil"},
  };
  Sources sources;
  Diagnostics wrong;
  const HostPolicy policy = HostPolicy::from_text("host.yaml", std::string(input), "gpu1", sources, wrong);
  (void)excerpts(wrong, sources, Colour::off);
  must(has_errors(wrong) == !policy.broken().empty(), "a policy with an error is broken, and no other is");
  (void)policy.why_not_device("gpu1", "pod");
  (void)policy.why_not_driver(DriverName::frr);
  const std::vector<HostPolicy::Line> lines = policy.lines();
  for (const Dangerous& one : kDangerous) {
    if (policy.why_not(one.change)) continue;
    must(policy.broken().empty(), "a broken policy permits nothing");
    must(std::any_of(lines.begin(), lines.end(),
                     [&](const HostPolicy::Line& line) {
                       if (line.field != one.field || line.place.empty()) return false;
                       constexpr std::string_view kAllow = "allow ";
                       if (!line.says.starts_with(kAllow)) return false;
                       std::string_view pattern = std::string_view(line.says).substr(kAllow.size());
                       if (!pattern.ends_with('*')) return pattern == one.name;
                       pattern.remove_suffix(1);
                       return one.name.starts_with(pattern);
                     }),
         "what runs code is permitted by a rule of the file that names it");
  }
}

std::vector<std::string> seeds_of_host_policy() {
  const std::string head = "apiVersion: lockstep.dev/v1alpha1\nkind: HostPolicy\nspec:\n";
  return {host_policy_template("gpu1"),
          head +
              "  device: gpu1\n  cluster: pod\n  drivers: [linux, frr]\n  sysctls:\n    allow: [net.core.*, "
              "vm.swappiness]\n"
              "    refuse: [net.ipv4.ip_forward, \"*\"]\n",
          head +
              "  services: {allow: [chrony*], refuse: [sshd]}\n  modules: {allow: [mlx5_core]}\n"
              "  deviceParameters: {allow: [enable_roce]}\n  interfaces: {refuse: [mgmt0, \"eth*\"]}\n",
          head +
              "  addresses: [10.64.0.0/16, \"fd00::/8\"]\n  asns: [4200000000-4200000100, \"65001\"]\n"
              "  pci: {acs: allow}\n  waivers: {approval: refuse, deletion: refuse}\n"};
}

}  // namespace lockstep::fuzzing
