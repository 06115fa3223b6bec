// Proof that a switch has as many ports, and as much bandwidth, as the cabling asks of it.
#include <algorithm>
#include <map>

#include "specs/fabric/proof_context.hpp"
#include "specs/language/hostlist.hpp"
#include "specs/language/quantity.hpp"

namespace lockstep {
namespace {

constexpr std::uint64_t kGiga = 1'000'000'000;

// The cabled ports of one switch: how many run at each speed (bit/s).
struct Load {
  std::map<std::uint64_t, std::size_t> by_speed;
  Position cabling;  // the law of most of them
  auto key() const { return std::tie(by_speed, cabling); }
  bool operator<(const Load& other) const { return key() < other.key(); }

  std::size_t ports() const {
    std::size_t out = 0;
    for (const auto& [speed, count] : by_speed) out += count;
    return out;
  }
  double gigabits() const {
    double out = 0;
    for (const auto& [speed, count] : by_speed)
      out += static_cast<double>(speed) / kGiga * static_cast<double>(count);
    return out;
  }
  // "64 ports of 800Gbps and 8 of 400Gbps", fastest first.
  std::string text() const {
    std::string out;
    for (auto one = by_speed.rbegin(); one != by_speed.rend(); ++one)
      out += (out.empty() ? "" : " and ") + std::to_string(one->second) +
             (out.empty() ? one->second == 1 ? " port" : " ports" : "") +
             (one->first == 0 ? " of unknown speed" : " of " + format(BitRate{one->first}));
    return out;
  }
};

Load load_of(const Topology& topology, DeviceIndex device) {
  Load out;
  std::map<Position, std::size_t> by_law;
  for (const TopologyPort& port : topology.ports_of(device)) {
    if (port.link == kNone) continue;
    ++out.by_speed[port.speed];
    ++by_law[topology.links[port.link].at];
  }
  const auto most = std::max_element(by_law.begin(), by_law.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != by_law.end()) out.cabling = most->first;
  return out;
}

// What the platform has less of than is asked; nullptr: enough.
const Figure* exceeded(const Platform& platform, const Load& load) {
  if (platform.lanes && static_cast<double>(load.ports()) > platform.lanes->value) return &*platform.lanes;
  if (platform.capacity_gbps && load.gigabits() > platform.capacity_gbps->value)
    return &*platform.capacity_gbps;
  return nullptr;
}

}  // namespace

void prove_port_counts(const ProofContext& context) {
  // Switches of one set with one load are one message.
  std::map<std::tuple<std::uint32_t, const Platform*, Load>, std::vector<DeviceIndex>> alike;
  for (DeviceIndex index = 0; index < context.topology.devices.size(); ++index) {
    const TopologyDevice& device = context.topology.devices[index];
    const Platform* const platform = device.is_switch() ? context.platform(device.platform) : nullptr;
    if (platform == nullptr) continue;
    Load load = load_of(context.topology, index);
    if (exceeded(*platform, load) != nullptr) alike[{device.set, platform, std::move(load)}].push_back(index);
  }
  for (const auto& [key, devices] : alike) {
    const auto& [set, platform, load] = key;
    const Figure& limit = *exceeded(*platform, load);
    const bool lanes = platform->lanes && &limit == &*platform->lanes;
    std::vector<std::string> names;
    for (const DeviceIndex device : devices) names.push_back(context.topology.devices[device].name);
    const auto rate = [](double gigabits) {
      return format(BitRate{static_cast<std::uint64_t>(gigabits) * kGiga});
    };
    context.error(
        "LS112", load.cabling,
        fold_hostlist(names) + (names.size() == 1 ? " is cabled with " : " are each cabled with ") +
            load.text() +
            (lanes ? ", and " + platform->name + " has " + std::to_string(limit.whole()) + " lanes for ports"
                   : ", " + rate(load.gigabits()) + " together, and " + platform->name + " has " +
                         rate(limit.value)),
        "correct the hostlists of the cabling, or the speed, or add switches (" + limit.source + ")",
        {{context.platform_at(devices.front()), "platform " + platform->name + " is declared here"}});
  }
}

}  // namespace lockstep
