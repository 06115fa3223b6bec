#include "reconciler/engine/waves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

namespace lockstep {
namespace {

// Ends of cables that push each other through a barrier could grow for ever; after this many rounds all is
// one wave.
constexpr std::size_t kWaveRoundsMax = 64;
class Waves {
 public:
  Waves(const PlanInput& input, const std::vector<DeviceAtoms>& atoms,
        const std::vector<bool>& is_peer_ordered, Traffic& traffic, OrderGraph& graph)
      : input_(input),
        atoms_(atoms),
        is_peer_ordered_(is_peer_ordered),
        traffic_(traffic),
        graph_(graph),
        own_nodes_(is_peer_ordered.size()) {
    for (std::uint32_t d = 0; d < input.devices.size(); ++d) index_.emplace(input.devices[d].name, d);
  }

  // Devices that carry traffic are spread over the waves of their policy, stage by stage, those that can lead
  // first: the others are in the last wave; a device that carries none has nothing to lose and goes first.
  void give_waves() {
    const std::vector<std::uint32_t> stage = stages();
    std::map<std::pair<const Policy*, std::uint32_t>, Spread> spread;
    for (std::uint32_t n = 0; n < own_nodes_; ++n) {
      if (follows_changes(n)) continue;
      const OrderNode& node = graph_.nodes[n];
      if (!traffic_.at(node.device)) continue;
      Spread& one = spread[{input_.devices[node.device].policy, stage[n]}];
      if (one.devices.empty() || one.devices.back() != node.device) one.devices.push_back(node.device);
      if (can_lead(node)) one.leaders.insert(node.device);
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> own_wave;  // by device and stage
    for (auto& [group, one] : spread) {
      const Policy* const policy = group.first;
      if (policy == nullptr || policy->waves.empty()) continue;
      const std::size_t counted = one.leaders.empty() ? one.devices.size() : one.leaders.size();
      std::size_t place = 0;
      for (const std::uint32_t device : one.devices) {
        const bool counts = one.leaders.empty() || one.leaders.contains(device);
        own_wave[{device, group.second}] = counts ? wave_of(place++, counted, policy->waves)
                                                  : static_cast<std::uint32_t>(policy->waves.size());
      }
    }
    for (std::uint32_t n = 0; n < own_nodes_; ++n) {
      OrderNode& node = graph_.nodes[n];
      if (const auto found = own_wave.find({node.device, stage[n]}); found != own_wave.end())
        node.own_wave = found->second;
      node.wave = node.own_wave;
    }
    join_tiers();
    join_cables();
    settle_waves();
    place_remedies();
  }

 private:
  bool is_of_two_devices(const std::vector<std::uint32_t>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](std::uint32_t n) {
      return graph_.nodes[n].device != graph_.nodes[nodes.front()].device;
    });
  }

  static std::uint32_t wave_of(std::size_t place, std::size_t of, const std::vector<Policy::Share>& waves) {
    for (std::uint32_t w = 0; w < waves.size(); ++w) {
      const double limit =
          waves[w].relative ? std::ceil(waves[w].value * static_cast<double>(of)) : waves[w].value;
      if (static_cast<double>(place) < limit) return w + 1;
    }
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, waves.size()));
  }

  // How many barriers a node waits for: what a whole tier waits for is a rollout of its own.
  std::vector<std::uint32_t> stages() const {
    std::vector<std::uint32_t> stage(graph_.nodes.size(), 0);
    for (const std::uint32_t n : graph_.topological)
      for (const std::uint32_t next : graph_.after[n])
        stage[next] = std::max(stage[next], stage[n] + (graph_.nodes[n].device == kBarrier ? 1 : 0));
    return stage;
  }

  // Whether a node can show what it does to others: its device is in service, and nothing that only a person
  // lifts one by one holds it.
  bool can_lead(const OrderNode& node) const {
    const Atom& atom = atoms_[node.device].atoms[node.atom];
    return input_.devices[node.device].maintenance.empty() && atom.refused.empty() && atom.undone.empty() &&
           atom.far_ends.empty();
  }

  struct Spread {
    std::vector<std::uint32_t> devices;
    std::set<std::uint32_t> leaders;
  };

  // A remedy that is of the wave of changes near it, and gives nothing else another wave.
  bool follows_changes(std::uint32_t node) const {
    const OrderNode& one = graph_.nodes[node];
    return one.device != kBarrier && atoms_[one.device].atoms[one.atom].when != Atom::When::by_policy;
  }

  void place_remedies() {
    std::vector<std::uint32_t> first(atoms_.size(), 0);  // by device; 0: it has none
    std::vector<std::uint32_t> placed;
    std::uint32_t last = 1;
    const auto earlier = [](std::uint32_t& one, std::uint32_t wave) {
      if (wave != 0) one = one == 0 ? wave : std::min(one, wave);
    };
    for (std::uint32_t n = 0; n < own_nodes_; ++n) {
      const OrderNode& node = graph_.nodes[n];
      if (follows_changes(n)) {
        placed.push_back(n);
        continue;
      }
      earlier(first[node.device], node.wave);
      last = std::max(last, node.wave);
    }
    std::vector<std::uint32_t> near = first;
    if (input_.wiring != nullptr && !placed.empty())
      for (const Cable& cable : input_.wiring->cables) {
        const auto a = index_.find(cable.a.device);
        const auto b = index_.find(cable.b.device);
        if (a == index_.end() || b == index_.end()) continue;
        earlier(near[a->second], first[b->second]);
        earlier(near[b->second], first[a->second]);
      }
    for (const std::uint32_t n : placed) {
      OrderNode& node = graph_.nodes[n];
      const bool at_first = atoms_[node.device].atoms[node.atom].when == Atom::When::with_changes;
      node.wave = node.own_wave = at_first ? std::max(1U, near[node.device]) : last;
    }
  }

  bool is_host(std::uint32_t node) const { return input_.devices[graph_.nodes[node].device].role == "host"; }

  // All switches come before all hosts, and the ends of each cable are in one wave: then so are all of them.
  void join_tiers() {
    std::map<LinkMatter, std::size_t> spread;  // cables that would have been in waves of their own
    for (const Tie& tie : graph_.ties) {
      const bool ordered = std::all_of(tie.nodes.begin(), tie.nodes.end(),
                                       [this](std::uint32_t n) { return is_peer_ordered_[n]; });
      const auto hosts =
          std::count_if(tie.nodes.begin(), tie.nodes.end(), [this](std::uint32_t n) { return is_host(n); });
      if (!ordered || hosts == 0 || static_cast<std::size_t>(hosts) == tie.nodes.size()) continue;
      bool moved = false;
      for (const std::uint32_t n : tie.nodes) {
        moved = moved || graph_.nodes[n].own_wave > 1;
        graph_.nodes[n].wave = graph_.nodes[n].own_wave = 1;
      }
      if (moved) ++spread[tie.matter];
    }
    for (const auto& [matter, cables] : spread)
      graph_.notes.push_back(
          fmt::format("no device is first as a canary: {} must be alike at both ends of a cable, and all "
                      "switches come before all hosts",
                      to_string(matter)));
  }

  // Both ends of a cable change in the earlier one's wave: what must be alike there, and what disturbs it
  // where no order between them is asked for.
  void join_cables() {
    std::map<std::uint32_t, std::vector<std::uint32_t>> disturbed;
    for (std::uint32_t n = 0; n < own_nodes_; ++n) {
      const OrderNode& node = graph_.nodes[n];
      const Atom& atom = atoms_[node.device].atoms[node.atom];
      if (node.cable != kNoCable && atom.disruption >= Disruption::traffic && !is_peer_ordered_[n] &&
          !follows_changes(n))
        disturbed[node.cable].push_back(n);
    }
    for (auto& [cable, nodes] : disturbed)
      if (is_of_two_devices(nodes)) ends_.push_back(std::move(nodes));
    for (const Tie& tie : graph_.ties) ends_.push_back(tie.nodes);
    for (const std::vector<std::uint32_t>& nodes : ends_) {
      std::uint32_t earliest = graph_.nodes[nodes.front()].wave;
      for (const std::uint32_t n : nodes) earliest = std::min(earliest, graph_.nodes[n].wave);
      for (const std::uint32_t n : nodes) graph_.nodes[n].wave = graph_.nodes[n].own_wave = earliest;
    }
  }

  // Nothing is in an earlier wave than what it waits for; what a whole tier waits for shifts its waves, so
  // that it still begins with one device. True: something moved.
  bool follow_order() {
    bool moved = false;
    for (const std::uint32_t n : graph_.topological) {
      const OrderNode& node = graph_.nodes[n];
      for (const std::uint32_t next : graph_.after[n]) {
        OrderNode& later = graph_.nodes[next];
        const std::uint32_t least = node.device == kBarrier ? node.wave - 1 + later.own_wave : node.wave;
        moved = moved || later.wave < least;
        later.wave = std::max(later.wave, least);
      }
    }
    return moved;
  }

  // Ends of a cable stay together, in the latest of their waves.
  void follow_cables() {
    for (const std::vector<std::uint32_t>& nodes : ends_) {
      std::uint32_t latest = 1;
      for (const std::uint32_t n : nodes) latest = std::max(latest, graph_.nodes[n].wave);
      for (const std::uint32_t n : nodes) graph_.nodes[n].wave = latest;
    }
  }

  void settle_waves() {
    follow_cables();
    for (std::size_t round = 0; follow_order(); ++round) {
      if (round == kWaveRoundsMax) return in_one_wave();
      follow_cables();
    }
    compress_waves();
  }

  void in_one_wave() {
    for (OrderNode& node : graph_.nodes) node.wave = 1;
    graph_.notes.push_back(
        "all is one wave: the ends of its cables and the order between tiers leave no other");
  }

  void compress_waves() {
    std::map<std::uint32_t, std::uint32_t> numbers;
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n)
      if (graph_.nodes[n].device != kBarrier && !follows_changes(n)) numbers[graph_.nodes[n].wave] = 0;
    std::uint32_t next = 0;
    for (auto& [wave, number] : numbers) number = ++next;
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n)
      if (graph_.nodes[n].device != kBarrier && !follows_changes(n))
        graph_.nodes[n].wave = numbers[graph_.nodes[n].wave];
  }

  const PlanInput& input_;
  const std::vector<DeviceAtoms>& atoms_;
  const std::vector<bool>& is_peer_ordered_;
  Traffic& traffic_;
  OrderGraph& graph_;
  std::size_t own_nodes_ = 0;
  std::unordered_map<std::string_view, std::uint32_t> index_;
  std::vector<std::vector<std::uint32_t>> ends_;  // nodes that are in one wave
};

}  // namespace

void give_waves(const PlanInput& input, const std::vector<DeviceAtoms>& atoms,
                const std::vector<bool>& is_peer_ordered, Traffic& traffic, OrderGraph& graph) {
  Waves(input, atoms, is_peer_ordered, traffic, graph).give_waves();
}

}  // namespace lockstep
