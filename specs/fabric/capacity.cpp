#include "specs/fabric/capacity.hpp"

#include <algorithm>
#include <map>

namespace lockstep {
namespace {

constexpr auto kLeaf = static_cast<std::size_t>(DeviceRole::leaf);
constexpr auto kSpine = static_cast<std::size_t>(DeviceRole::spine);
constexpr auto kSuperspine = static_cast<std::size_t>(DeviceRole::superspine);

std::uint64_t both(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::min(a[i], b[i]);
  return sum;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

void lower_to(Remaining& out, std::size_t tier, double left, DeviceIndex a, DeviceIndex b) {
  if (left >= out.smallest[tier]) return;
  out.smallest[tier] = left;
  out.worst[tier] = {a, b};
}

}  // namespace

FabricCapacity::FabricCapacity(const Topology& topology, FabricIndex fabric)
    : topology_(&topology), graph_(&topology.fabrics[fabric]) {
  leaves_ = tier(graph_->leaves, graph_->spines);
  spines_ = tier(graph_->spines, graph_->superspines);
  superspines_ = graph_->superspines.size();
  std::map<std::vector<std::uint64_t>, std::uint32_t> seen;
  const Marks none{std::vector<char>(topology.devices.size()), std::vector<char>(topology.links.size()), {}};
  for (std::uint32_t leaf = 0; leaf < leaves_.devices.size(); ++leaf)
    leaf_class_.push_back(seen.try_emplace(reach(leaf, none).before, leaf).first->second);
}

FabricCapacity::Tier FabricCapacity::tier(const std::vector<DeviceIndex>& lower,
                                          const std::vector<DeviceIndex>& upper) const {
  Tier out;
  out.devices = lower;
  out.up.resize(lower.size());
  std::vector<std::uint32_t> low(topology_->devices.size(), kNone);
  std::vector<std::uint32_t> high(topology_->devices.size(), kNone);
  for (std::uint32_t i = 0; i < lower.size(); ++i) low[lower[i]] = i;
  for (std::uint32_t i = 0; i < upper.size(); ++i) high[upper[i]] = i;
  for (const LinkIndex index : graph_->links) {
    const TopologyLink& link = topology_->links[index];
    const std::uint32_t from = low[topology_->ports[link.a].device];
    const std::uint32_t to = high[topology_->ports[link.b].device];
    if (from != kNone && to != kNone) out.up[from].push_back({to, link.speed, index});
  }
  return out;
}

FabricCapacity::Reach FabricCapacity::reach(std::uint32_t leaf, const Marks& marks) const {
  Reach out;
  out.leaf = leaf;
  out.before.resize(spines_.devices.size());
  out.now.resize(spines_.devices.size());
  for (const Uplink& up : leaves_.up[leaf]) {
    out.before[up.to] += up.speed;
    out.up_before += up.speed;
    if (marks.link[up.link] || marks.device[spines_.devices[up.to]]) continue;
    out.now[up.to] += up.speed;
    out.up_now += up.speed;
  }
  out.before_over.resize(superspines_);
  out.now_over.resize(superspines_);
  if (superspines_ == 0) return out;
  for (std::size_t spine = 0; spine < spines_.devices.size(); ++spine) {
    if (out.before[spine] == 0) continue;
    for (const Uplink& up : spines_.up[spine]) {
      out.before_over[up.to] += up.speed;
      const bool down = marks.link[up.link] || marks.device[graph_->superspines[up.to]];
      if (out.now[spine] != 0 && !down) out.now_over[up.to] += up.speed;
    }
  }
  return out;
}

// Leaves of one class whose own uplinks are all up stay one class, whatever is down above them.
std::vector<FabricCapacity::Reach> FabricCapacity::classes(const Marks& marks) const {
  std::vector<Reach> out;
  std::vector<std::uint32_t> place(leaves_.devices.size(), kNone);
  for (std::uint32_t leaf = 0; leaf < leaves_.devices.size(); ++leaf) {
    const DeviceIndex device = leaves_.devices[leaf];
    if (marks.device[device] && !marks.returning[device]) continue;
    const auto& up = leaves_.up[leaf];
    const bool own =
        std::any_of(up.begin(), up.end(), [&](const Uplink& one) { return marks.link[one.link]; });
    std::uint32_t& known = place[leaf_class_[leaf]];
    if (!own && known != kNone) {
      ++out[known].members;
      continue;
    }
    if (!own) known = static_cast<std::uint32_t>(out.size());
    out.push_back(reach(leaf, marks));
  }
  return out;
}

void FabricCapacity::judge_pair(const Reach& a, const Reach& b, Remaining& out) const {
  const DeviceIndex leaf_a = leaves_.devices[a.leaf];
  const DeviceIndex leaf_b = leaves_.devices[b.leaf];
  if (const std::uint64_t before = both(a.before, b.before); before != 0)
    return lower_to(out, kSpine, share(both(a.now, b.now), before), leaf_a, leaf_b);
  if (superspines_ == 0) return;
  const std::uint64_t before = std::min({a.up_before, b.up_before, both(a.before_over, b.before_over)});
  const std::uint64_t now = std::min({a.up_now, b.up_now, both(a.now_over, b.now_over)});
  if (before != 0) lower_to(out, kSuperspine, share(now, before), leaf_a, leaf_b);
}

void FabricCapacity::judge_hosts(const Marks& marks, Remaining& out) const {
  const auto& endpoints = graph_->endpoints;  // by device, then rail
  for (std::size_t begin = 0; begin < endpoints.size();) {
    const DeviceIndex host = endpoints[begin].device;
    std::uint64_t before = 0;
    std::uint64_t now = 0;
    bool cut = false;
    std::size_t i = begin;
    while (i < endpoints.size() && endpoints[i].device == host) {
      const std::uint32_t rail = endpoints[i].rail;
      bool rail_left = false;
      for (; i < endpoints.size() && endpoints[i].device == host && endpoints[i].rail == rail; ++i) {
        const std::uint64_t speed = topology_->links[endpoints[i].link].speed;
        before += speed;
        if (marks.link[endpoints[i].link] || marks.device[endpoints[i].leaf]) continue;
        now += speed;
        rail_left = true;
      }
      cut = cut || !rail_left;
    }
    begin = i;
    if (marks.device[host]) continue;
    if (cut) out.cut_off.push_back(host);
    lower_to(out, kLeaf, share(now, before), host, host);
  }
}

void FabricCapacity::judge_totals(const Marks& marks, Remaining& out) const {
  std::array<std::uint64_t, 4> before{};
  std::array<std::uint64_t, 4> now{};
  for (const LinkIndex index : graph_->links) {
    const TopologyLink& link = topology_->links[index];
    const DeviceIndex a = topology_->ports[link.a].device;
    const DeviceIndex b = topology_->ports[link.b].device;
    const unsigned upper = topology_->devices[b].tier();
    before[upper] += link.speed;
    if (!marks.link[index] && !marks.device[a] && !marks.device[b]) now[upper] += link.speed;
  }
  for (std::size_t tier = 0; tier < before.size(); ++tier) out.total[tier] = share(now[tier], before[tier]);
}

Remaining FabricCapacity::without(const Down& down) const {
  Marks marks{std::vector<char>(topology_->devices.size()), std::vector<char>(topology_->links.size()),
              std::vector<char>(topology_->devices.size())};
  for (const DeviceIndex device : down.returning)
    if (device < marks.returning.size()) marks.returning[device] = 1;
  for (const DeviceIndex device : down.devices)
    if (device < marks.device.size()) marks.device[device] = 1;
  for (const LinkIndex link : down.links)
    if (link < marks.link.size()) marks.link[link] = 1;
  Remaining out;
  const std::vector<Reach> all = classes(marks);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].members > 1) judge_pair(all[i], all[i], out);
    for (std::size_t j = i + 1; j < all.size(); ++j) judge_pair(all[i], all[j], out);
  }
  judge_hosts(marks, out);
  judge_totals(marks, out);
  return out;
}

}  // namespace lockstep
