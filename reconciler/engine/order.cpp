#include "reconciler/engine/order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "reconciler/engine/far_ends.hpp"
#include "reconciler/engine/waves.hpp"

namespace lockstep {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

class Orderer {
 public:
  Orderer(const PlanInput& input, const std::vector<DeviceAtoms>& atoms, const Columns& columns)
      : input_(input), atoms_(atoms), columns_(columns), traffic_(input, columns) {
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
    give_waves(input_, atoms_, columns_, is_peer_ordered_, traffic_, graph_);
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

  void add_nodes() {
    for (std::uint32_t d = 0; d < atoms_.size(); ++d) {
      first_node_.push_back(static_cast<std::uint32_t>(graph_.nodes.size()));
      const DeviceInput& device = input_.devices[d];
      for (std::uint32_t a = 0; a < atoms_[d].atoms.size(); ++a) {
        const Atom& atom = atoms_[d].atoms[a];
        OrderNode node{.device = d, .atom = a, .cable = cable_of(device, atom)};
        if (atom.disruption >= Disruption::traffic)
          node.live = node.cable != kNoCable && atom.disruption == Disruption::traffic
                          ? traffic_.at(d, atom.changes.front().path.key(0))
                          : traffic_.at(d);
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

  const PlanInput& input_;
  const std::vector<DeviceAtoms>& atoms_;
  const Columns& columns_;
  OrderGraph graph_;
  std::vector<std::uint32_t> first_node_;
  Traffic traffic_;
  std::unordered_map<std::string_view, std::uint32_t> index_;
  std::size_t own_nodes_ = 0;
  Edges references_;
  std::vector<std::uint32_t> in_cycle_;
  std::vector<bool> is_peer_ordered_;
};

}  // namespace

Result<OrderGraph> make_order(const PlanInput& input, const std::vector<DeviceAtoms>& atoms,
                              const Columns& columns) {
  return Orderer(input, atoms, columns).order();
}

}  // namespace lockstep
