#include "specs/fabric/degraded.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "specs/fabric/deadlock.hpp"
#include "specs/fabric/disjoint_sets.hpp"

namespace lockstep {
namespace {

// Switches kept of a kind: two that failures touch, a destination, and one for the rest. That suffices:
// members that failures and the destination leave untouched are interchangeable, so all are equally far from
// that destination, and a shortest path crosses at most one of them. Paths and turns are thus those of the
// whole fabric up to an exchange, and a cycle among interchangeable switches is one of the whole fabric:
// follow it, exchanging one member after another, until a channel repeats. The same holds for pods (connected
// without the superspines) that are alike, because a failure touches at most one pod, and a path through two
// others has an equivalent through one: its part within a pod begins and ends at superspines, which do not
// move when pods are exchanged.
constexpr std::uint32_t kKept = 4;
constexpr std::uint64_t kWorkMax = 100'000'000;  // hops examined: about half a second
constexpr std::uint32_t kGroupsMax = 64;         // shared AS numbers of one part, one bit each
constexpr std::uint32_t kFar = 0xFFFF'FFFF;
constexpr unsigned kTop = static_cast<unsigned>(DeviceRole::superspine);

// Two switches with a cable between them.
struct Edge {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::vector<LinkIndex> cables;
};

using Cut = std::vector<const Edge*>;  // edges whose cables are all down

// Whether some switch could pass a route between two others of its tier or above.
bool can_turn(const Topology& topology, FabricIndex fabric, std::span<const std::uint32_t> shared_asn) {
  std::vector<DeviceIndex> above(topology.devices.size(), kNone);  // the first such neighbour
  const auto turns = [&](DeviceIndex at, DeviceIndex near) {
    if (topology.devices[near].tier() < topology.devices[at].tier()) return false;
    if (above[at] == kNone) above[at] = near;
    return above[at] != near && (shared_asn[near] == 0 || shared_asn[near] != shared_asn[above[at]]);
  };
  for (const LinkIndex index : topology.fabrics[fabric].links) {
    const DeviceIndex a = topology.ports[topology.links[index].a].device;
    const DeviceIndex b = topology.ports[topology.links[index].b].device;
    if (a == b || !topology.devices[a].is_switch() || !topology.devices[b].is_switch()) continue;
    if (turns(a, b) || turns(b, a)) return true;
  }
  return false;
}

// The switches of a fabric that cables connect, at most kKept of each kind.
struct Part {
  std::vector<DeviceIndex> device;  // by index in this part
  std::vector<unsigned> tier;
  std::vector<std::uint64_t> group;  // the bit of the AS number that it shares; 0: its own
  std::vector<std::uint32_t> kind;
  std::vector<std::uint32_t> member;      // index within its kind
  std::vector<std::uint32_t> pod_kind;    // kFar: in no pod that could match others
  std::vector<std::uint32_t> pod_member;  // index of its pod within the pod's kind
  std::vector<std::vector<std::uint32_t>> near;
  std::vector<Edge> edges;
  bool too_many_groups = false;
};

class PartFinder {
 public:
  PartFinder(const Topology& topology, FabricIndex fabric, std::span<const std::uint32_t> shared_asn)
      : topology_(topology), shared_asn_(shared_asn) {
    const FabricGraph& graph = topology.fabrics[fabric];
    for (unsigned tier = 1; tier <= 3; ++tier)
      switches_.insert(switches_.end(), graph.tier(tier).begin(), graph.tier(tier).end());
    find_edges(graph);
    find_kinds();
    part_ = joined([](const Edge&) { return true; });
    find_pods();
  }

  std::vector<Part> parts() const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> members;  // kept switches by part
    for (std::uint32_t v = 0; v < switches_.size(); ++v)
      if (is_kept(v)) members[part_[v]].push_back(v);
    std::vector<Part> out;
    std::vector<std::uint32_t> number(switches_.size(), kFar);
    std::map<std::uint32_t, std::uint32_t> place;  // of a part in `out`
    for (const auto& [root, all] : members) {
      place[root] = static_cast<std::uint32_t>(out.size());
      out.push_back(make_part(all, number));
    }
    for (const Edge& edge : edges_) {
      if (!is_kept(edge.a) || !is_kept(edge.b)) continue;
      Part& part = out[place.at(part_[edge.a])];
      part.edges.push_back({number[edge.a], number[edge.b], edge.cables});
      part.near[number[edge.a]].push_back(number[edge.b]);
      part.near[number[edge.b]].push_back(number[edge.a]);
    }
    return out;
  }

 private:
  void find_edges(const FabricGraph& graph) {
    std::vector<std::uint32_t> place(topology_.devices.size(), kFar);
    for (std::uint32_t i = 0; i < switches_.size(); ++i) place[switches_[i]] = i;
    std::vector<std::tuple<std::uint32_t, std::uint32_t, LinkIndex>> cables;
    for (const LinkIndex index : graph.links) {
      const std::uint32_t a = place[topology_.ports[topology_.links[index].a].device];
      const std::uint32_t b = place[topology_.ports[topology_.links[index].b].device];
      if (a != kFar && b != kFar && a != b) cables.emplace_back(std::min(a, b), std::max(a, b), index);
    }
    std::sort(cables.begin(), cables.end());
    for (const auto& [a, b, index] : cables) {
      if (edges_.empty() || edges_.back().a != a || edges_.back().b != b) edges_.push_back({a, b, {}});
      edges_.back().cables.push_back(index);
    }
  }

  // Same kind: the same tier, the same neighbours over as many cables, and one AS number or each its own.
  void find_kinds() {
    std::vector<std::vector<std::pair<std::uint32_t, std::size_t>>> near(switches_.size());
    for (const Edge& edge : edges_) {
      near[edge.a].emplace_back(edge.b, edge.cables.size());
      near[edge.b].emplace_back(edge.a, edge.cables.size());
    }
    using Key = std::tuple<unsigned, std::uint32_t, std::vector<std::pair<std::uint32_t, std::size_t>>>;
    std::map<Key, std::pair<std::uint32_t, std::uint32_t>> kinds;  // its index and its size
    for (std::uint32_t v = 0; v < switches_.size(); ++v) {
      const auto next = static_cast<std::uint32_t>(kinds.size());
      auto& [kind, count] =
          kinds.try_emplace({tier(v), shared_asn_[switches_[v]], std::move(near[v])}, next, 0).first->second;
      kind_.push_back(kind);
      member_.push_back(count++);
    }
  }

  // By switch, the representative of its component, connected by such edges.
  template <class F>
  std::vector<std::uint32_t> joined(F by) const {
    DisjointSets sets(switches_.size());
    for (const Edge& edge : edges_)
      if (by(edge)) sets.join(edge.a, edge.b);
    std::vector<std::uint32_t> out;
    for (std::uint32_t v = 0; v < switches_.size(); ++v) out.push_back(sets.root(v));
    return out;
  }

  bool is_kept(std::uint32_t v) const { return member_[v] < kKept && pod_member_[v] < kKept; }

  using Near = std::vector<std::pair<std::uint32_t, std::size_t>>;  // switches, and over how many cables
  struct Pod {
    bool plain = true;  // cables between neighbouring tiers only, and AS numbers of their own
    std::size_t leaves = 0;
    std::size_t spines = 0;
    std::size_t pairs = 0;                // of a leaf and a spine with cables
    std::set<std::size_t> cables;         // the distinct numbers of cables
    std::map<std::uint32_t, Near> above;  // by spine
  };

  std::map<std::uint32_t, Pod> pods(const std::vector<std::uint32_t>& pod_of) const {
    std::map<std::uint32_t, Pod> out;
    for (std::uint32_t v = 0; v < switches_.size(); ++v) {
      if (tier(v) == kTop) continue;
      Pod& pod = out[pod_of[v]];
      ++(tier(v) == 1 ? pod.leaves : pod.spines);
      pod.plain = pod.plain && shared_asn_[switches_[v]] == 0;
      if (tier(v) != 1) pod.above.try_emplace(v);
    }
    for (const Edge& edge : edges_) {  // end a is never the upper one
      if (tier(edge.a) == kTop) continue;
      Pod& pod = out[pod_of[edge.a]];
      pod.plain = pod.plain && tier(edge.b) == tier(edge.a) + 1;
      if (tier(edge.b) == kTop) {
        pod.above[edge.a].emplace_back(edge.b, edge.cables.size());
      } else {
        ++pod.pairs;
        pod.cables.insert(edge.cables.size());
      }
    }
    return out;
  }

  // Pods are alike if in each every leaf is cabled to every spine, and their spines have the same
  // superspines.
  void find_pods() {
    const std::vector<std::uint32_t> pod_of =
        joined([this](const Edge& edge) { return tier(edge.a) != kTop && tier(edge.b) != kTop; });
    using Key = std::tuple<std::size_t, std::set<std::size_t>, std::multiset<Near>>;
    std::map<Key, std::pair<std::uint32_t, std::uint32_t>> kinds;  // its index and its size
    std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> place;
    for (const auto& [root, pod] : pods(pod_of)) {
      if (!pod.plain || pod.cables.size() != 1 || pod.pairs != pod.leaves * pod.spines) continue;
      Key key{pod.leaves, pod.cables, {}};
      for (const auto& [spine, above] : pod.above) std::get<2>(key).insert(above);
      const auto next = static_cast<std::uint32_t>(kinds.size());
      auto& [kind, count] = kinds.try_emplace(std::move(key), next, 0).first->second;
      place[root] = {kind, count++};
    }
    for (std::uint32_t v = 0; v < switches_.size(); ++v) {
      const auto at = tier(v) == kTop ? place.end() : place.find(pod_of[v]);
      pod_kind_.push_back(at == place.end() ? kFar : at->second.first);
      pod_member_.push_back(at == place.end() ? 0 : at->second.second);
    }
  }

  Part make_part(const std::vector<std::uint32_t>& members, std::vector<std::uint32_t>& number) const {
    Part out;
    std::map<std::uint32_t, std::uint32_t> groups;
    for (const std::uint32_t v : members) {
      number[v] = static_cast<std::uint32_t>(out.device.size());
      const std::uint32_t asn = shared_asn_[switches_[v]];
      const std::uint32_t group =
          asn == 0 ? 0 : groups.try_emplace(asn, static_cast<std::uint32_t>(groups.size())).first->second;
      out.too_many_groups = out.too_many_groups || groups.size() > kGroupsMax;
      out.device.push_back(switches_[v]);
      out.tier.push_back(tier(v));
      out.group.push_back(asn == 0 ? 0 : std::uint64_t{1} << (group % kGroupsMax));
      out.kind.push_back(kind_[v]);
      out.member.push_back(member_[v]);
      out.pod_kind.push_back(pod_kind_[v]);
      out.pod_member.push_back(pod_member_[v]);
    }
    out.near.resize(out.device.size());
    return out;
  }

  unsigned tier(std::uint32_t v) const { return topology_.devices[switches_[v]].tier(); }

  const Topology& topology_;
  std::span<const std::uint32_t> shared_asn_;
  std::vector<DeviceIndex> switches_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> kind_;
  std::vector<std::uint32_t> member_;
  std::vector<std::uint32_t> part_;
  std::vector<std::uint32_t> pod_kind_;
  std::vector<std::uint32_t> pod_member_;
};

// What BGP converges to in a part with some of its cables down.
class Settled {
 public:
  Settled(const Part& part, const Cut& cut) : part_(part), near_(part.near) {
    for (const Edge* const edge : cut) {
      std::erase(near_[edge->a], edge->b);
      std::erase(near_[edge->b], edge->a);
    }
    for (std::uint32_t v = 0; v < near_.size(); ++v) {
      first_turn_.push_back(turns_.size());
      first_channel_.push_back(channels_);
      turns_.resize(turns_.size() + near_[v].size() * near_[v].size());
      channels_ += static_cast<std::uint32_t>(near_[v].size());
    }
  }

  // Adds to `work`; beyond kWorkMax the result covers only some destinations.
  std::vector<DeviceIndex> circle(std::uint64_t& work) {
    work_ = work + channels_;
    for (std::uint32_t v = 0; v < near_.size() && work_ <= kWorkMax; ++v)
      if (part_.tier[v] == 1) route_to(v);
    work = work_;
    if (!turns_upward()) return {};
    std::vector<DeviceIndex> out;
    for (const std::uint32_t channel : find_cycle(dependencies())) {
      const auto at = std::upper_bound(first_channel_.begin(), first_channel_.end(), channel);
      // Switches without channels share their start index with the next switch: the last one has the channel.
      out.push_back(part_.device[static_cast<std::size_t>(at - first_channel_.begin()) - 1]);
    }
    return out;
  }

 private:
  // Level by level, as paths grow: switches reached at one level announce to the next. `passed_`: the sets of
  // shared AS numbers on a switch's shortest paths, including its own.
  void route_to(std::uint32_t destination) {
    level_.assign(near_.size(), kFar);
    passed_.assign(near_.size(), {});
    level_[destination] = 0;
    passed_[destination] = {part_.group[destination]};
    std::vector<std::uint32_t> wave{destination};
    for (std::uint32_t level = 1; !wave.empty(); ++level) {
      std::vector<std::uint32_t> next;
      for (const std::uint32_t w : wave)
        for (const std::uint32_t v : near_[w]) {
          ++work_;
          if (level_[v] != kFar && level_[v] != level) continue;
          if (work_ > kWorkMax) return;
          for (const std::uint64_t passed : passed_[w]) {
            work_ += 1 + passed_[v].size();
            if ((passed & part_.group[v]) != 0) continue;
            if (level_[v] == kFar) next.push_back(v);
            level_[v] = level;
            const std::uint64_t more = passed | part_.group[v];
            if (std::find(passed_[v].begin(), passed_[v].end(), more) == passed_[v].end())
              passed_[v].push_back(more);
          }
        }
      wave = std::move(next);
    }
    for (std::uint32_t v = 0; v < near_.size(); ++v)
      if (level_[v] != kFar && level_[v] != 0) add_turns(v);
  }

  void add_turns(std::uint32_t v) {
    const std::vector<std::uint32_t>& near = near_[v];
    behind_.clear();
    for (std::size_t from = 0; from < near.size(); ++from)
      if (level_[near[from]] == level_[v] + 1) behind_.push_back(from);
    work_ += near.size();
    for (std::size_t to = 0; to < near.size(); ++to) {
      const std::uint32_t w = near[to];
      if (level_[w] != level_[v] - 1) continue;
      work_ += behind_.size();
      for (const std::size_t from : behind_)
        for (const std::uint64_t passed : passed_[w])
          if ((passed & part_.group[v]) == 0 && ((passed | part_.group[v]) & part_.group[near[from]]) == 0)
            turns_[first_turn_[v] + from * near.size() + to] = 1;
    }
  }

  template <class F>
  void each_turn(F visit) const {
    for (std::uint32_t v = 0; v < near_.size(); ++v)
      for (std::size_t from = 0; from < near_[v].size(); ++from)
        for (std::size_t to = 0; to < near_[v].size(); ++to)
          if (turns_[first_turn_[v] + from * near_[v].size() + to] != 0)
            visit(near_[v][from], v, static_cast<std::uint32_t>(to));
  }

  bool turns_upward() const {
    bool out = false;
    each_turn([&](std::uint32_t u, std::uint32_t v, std::uint32_t to) {
      out = out || (part_.tier[u] >= part_.tier[v] && part_.tier[near_[v][to]] >= part_.tier[v]);
    });
    return out;
  }

  Dependencies dependencies() const {
    std::vector<std::vector<std::uint32_t>> next(channels_);
    each_turn([&](std::uint32_t u, std::uint32_t v, std::uint32_t to) {
      const auto at = std::find(near_[u].begin(), near_[u].end(), v);
      next[first_channel_[u] + static_cast<std::uint32_t>(at - near_[u].begin())].push_back(
          first_channel_[v] + to);
    });
    Dependencies out;
    out.first.push_back(0);
    for (const auto& all : next) {
      out.next.insert(out.next.end(), all.begin(), all.end());
      out.first.push_back(static_cast<std::uint32_t>(out.next.size()));
    }
    return out;
  }

  const Part& part_;
  std::vector<std::vector<std::uint32_t>> near_;
  std::vector<std::size_t> first_turn_;       // by switch
  std::vector<std::uint32_t> first_channel_;  // by switch: channel i of it leads to near_[v][i]
  std::vector<char> turns_;                   // by switch, neighbour behind, neighbour ahead
  std::uint32_t channels_ = 0;
  std::uint64_t work_ = 0;
  std::vector<std::uint32_t> level_;
  std::vector<std::vector<std::uint64_t>> passed_;
  std::vector<std::size_t> behind_;  // indices of a switch's neighbours one level further away
};

class Search {
 public:
  DegradedCircle run(const std::vector<Part>& parts) {
    for (const Part& part : parts) {
      if (part.too_many_groups) out_.complete = false;
      if (part.too_many_groups || part.edges.empty()) continue;
      if (search(part)) break;
    }
    return std::move(out_);
  }

 private:
  // True: the search ends.
  bool search(const Part& part) {
    if (attempt(part, {})) return true;
    for (const Edge& edge : part.edges)
      if (stands_for_its_kind(part, edge) && edge.cables.size() <= 2 && attempt(part, {&edge})) return true;
    for (const Edge& one : part.edges) {
      if (!stands_for_its_kind(part, one) || one.cables.size() != 1) continue;
      for (const Edge& other : part.edges)
        if (&other != &one && other.cables.size() == 1 && stands_beside(part, one, other) &&
            attempt(part, {&one, &other}))
          return true;
    }
    return false;
  }

  static std::pair<std::uint32_t, std::uint32_t> kinds(const Part& part, const Edge& edge) {
    return std::minmax(part.kind[edge.a], part.kind[edge.b]);
  }
  static bool stands_for_its_kind(const Part& part, const Edge& edge) {
    const auto stands = [&](std::uint32_t v) { return part.member[v] == 0 && part.pod_member[v] == 0; };
    return stands(edge.a) && stands(edge.b);
  }
  // A failure may touch a second member of a kind (or pod) that `one` touches, and only the first member of
  // any other. Except for two pods, the same two edges are not tried again in the other order.
  static bool stands_beside(const Part& part, const Edge& one, const Edge& other) {
    const std::uint32_t pod = part.pod_kind[one.a];  // end b is in the same one, or a superspine
    bool second_pod = false;
    const auto stands = [&](std::uint32_t v) {
      const bool touched = part.kind[v] == part.kind[one.a] || part.kind[v] == part.kind[one.b];
      second_pod = second_pod || part.pod_member[v] == 1;
      return part.member[v] <= (touched ? 1U : 0U) &&
             part.pod_member[v] <= (part.pod_kind[v] == pod ? 1U : 0U);
    };
    return stands(other.a) && stands(other.b) && (second_pod || kinds(part, one) <= kinds(part, other));
  }

  bool attempt(const Part& part, const Cut& cut) {
    out_.devices = Settled(part, cut).circle(work_);
    if (out_.devices.empty() && work_ > kWorkMax) {
      out_.complete = false;
      return true;
    }
    ++out_.tried;
    if (out_.devices.empty()) return false;
    for (const Edge* const edge : cut)
      out_.failed.insert(out_.failed.end(), edge->cables.begin(), edge->cables.end());
    return true;
  }

  DegradedCircle out_;
  std::uint64_t work_ = 0;
};

}  // namespace

DegradedCircle find_degraded_circle(const Topology& topology, FabricIndex fabric,
                                    std::span<const std::uint32_t> shared_asn) {
  if (!can_turn(topology, fabric, shared_asn)) return {.devices = {}, .failed = {}, .any_failures = true};
  return Search().run(PartFinder(topology, fabric, shared_asn).parts());
}

}  // namespace lockstep
