#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "drivers/linux/host/nic_platform.hpp"
#include "reconciler/report/cabling_laws.hpp"
#include "reconciler/report/discovered_cables.hpp"
#include "reconciler/report/discovery.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/language/scalars.hpp"
#include "specs/model/path.hpp"

namespace lockstep {
namespace {

// Devices that are set up alike.
struct DraftSet {
  std::string role;
  std::string connect;
  std::string ports;  // the lines of its interfaces or ports
  std::vector<std::string> devices;
};

// Everything that the draft states about a port, except its name.
std::string facts_text(const DiscoveredPort& port, bool of_host) {
  std::string out;
  const std::string_view platform = of_host && port.pci ? nic_platform(*port.pci) : "";
  if (!platform.empty()) out += fmt::format(", platform: {}", platform);
  if (of_host && !port.rdma_devices.empty()) out += ", rdma: true";
  if (port.nic.speed) out += ", speed: " + speed_text(port);
  return out;
}

// One line for all ports that are alike.
std::string port_lines(const DiscoveredDevice& found, std::vector<std::string>& left_out) {
  std::map<std::string, std::vector<std::string>> alike;
  for (const DiscoveredPort& port : found.host.ports) {
    if (!takes_cables(port)) continue;
    if (is_port_name(port.name))
      alike[facts_text(port, found.role == "host")].push_back(port.name);
    else
      left_out.push_back(left_out_name(found.device + "'s port", port.name, "specs can't write this name"));
  }
  std::vector<std::pair<std::string, std::string>> lines;  // by the first name of each
  for (auto& [facts, names] : alike) {
    sort_names(names);
    lines.emplace_back(names.front(), fmt::format("    - {{name: \"{}\"{}}}\n", fold_hostlist(names), facts));
  }
  std::ranges::sort(lines,
                    [](const auto& a, const auto& b) { return compare_natural(a.first, b.first) < 0; });
  std::string out;
  for (const auto& [first, line] : lines) out += line;
  return out;
}

std::vector<DraftSet> sets_of(const std::vector<DiscoveredDevice>& all, std::vector<std::string>& left_out) {
  std::map<std::array<std::string, 3>, std::vector<std::string>> alike;
  for (const DiscoveredDevice& found : all)
    alike[{found.role, found.connect, port_lines(found, left_out)}].push_back(found.device);
  std::vector<DraftSet> out;
  for (auto& [kind, devices] : alike) {
    sort_names(devices);
    out.push_back({kind[0], kind[1], kind[2], std::move(devices)});
  }
  std::ranges::stable_sort(out, [](const DraftSet& a, const DraftSet& b) {
    return a.role != b.role ? a.role < b.role : compare_natural(a.devices.front(), b.devices.front()) < 0;
  });
  return out;
}

// A DNS label (RFC 1123 2.1) of at most 40 characters: a set's name has its role before it.
std::string label(const std::string& name) {
  constexpr std::size_t longest = 40;
  std::string out;
  for (const char c : name.substr(0, longest))
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '.' ? '-' : c;
  while (out.ends_with('-')) out.pop_back();
  return out;
}

// By role; of several sets of one role by the first device too.
std::vector<std::string> names_of(const std::vector<DraftSet>& sets) {
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (const DraftSet& one : sets) {
    const std::string plural = one.role == "leaf" ? "leaves" : one.role + "s";
    const bool alone = std::ranges::count(sets, one.role, &DraftSet::role) == 1;
    const std::string first = alone ? plural : plural + "-" + label(one.devices.front());
    std::string name = first;
    for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}-{}", first, i);
    out.push_back(std::move(name));
  }
  return out;
}

std::string set_text(const DraftSet& one, const std::string& name, bool twin) {
  const bool is_remote = twin || !one.connect.empty();
  std::string out = fmt::format(
      "---\napiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {{name: {}}}\nspec:\n  names: "
      "\"{}\"\n  role: {}\n  drivers: [{}]\n{}",
      name, fold_hostlist(one.devices), one.role, is_remote && one.role != "host" ? "linux, frr" : "linux",
      // A twin's devices are not this machine; the specs' author must state how the real ones are reached.
      twin ? "" : fmt::format("  connect: {}\n", one.connect.empty() ? "{local: true}" : one.connect));
  if (!one.ports.empty())
    out += std::string(one.role == "host" ? "  interfaces:\n" : "  ports:\n") + one.ports;
  return out;
}

// Rail-optimized if most cables of hosts follow rails; rail-only if no cable connects switches, and all
// switches were discovered.
TopologyKind topology_of(const std::vector<ObservedCable>& cables, const FoundCabling& found) {
  const auto of_host = [](const ObservedCable& one) { return one.from.role == DeviceRole::host; };
  const auto of_hosts = static_cast<std::size_t>(std::ranges::count_if(cables, of_host));
  if (found.of_rails == 0 || found.of_rails * 2 < of_hosts) return TopologyKind::leaf_spine;
  const bool apart = std::ranges::all_of(
      cables, [&](const ObservedCable& one) { return of_host(one) && one.to.role.has_value(); });
  return apart ? TopologyKind::rail_only : TopologyKind::rail_optimized;
}

std::string law_text(const FoundLaw& law) {
  return fmt::format("    - {{from: \"{}\", to: \"{}\", by: {}{}{}}}\n", law.line.from, law.line.to,
                     to_string(law.by), law.planes > 1 ? fmt::format(", planes: {}", law.planes) : "",
                     law.parallel > 1 ? fmt::format(", parallel: {}", law.parallel) : "");
}

std::string fabric_text(const std::vector<ObservedCable>& cables) {
  const FoundCabling found = find_cabling(cables);
  std::string out = fmt::format(
      "---\napiVersion: lockstep.dev/v1alpha1\nkind: Fabric\nmetadata: {{name: discovered}}\nspec:\n  role: "
      "backend\n  topology: {}\n  mtu: {{host: 9000, fabric: 9216}}\n  cabling:\n",
      to_string(topology_of(cables, found)));
  for (const FoundLaw& law : found.laws) out += law_text(law);
  if (!found.pairs.empty()) out += "    - by: pairs\n      list:\n";
  for (const FoundLine& one : found.pairs)
    out += fmt::format("        - {{from: \"{}\", to: \"{}\"}}\n", one.from, one.to);
  return out;
}

// What has to be added before the draft is valid.
std::string undiscovered_text(const std::vector<ObservedCable>& cables) {
  std::set<std::string> names;
  for (const ObservedCable& one : cables)
    if (!one.to.role) names.insert(one.to.device);
  if (names.empty()) return {};
  std::vector<std::string> sorted(names.begin(), names.end());
  sort_names(sorted);
  return fmt::format("# not discovered, and at the other ends of cables: {}; add DeviceSets for them\n",
                     fold_hostlist(sorted));
}

}  // namespace

std::string discovery_draft(const std::vector<DiscoveredDevice>& all, bool twin) {
  std::vector<DiscoveredDevice> named;
  std::vector<std::string> left_out;
  for (const DiscoveredDevice& found : all) {
    if (is_host_name(found.device))
      named.push_back(found);
    else
      left_out.push_back(left_out_name("device", found.device, "specs can't write this name"));
  }
  const std::vector<DraftSet> sets = sets_of(named, left_out);
  const DiscoveredCables cabled = discovered_cables(named);
  left_out.insert(left_out.end(), cabled.left_out.begin(), cabled.left_out.end());
  std::string out =
      "# A first draft by `lockstep discover --draft`: edit it (take out the ports of\n"
      "# management, which nothing here can tell), then `lockstep validate`.\n";
  for (const std::string& one : left_out) out += "# left out: " + one + "\n";
  out += undiscovered_text(cabled.cables);
  const std::vector<std::string> names = names_of(sets);
  for (std::size_t i = 0; i < sets.size(); ++i) out += set_text(sets[i], names[i], twin);
  return cabled.cables.empty() ? out : out + fabric_text(cabled.cables);
}

}  // namespace lockstep
