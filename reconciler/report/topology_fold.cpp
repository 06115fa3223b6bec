#include "reconciler/report/topology_fold.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "reconciler/report/terminal.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

constexpr unsigned kTiers = 4;
constexpr std::size_t kHostsAlone = 8;  // chosen: up to this many hosts are drawn separately
constexpr std::size_t kBoxNameLeast = 6;
constexpr std::size_t kAroundName = 3;  // room in characters for a box's edges and the gap to the next

// How a device is cabled to its neighbours, in terms of their groups.
struct Neighbour {
  DeviceIndex device = 0;
  std::uint32_t rail = kNone;
  std::uint64_t speed = 0;
};
using Alike = std::vector<std::tuple<std::size_t, std::uint32_t, std::uint64_t, std::size_t>>;
using Groups = std::vector<std::vector<DeviceIndex>>;

class Folding {
 public:
  Folding(const Topology& topology, const FabricGraph& graph, std::size_t columns)
      : topology_(topology),
        graph_(graph),
        columns_(columns),
        group_(topology.devices.size()),
        neighbours_(topology.devices.size()) {
    std::iota(group_.begin(), group_.end(), std::size_t{0});
    for (const LinkIndex index : graph.links) {
      const TopologyLink& link = topology.links[index];
      const DeviceIndex a = topology.ports[link.a].device;
      const DeviceIndex b = topology.ports[link.b].device;
      neighbours_[a].push_back({b, link.rail, link.speed});
      neighbours_[b].push_back({a, link.rail, link.speed});
    }
  }

  FoldedFabric fold() {
    std::array<Groups, kTiers> tiers;
    tiers[0] = grouped_by(0, [this](DeviceIndex host) { return alike(host, Side::all, Count::yes); });
    take(tiers[0]);
    for (unsigned tier = 1; tier < kTiers; ++tier) take(tiers[tier] = switches_of(tier));
    take(tiers[0] = hosts_of(std::move(tiers[0])));
    return drawn(tiers);
  }

 private:
  enum class Side : std::uint8_t { all, above, below };
  enum class Count : std::uint8_t { yes, no };

  // The neighbours on the given side are compared exactly; for the others only rails and speeds.
  Alike alike(DeviceIndex device, Side side, Count count) const {
    std::map<std::tuple<std::size_t, std::uint32_t, std::uint64_t>, std::size_t> seen;
    for (const Neighbour& one : neighbours_[device]) {
      const bool is_above = topology_.devices[one.device].tier() > topology_.devices[device].tier();
      const bool whole = side == Side::all || (side == Side::above) == is_above;
      std::size_t& links = seen[{whole ? group_[one.device] : kNone, one.rail, one.speed}];
      if (whole && count == Count::yes) ++links;
    }
    Alike out;
    for (const auto& [key, links] : seen) out.push_back(std::tuple_cat(key, std::tuple(links)));
    return out;
  }

  template <class KeyOf>
  Groups grouped_by(unsigned tier, KeyOf key_of) const {
    Groups groups;
    std::map<decltype(key_of(DeviceIndex{})), std::size_t> known;
    for (const DeviceIndex device : graph_.tier(tier)) {
      const auto [at, fresh] = known.try_emplace(key_of(device), groups.size());
      if (fresh) groups.emplace_back();
      groups[at->second].push_back(device);
    }
    return groups;
  }

  bool fits(const Groups& groups) const {
    std::size_t longest = kBoxNameLeast;
    for (const std::vector<DeviceIndex>& one : groups)
      longest = std::max(longest, display_width(printable(picture_name(topology_, one))));
    return groups.size() * (std::min(longest, kBoxNameMost) + kAroundName) <= columns_;
  }

  // The grouping that distinguishes most among those that fit; the last one always fits.
  Groups finest_of(std::vector<Groups> all) const {
    std::size_t best = all.size() - 1;
    for (std::size_t i = all.size(); i-- > 0;)
      if (all[i].size() >= all[best].size() && fits(all[i])) best = i;
    return std::move(all[best]);
  }

  Groups switches_of(unsigned tier) const {
    Groups alone = grouped_by(tier, [](DeviceIndex device) { return device; });
    if (alone.size() <= columns_ / (kBoxNameLeast + kAroundName) && fits(alone)) return alone;
    return finest_of({grouped_by(tier, [&](DeviceIndex one) { return alike(one, Side::above, Count::no); }),
                      grouped_by(tier, [&](DeviceIndex one) { return alike(one, Side::below, Count::no); }),
                      grouped_by(tier, [&](DeviceIndex one) { return topology_.devices[one].set; }),
                      grouped_by(tier, [](DeviceIndex) { return 0; })});
  }

  Groups hosts_of(Groups cabled_alike) const {
    Groups alone = grouped_by(0, [](DeviceIndex host) { return host; });
    if (alone.size() <= kHostsAlone && fits(alone)) return alone;
    return finest_of({std::move(cabled_alike),
                      grouped_by(0, [&](DeviceIndex one) { return alike(one, Side::all, Count::no); }),
                      grouped_by(0, [&](DeviceIndex one) { return topology_.devices[one].set; }),
                      grouped_by(0, [](DeviceIndex) { return 0; })});
  }

  // A group is identified by its first device.
  void take(const Groups& groups) {
    for (const std::vector<DeviceIndex>& one : groups)
      for (const DeviceIndex device : one) group_[device] = one.front();
  }

  FoldedFabric drawn(const std::array<Groups, kTiers>& tiers) const {
    FoldedFabric out;
    std::map<std::size_t, std::size_t> box_of;  // by group
    for (unsigned tier = 0; tier < kTiers; ++tier)
      for (const std::vector<DeviceIndex>& devices : tiers[tier]) {
        box_of[devices.front()] = out.boxes.size();
        out.boxes.push_back({tier, devices, picture_name(topology_, devices), rails_of(devices)});
      }
    std::map<std::tuple<std::size_t, std::size_t, std::uint32_t, std::uint64_t>, PictureStrand> strands;
    for (const LinkIndex index : graph_.links) {
      const TopologyLink& link = topology_.links[index];
      const std::size_t a = box_of.at(group_[topology_.ports[link.a].device]);
      const std::size_t b = box_of.at(group_[topology_.ports[link.b].device]);
      PictureStrand& strand = strands[{a, b, link.rail, link.speed}];
      if (strand.links.empty()) strand = {a, b, link.rail, link.speed, {}};
      strand.links.push_back(index);
    }
    for (auto& [key, strand] : strands) out.strands.push_back(std::move(strand));
    return out;
  }

  std::vector<std::uint32_t> rails_of(const std::vector<DeviceIndex>& devices) const {
    std::set<std::uint32_t> rails;
    for (const DeviceIndex device : devices)
      for (const Neighbour& one : neighbours_[device])
        if (one.rail != kNone) rails.insert(one.rail);
    return {rails.begin(), rails.end()};
  }

  const Topology& topology_;
  const FabricGraph& graph_;
  const std::size_t columns_;
  std::vector<std::size_t> group_;                  // by device
  std::vector<std::vector<Neighbour>> neighbours_;  // by device
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::vector<std::string> items_of(const std::string& hostlist) {
  std::vector<std::string> items{""};
  int depth = 0;
  for (const char c : hostlist) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      items.emplace_back();
    else
      items.back() += c;
  }
  return items;
}

// "g[1-3]r0" for g1r0, g2r0 and g3r0, if only the number at `begin` of the first varies.
std::optional<std::string> run_at(const std::vector<std::string>& items, std::size_t begin) {
  const auto number_of = [begin](const std::string& item) -> std::optional<std::size_t> {
    std::size_t end = begin;
    while (end < item.size() && is_digit(item[end])) ++end;
    constexpr std::size_t kDigitsMost = 9;  // no number in a name is larger
    const std::string digits = item.substr(begin, end - begin);
    if (digits.empty() || digits.size() > kDigitsMost || (digits.size() > 1 && digits[0] == '0')) return {};
    return std::stoul(digits);
  };
  const std::string& first = items.front();
  const std::optional<std::size_t> start = number_of(first);
  if (!start) return {};
  const std::string head = first.substr(0, begin);
  const std::string tail = first.substr(begin + std::to_string(*start).size());
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i] != head + std::to_string(*start + i) + tail) return {};
  return head + "[" + std::to_string(*start) + "-" + std::to_string(*start + items.size() - 1) + "]" + tail;
}

}  // namespace

std::string picture_name(const std::vector<std::string>& names) {
  std::string folded = fold_hostlist(names);
  const std::vector<std::string> items = items_of(folded);
  if (items.size() < 2) return folded;
  for (std::size_t i = 0; i < items[0].size(); ++i) {
    if (items[0][i] == '[') return folded;  // numbers in brackets are already folded
    if (!is_digit(items[0][i]) || (i > 0 && is_digit(items[0][i - 1]))) continue;
    if (std::optional<std::string> run = run_at(items, i)) return *std::move(run);
  }
  return folded;
}

std::string picture_name(const Topology& topology, const std::vector<DeviceIndex>& devices) {
  std::vector<std::string> names;
  for (const DeviceIndex device : devices) names.push_back(topology.devices[device].name);
  return picture_name(names);
}

FoldedFabric fold_fabric(const Topology& topology, const FabricGraph& graph, std::size_t columns) {
  return Folding(topology, graph, columns).fold();
}

}  // namespace lockstep
