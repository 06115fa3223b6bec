#include "reconciler/engine/waves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "reconciler/engine/digest.hpp"
#include "reconciler/engine/far_ends.hpp"
#include "reconciler/engine/tied_groups.hpp"

namespace lockstep {
namespace {

constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

class Waves {
 public:
  Waves(const PlanInput& input, const std::vector<DeviceAtoms>& atoms, const Columns& columns,
        const std::vector<bool>& is_peer_ordered, Traffic& traffic, OrderGraph& graph)
      : input_(input),
        atoms_(atoms),
        columns_(columns),
        is_peer_ordered_(is_peer_ordered),
        traffic_(traffic),
        graph_(graph),
        own_nodes_(is_peer_ordered.size()) {}

  void give_waves() {
    find_ends();
    groups_ = tied_groups(graph_.after, ends_);
    find_stages();
    find_phases();
    share_out();
    want_waves();
    follow_order();
    tell_no_canary();
    tell_early();
    compress_waves();
    place_remedies();
  }

 private:
  using Nodes = std::vector<std::uint32_t>;

  const Atom& atom(std::uint32_t node) const {
    return atoms_[graph_.nodes[node].device].atoms[graph_.nodes[node].atom];
  }
  const std::string& role(std::uint32_t node) const { return input_.devices[graph_.nodes[node].device].role; }
  bool is_barrier(std::uint32_t node) const { return graph_.nodes[node].device == kBarrier; }
  bool is_lone_barrier(std::uint32_t group) const {
    return groups_.members[group].size() == 1 && is_barrier(groups_.members[group].front());
  }

  // Nodes that must be in one wave: both ends of a cable where they must be alike, or disturb it in no order;
  // and all ends that a change of the whole device must precede.
  void find_ends() {
    for (const Tie& tie : graph_.ties) ends_.push_back(tie.nodes);
    std::map<std::uint32_t, Nodes> disturbed;
    for (std::uint32_t n = 0; n < own_nodes_; ++n)
      if (graph_.nodes[n].cable != kNoCable && atom(n).disruption >= Disruption::traffic &&
          !is_peer_ordered_[n] && !follows_changes(n))
        disturbed[graph_.nodes[n].cable].push_back(n);
    std::set<std::uint32_t> at_both;  // cables
    for (auto& [cable, nodes] : disturbed) {
      if (!is_of_two_devices(graph_, nodes)) continue;
      at_both.insert(cable);
      ends_.push_back(std::move(nodes));
    }
    for (std::uint32_t n = 0; n < own_nodes_; ++n) tie_what_it_serves(n, at_both);
  }

  // A node that disturbs a device as a whole and must go before changes at several cables can't go right
  // before the first of them, as the other cables still need it: all of them are tied.
  void tie_what_it_serves(std::uint32_t n, const std::set<std::uint32_t>& at_both) {
    if (graph_.nodes[n].cable != kNoCable || !graph_.nodes[n].live || follows_changes(n)) return;
    Nodes served{n};
    std::set<std::uint32_t> cables;
    for (const std::uint32_t next : graph_.after[n])
      if (!is_barrier(next) && at_both.contains(graph_.nodes[next].cable)) {
        served.push_back(next);
        cables.insert(graph_.nodes[next].cable);
      }
    if (cables.size() < 2) return;
    servers_.push_back(n);
    ends_.push_back(std::move(served));
  }

  // The number of barriers that a group waits for: what comes after a barrier of a whole tier has a rollout
  // of its own.
  void find_stages() {
    stage_.assign(groups_.members.size(), 0);
    for (std::uint32_t g = 0; g < groups_.members.size(); ++g)
      each_next(g, [&](std::uint32_t, std::uint32_t, std::uint32_t next) {
        stage_[next] = std::max(stage_[next], stage_[g] + (is_lone_barrier(g) ? 1 : 0));
      });
  }

  // The phase of a group, from the place of its devices on this process's own path: groups on the path come
  // after all others, those nearest to this machine last; but never after what waits for them.
  void find_phases() {
    std::size_t most_waves = 1;
    for (const DeviceInput& device : input_.devices) {
      rank_.push_back(input_.wiring != nullptr ? input_.wiring->own_path.rank(device.name) : OwnRank::off);
      if (device.policy != nullptr) most_waves = std::max(most_waves, device.policy->waves.size());
    }
    phase_.assign(groups_.members.size(), 0);
    for (std::uint32_t g = static_cast<std::uint32_t>(groups_.members.size()); g-- > 0;) {
      if (is_lone_barrier(g)) phase_[g] = static_cast<std::uint32_t>(OwnRank::nearest);
      for (const std::uint32_t n : groups_.members[g])
        if (!is_barrier(n))
          phase_[g] = std::max(phase_[g], static_cast<std::uint32_t>(rank_[graph_.nodes[n].device]));
      each_next(g, [&](std::uint32_t, std::uint32_t, std::uint32_t next) {
        phase_[g] = std::min(phase_[g], phase_[next]);
      });
    }
    const std::uint32_t last_stage = stage_.empty() ? 0 : *std::ranges::max_element(stage_);
    waves_of_phase_ = (last_stage + 1) * static_cast<std::uint32_t>(most_waves);
  }

  // The offset of a group's waves for its phase.
  std::uint32_t put_off(std::uint32_t group) const { return phase_[group] * waves_of_phase_; }

  // Calls back with each edge that leaves the group: both nodes, and the group that it leads to.
  template <class Visit>
  void each_next(std::uint32_t group, const Visit& visit) const {
    for (const std::uint32_t n : groups_.members[group])
      for (const std::uint32_t next : graph_.after[n])
        if (groups_.of[next] != group) visit(n, next, groups_.of[next]);
  }

  static std::uint32_t wave_of(std::size_t place, std::size_t of, const std::vector<Policy::Share>& waves) {
    for (std::uint32_t w = 0; w < waves.size(); ++w) {
      const double limit =
          waves[w].relative ? std::ceil(waves[w].value * static_cast<double>(of)) : waves[w].value;
      if (static_cast<double>(place) < limit) return w + 1;
    }
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, waves.size()));
  }

  // Whether a node can serve as a canary: its device is in service, and it has no hold that needs an approval
  // of its own.
  bool can_lead(const OrderNode& node) const {
    const Atom& atom = atoms_[node.device].atoms[node.atom];
    return input_.devices[node.device].maintenance.empty() && atom.refused.empty() && atom.undone.empty() &&
           atom.far_ends.empty();
  }

  struct Spread {
    Nodes devices;
    std::set<std::uint32_t> leaders;
  };

  // Devices with traffic are spread over the waves of their policy by role, phase and stage, those that can
  // lead first: the others are in the last wave; a device without traffic has nothing to lose and goes first.
  void share_out() {
    std::map<std::tuple<const Policy*, std::string_view, std::uint32_t, std::uint32_t>, Spread> spread;
    for (std::uint32_t n = 0; n < own_nodes_; ++n) {
      const OrderNode& node = graph_.nodes[n];
      if (follows_changes(n) || !traffic_.at(node.device)) continue;
      const std::uint32_t group = groups_.of[n];
      Spread& one = spread[{input_.devices[node.device].policy, role(n), phase_[group], stage_[group]}];
      if (one.devices.empty() || one.devices.back() != node.device) one.devices.push_back(node.device);
      if (can_lead(node)) one.leaders.insert(node.device);
    }
    // By device, phase and stage.
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> own_wave;
    for (auto& [what, one] : spread) {
      const Policy* const policy = std::get<0>(what);
      if (policy == nullptr || policy->waves.empty()) continue;
      const std::size_t counted = one.leaders.empty() ? one.devices.size() : one.leaders.size();
      std::size_t place = 0;
      for (const std::uint32_t device : over_groups(one.devices)) {
        const bool counts = one.leaders.empty() || one.leaders.contains(device);
        own_wave[{device, std::get<2>(what), std::get<3>(what)}] =
            counts ? wave_of(place++, counted, policy->waves)
                   : static_cast<std::uint32_t>(policy->waves.size());
      }
    }
    for (std::uint32_t n = 0; n < own_nodes_; ++n) {
      OrderNode& node = graph_.nodes[n];
      const std::uint32_t group = groups_.of[n];
      const auto found = own_wave.find({node.device, phase_[group], stage_[group]});
      node.own_wave = put_off(group) + (found != own_wave.end() ? found->second : 1);
    }
  }

  // One of each redundancy group, then a second one of each, and so on; those on the own path after all
  // others.
  Nodes over_groups(const Nodes& devices) const {
    if (input_.wiring == nullptr) return devices;
    std::map<std::string_view, std::size_t> taken;
    std::vector<std::tuple<OwnRank, std::size_t, std::uint32_t>> ranked;
    for (const std::uint32_t device : devices) {
      const auto group = input_.wiring->redundancy_group.find(input_.devices[device].name);
      ranked.emplace_back(
          rank_[device], group == input_.wiring->redundancy_group.end() ? 0 : taken[group->second]++, device);
    }
    std::ranges::sort(ranked);
    Nodes out;
    for (const auto& [rank, turn, device] : ranked) out.push_back(device);
    return out;
  }

  // Of both ends of a cable, the wave of the end nearer to the hosts decides: a switch's port changes with
  // what is connected to it. Nodes that are tied as a whole are in the first of their waves.
  bool leads(std::uint32_t node, bool has_host) const {
    const OrderNode& one = graph_.nodes[node];
    if (one.device == kBarrier) return false;
    if (has_host) return role(node) == "host";
    return one.cable != kNoCable &&
           input_.wiring->cables[one.cable].a.device == input_.devices[one.device].name;
  }

  std::uint32_t first_wave(std::uint32_t group) const {
    const Nodes& members = groups_.members[group];
    const bool has_host =
        std::ranges::any_of(members, [this](std::uint32_t n) { return !is_barrier(n) && role(n) == "host"; });
    std::uint32_t first = kNever;
    for (const std::uint32_t n : members)
      if (leads(n, has_host)) first = std::min(first, graph_.nodes[n].own_wave);
    for (const std::uint32_t n : members)
      if (first == kNever && !is_barrier(n)) return graph_.nodes[n].own_wave;
    return first == kNever ? put_off(group) + 1 : first;
  }

  // What a device must do before an end changes comes in the same wave, and does not delay it; so does a node
  // that moves a class from one priority to another before others can change.
  void want_waves() {
    wanted_.assign(groups_.members.size(), 1);
    for (std::uint32_t g = static_cast<std::uint32_t>(groups_.members.size()); g-- > 0;) {
      wanted_[g] = first_wave(g);
      each_next(g, [&](std::uint32_t n, std::uint32_t next, std::uint32_t later) {
        const bool comes_along = graph_.nodes[n].device == graph_.nodes[next].device || moves(n);
        if (comes_along && stage_[g] == stage_[later] && !is_lone_barrier(later))
          wanted_[g] = std::min(wanted_[g], wanted_[later]);
      });
    }
  }

  // Whether a node both adds and removes something that has an order across cables.
  bool moves(std::uint32_t node) const {
    if (is_barrier(node)) return false;
    bool adds = false;
    bool takes_away = false;
    for (const AtomChange& change : atom(node).changes) {
      const Row& row = columns_.row(change.path.row());
      adds = adds || first_side(change, row) == First::switches;
      // What is removed is what the reverse change would add.
      const AtomChange back{change.path, change.want, change.was, 0, change.transient};
      takes_away = takes_away || first_side(back, row) == First::switches;
    }
    return adds && takes_away;
  }

  // Nothing is in an earlier wave than what it waits for; waiting for a whole tier shifts all waves of a
  // group, so that it still begins with one device.
  void follow_order() {
    std::vector<std::uint32_t> wave = wanted_;
    for (std::uint32_t g = 0; g < groups_.members.size(); ++g) {
      for (const std::uint32_t n : groups_.members[g]) graph_.nodes[n].wave = wave[g];
      each_next(g, [&](std::uint32_t, std::uint32_t, std::uint32_t next) {
        wave[next] =
            std::max(wave[next], is_lone_barrier(g) ? wave[g] - 1 + wanted_[next] - put_off(next) : wave[g]);
      });
    }
  }

  // The first of a node's changes, with the spec line that sets it.
  std::string change_of(std::uint32_t node) const {
    for (const AtomChange& change : atom(node).changes) {
      if (change.transient) continue;
      std::string text = change.path.text() + " of " + input_.devices[graph_.nodes[node].device].name;
      if (change.origin == 0 || input_.origins == nullptr || change.origin >= input_.origins->all.size())
        return text;
      const PlanOrigin origin = plan_origin((*input_.origins)[change.origin], input_.sources);
      return origin.file.empty() ? text : fmt::format("{} ({}:{})", text, origin.file, origin.line);
    }
    return "what is changed";
  }

  // Whether devices of one role would have had different waves.
  bool is_no_canary(std::uint32_t group) const {
    std::map<std::string_view, std::set<std::uint32_t>> devices;
    bool moved = false;
    for (const std::uint32_t n : groups_.members[group]) {
      if (is_barrier(n)) continue;
      devices[role(n)].insert(graph_.nodes[n].device);
      moved = moved || graph_.nodes[n].own_wave > wanted_[group];
    }
    return moved && std::ranges::any_of(devices, [](const auto& one) { return one.second.size() > 1; });
  }

  void tell_no_canary() {
    std::set<LinkMatter> matters;
    std::set<std::pair<std::uint32_t, LinkMatter>> seen;
    for (const Tie& tie : graph_.ties) {
      const std::uint32_t group = groups_.of[tie.nodes.front()];
      if (!seen.emplace(group, tie.matter).second) continue;
      const bool has_barrier =
          std::ranges::any_of(groups_.members[group], [this](std::uint32_t n) { return is_barrier(n); });
      if (!has_barrier || !is_no_canary(group) || !matters.insert(tie.matter).second) continue;
      no_canary_.insert(group);
      graph_.notes.push_back(
          fmt::format("no canary, hosts and switches change in turns: {} must be the same at both ends of "
                      "a cable: {}",
                      to_string(tie.matter), change_of(tie.nodes.front())));
    }
    for (const std::uint32_t server : servers_) {
      const std::uint32_t group = groups_.of[server];
      if (role(server) == "host" || no_canary_.contains(group) || !is_no_canary(group)) continue;
      no_canary_.insert(group);
      graph_.notes.push_back(
          fmt::format("no canary: {} is changed once, for all the ports that it serves", change_of(server)));
    }
  }

  // Adds notes on changes at the other ends of cables, or preparing them, that come before their device's own
  // wave.
  void tell_early() {
    std::map<std::string_view, std::set<std::uint32_t>> early;  // by role
    for (std::uint32_t n = 0; n < own_nodes_; ++n)
      if (!follows_changes(n) && graph_.nodes[n].wave < graph_.nodes[n].own_wave &&
          !no_canary_.contains(groups_.of[n]))
        early[role(n)].insert(graph_.nodes[n].device);
    for (const auto& [role, devices] : early)
      graph_.notes.push_back(
          devices.size() == 1
              ? fmt::format(
                    "1 device of role {} is changed in part before the policy's wave for it: the other "
                    "ends of its cables change then",
                    role)
              : fmt::format(
                    "{} devices of role {} are changed in part before the policy's wave for them: the "
                    "other ends of their cables change then",
                    devices.size(), role));
  }

  // A remedy that goes into the wave of changes near it, and shifts no other wave.
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
        const auto a = traffic_.find(cable.a.device);
        const auto b = traffic_.find(cable.b.device);
        if (!a || !b) continue;
        earlier(near[*a], first[*b]);
        earlier(near[*b], first[*a]);
      }
    for (const std::uint32_t n : placed) {
      OrderNode& node = graph_.nodes[n];
      const bool at_first = atoms_[node.device].atoms[node.atom].when == Atom::When::with_changes;
      node.wave = node.own_wave = at_first ? std::max(1U, near[node.device]) : last;
    }
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
  const Columns& columns_;
  const std::vector<bool>& is_peer_ordered_;
  Traffic& traffic_;
  OrderGraph& graph_;
  std::size_t own_nodes_ = 0;
  std::vector<Nodes> ends_;  // nodes that must be in one wave
  Nodes servers_;            // nodes that tie the ends of several cables of their device
  TiedGroups groups_;
  std::set<std::uint32_t> no_canary_;  // groups with a note about it
  std::vector<std::uint32_t> stage_;   // by group
  std::vector<OwnRank> rank_;          // by device
  std::vector<std::uint32_t> phase_;   // by group
  std::uint32_t waves_of_phase_ = 1;   // at most
  std::vector<std::uint32_t> wanted_;  // wave, by group
};

}  // namespace

void give_waves(const PlanInput& input, const std::vector<DeviceAtoms>& atoms, const Columns& columns,
                const std::vector<bool>& is_peer_ordered, Traffic& traffic, OrderGraph& graph) {
  Waves(input, atoms, columns, is_peer_ordered, traffic, graph).give_waves();
}

}  // namespace lockstep
