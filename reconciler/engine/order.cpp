#include "reconciler/engine/order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "reconciler/engine/far_ends.hpp"

namespace lockstep {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// Where traffic flows now, as far as the device's own tree tells: members of collections whose removal would
// disturb traffic (addresses, neighbours, routes) are what makes a port or a device carry any: those that are
// wanted, or, of a device that none are wanted of, those that are there and are nobody's here. Where there
// are none (a port that only switches frames), the tree can't tell.
struct Traffic {
  bool device = false;
  std::set<std::string_view> ports;  // first keys
  bool device_told = false;
  std::set<std::string_view> ports_told;
};

Traffic traffic_of(const DeviceInput& device, const Columns& columns) {
  Traffic traffic;
  if (device.intent == nullptr || device.observation == nullptr) return traffic;
  const auto tell = [&traffic](Path path, bool is_there) {
    traffic.device_told = true;
    if (is_there) traffic.device = true;
    if (path.key_count() == 0) return;
    traffic.ports_told.insert(path.key(0));
    if (is_there) traffic.ports.insert(path.key(0));
  };
  const Tree& there = device.observation->have;
  for (const RowId row : columns.traffic_collections())
    for (const Entry& want : device.intent->want.of_row(row))
      // What could not be read may well be there.
      tell(want.path, there.value(want.path) || is_unread(device.observation->unread, want.path));
  if (traffic.device_told) return traffic;
  for (const RowId row : columns.traffic_collections())
    for (const Entry& have : there.of_row(row))
      if (claim_of(*device.intent, have.path) == nullptr) tell(have.path, true);
  return traffic;
}

// Ends of cables that push each other through a barrier could grow for ever; after this many rounds all is
// one wave.
constexpr std::size_t kWaveRoundsMax = 64;

class Orderer {
 public:
  Orderer(const PlanInput& input, const std::vector<DeviceAtoms>& atoms, const Columns& columns)
      : input_(input), atoms_(atoms), columns_(columns), traffic_(input.devices.size()) {
    for (std::uint32_t d = 0; d < input.devices.size(); ++d) index_.emplace(input.devices[d].name, d);
  }

  Result<OrderGraph> order() {
    add_nodes();
    find_ties();
    Edges peers = peer_edges();
    connect(peers);
    if (!sort()) {
      graph_.notes.push_back(
          "the order across links was given up where it contradicts the order of references");
      connect({});
      if (!sort()) return cycle();
    }
    give_waves();
    return std::move(graph_);
  }

 private:
  const AtomChange* first_change(const OrderNode& node) const {
    const auto& changes = atoms_[node.device].atoms[node.atom].changes;
    return changes.empty() ? nullptr : &changes.front();
  }

  // The cable that all changes of an atom are about, if there is one.
  std::uint32_t cable_of(const DeviceInput& device, const Atom& atom) const {
    std::uint32_t cable = kNoCable;
    if (input_.wiring == nullptr) return cable;
    for (const AtomChange& change : atom.changes) {
      if (change.path.key_count() == 0) return kNoCable;
      const auto at = input_.wiring->cable_at(device.name, change.path.key(0));
      if (!at || (cable != kNoCable && cable != *at)) return kNoCable;
      cable = *at;
    }
    return cable;
  }

  const Traffic& traffic(std::uint32_t device) {
    auto& known = traffic_[device];
    if (!known) known = traffic_of(input_.devices[device], columns_);
    return *known;
  }

  // As the device at that end of a cable reports. A device that we know nothing of, or that was not observed
  // this time, may well use its port.
  bool end_carries_traffic(const PortName& end) {
    const auto device = index_.find(end.device);
    return device == index_.end() || input_.devices[device->second].observation == nullptr ||
           traffic(device->second).ports.contains(end.port);
  }

  bool carries_traffic(std::uint32_t device, std::string_view port) {
    const Traffic& own = traffic(device);
    if (own.ports_told.contains(port)) return own.ports.contains(port);
    const PortName* const peer =
        input_.wiring != nullptr ? input_.wiring->peer(input_.devices[device].name, port) : nullptr;
    return peer != nullptr && end_carries_traffic(*peer);
  }

  bool carries_traffic(std::uint32_t device) {
    const Traffic& own = traffic(device);
    if (own.device_told || input_.wiring == nullptr) return own.device;
    if (ends_at_.empty())
      for (const Cable& cable : input_.wiring->cables) {
        ends_at_[cable.a.device].push_back(&cable.b);
        ends_at_[cable.b.device].push_back(&cable.a);
      }
    const auto& ends = ends_at_[input_.devices[device].name];
    return std::any_of(ends.begin(), ends.end(),
                       [this](const PortName* end) { return end_carries_traffic(*end); });
  }

  void add_nodes() {
    for (std::uint32_t d = 0; d < atoms_.size(); ++d) {
      first_node_.push_back(static_cast<std::uint32_t>(graph_.nodes.size()));
      const DeviceInput& device = input_.devices[d];
      for (std::uint32_t a = 0; a < atoms_[d].atoms.size(); ++a) {
        const Atom& atom = atoms_[d].atoms[a];
        OrderNode node{.device = d, .atom = a, .cable = cable_of(device, atom)};
        if (atom.disruption >= Disruption::traffic)
          node.live = node.cable != kNoCable && atom.disruption == Disruption::traffic
                          ? carries_traffic(d, atom.changes.front().path.key(0))
                          : carries_traffic(d);
        graph_.nodes.push_back(node);
      }
      for (const auto& [first, second] : atoms_[d].order)
        references_.emplace_back(first_node_[d] + first, first_node_[d] + second);
    }
    own_nodes_ = graph_.nodes.size();
  }

  // What must be alike at both ends of a cable, and changes at both.
  void find_ties() {
    std::map<std::pair<std::uint32_t, LinkMatter>, std::vector<std::uint32_t>> ends;
    for (std::uint32_t n = 0; n < own_nodes_; ++n) {
      const OrderNode& node = graph_.nodes[n];
      if (node.cable == kNoCable) continue;
      std::set<LinkMatter> matters;
      for (const AtomChange& change : atoms_[node.device].atoms[node.atom].changes)
        if (!change.transient) matters.insert(link_matter(columns_.row(change.path.row())));
      matters.erase(LinkMatter::none);
      for (const LinkMatter matter : matters) ends[{node.cable, matter}].push_back(n);
    }
    for (auto& [what, nodes] : ends)
      if (is_of_two_devices(nodes)) graph_.ties.push_back({what.second, std::move(nodes)});
  }

  bool is_of_two_devices(const std::vector<std::uint32_t>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](std::uint32_t n) {
      return graph_.nodes[n].device != graph_.nodes[nodes.front()].device;
    });
  }

  // An atom that both adds and takes away counts as adding: what is added must be accepted first.
  First side_of(const Atom& atom, RowId& row) const {
    First side = First::neither;
    for (const AtomChange& change : atom.changes) {
      const First one = first_side(change, columns_.row(change.path.row()).peer_order);
      if (one == First::neither || side == First::switches) continue;
      side = one;
      row = change.path.row();
    }
    return side;
  }

  bool joins_a_host(const OrderNode& node) const {
    if (node.cable == kNoCable) return false;
    const auto is_host = [this](const PortName& end) {
      const auto device = index_.find(end.device);
      return device != index_.end() && input_.devices[device->second].role == "host";
    };
    const Cable& cable = input_.wiring->cables[node.cable];
    return is_host(cable.a) || is_host(cable.b);
  }

  // One node between the two sides instead of an edge for every pair. What is held for the far end of a
  // host's cable keeps nobody else waiting.
  Edges peer_edges() {
    struct Sides {
      std::vector<std::uint32_t> switches;
      std::vector<std::uint32_t> hosts;
    };
    std::map<std::pair<PeerOrder, First>, Sides> groups;
    is_peer_ordered_.assign(own_nodes_, false);
    for (std::uint32_t n = 0; n < own_nodes_; ++n) {
      RowId row = 0;
      const Atom& atom = atoms_[graph_.nodes[n].device].atoms[graph_.nodes[n].atom];
      const First side = side_of(atom, row);
      if (side == First::neither || (!atom.far_ends.empty() && joins_a_host(graph_.nodes[n]))) continue;
      Sides& sides = groups[{columns_.row(row).peer_order, side}];
      (input_.devices[graph_.nodes[n].device].role == "host" ? sides.hosts : sides.switches).push_back(n);
    }
    Edges edges;
    for (const auto& [what, sides] : groups) {
      if (sides.switches.empty() || sides.hosts.empty()) continue;
      for (const auto* side : {&sides.switches, &sides.hosts})
        for (const std::uint32_t n : *side) is_peer_ordered_[n] = true;
      const auto barrier = static_cast<std::uint32_t>(graph_.nodes.size());
      graph_.nodes.push_back(OrderNode{.device = kBarrier});
      const bool switches_first = what.second == First::switches;
      for (const std::uint32_t n : switches_first ? sides.switches : sides.hosts)
        edges.emplace_back(n, barrier);
      for (const std::uint32_t n : switches_first ? sides.hosts : sides.switches)
        edges.emplace_back(barrier, n);
    }
    return edges;
  }

  void connect(const Edges& peers) {
    if (peers.empty()) graph_.nodes.resize(own_nodes_);
    graph_.after.assign(graph_.nodes.size(), {});
    for (const auto& [first, second] : references_) graph_.after[first].push_back(second);
    for (const auto& [first, second] : peers) graph_.after[first].push_back(second);
  }

  bool sort() {
    std::vector<std::uint32_t> waits(graph_.nodes.size(), 0);
    for (const auto& those : graph_.after)
      for (const std::uint32_t node : those) ++waits[node];
    graph_.topological.clear();
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n)
      if (waits[n] == 0) graph_.topological.push_back(n);
    for (std::size_t i = 0; i < graph_.topological.size(); ++i)
      for (const std::uint32_t node : graph_.after[graph_.topological[i]])
        if (--waits[node] == 0) graph_.topological.push_back(node);
    in_cycle_ = std::move(waits);
    return graph_.topological.size() == graph_.nodes.size();
  }

  Error cycle() const {
    std::string those;
    for (std::uint32_t n = 0; n < own_nodes_; ++n) {
      if (in_cycle_[n] == 0) continue;
      const AtomChange* const change = first_change(graph_.nodes[n]);
      if (change == nullptr || those.size() > 200) continue;  // a line's worth of names
      those += (those.empty() ? "" : ", ") + input_.devices[graph_.nodes[n].device].name + " " +
               change->path.text();
    }
    return Error{ErrorKind::invalid_spec, "these changes wait for each other: " + those};
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

  // Devices that carry traffic are spread over the waves of their policy, stage by stage, those that can lead
  // first: the others are in the last wave; a device that carries none has nothing to lose and goes first.
  void give_waves() {
    const std::vector<std::uint32_t> stage = stages();
    std::map<std::pair<const Policy*, std::uint32_t>, Spread> spread;
    for (std::uint32_t n = 0; n < own_nodes_; ++n) {
      if (follows_changes(n)) continue;
      const OrderNode& node = graph_.nodes[n];
      if (!carries_traffic(node.device)) continue;
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
  const Columns& columns_;
  OrderGraph graph_;
  std::vector<std::uint32_t> first_node_;
  std::vector<std::optional<Traffic>> traffic_;  // by device, once asked for
  std::unordered_map<std::string_view, std::uint32_t> index_;
  std::unordered_map<std::string_view, std::vector<const PortName*>> ends_at_;  // the far ends of its cables
  std::size_t own_nodes_ = 0;
  Edges references_;
  std::vector<std::uint32_t> in_cycle_;
  std::vector<bool> is_peer_ordered_;
  std::vector<std::vector<std::uint32_t>> ends_;  // nodes that are in one wave
};

}  // namespace

Result<OrderGraph> make_order(const PlanInput& input, const std::vector<DeviceAtoms>& atoms,
                              const Columns& columns) {
  return Orderer(input, atoms, columns).order();
}

}  // namespace lockstep
