#include "reconciler/engine/order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "reconciler/engine/ladders.hpp"
#include "reconciler/engine/waves.hpp"

namespace lockstep {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

class Orderer {
 public:
  Orderer(const PlanInput& input, const std::vector<DeviceAtoms>& atoms, const Columns& columns)
      : input_(input), atoms_(atoms), columns_(columns), traffic_(input, columns) {}

  Result<OrderGraph> order() {
    add_nodes();
    find_ties();
    if (!follow_ladders(order_of_stages(staged_nodes()))) return cycle();
    give_waves(input_, atoms_, columns_, is_peer_ordered_, traffic_, graph_);
    return std::move(graph_);
  }

 private:
  const Atom& atom_of(const OrderNode& node) const { return atoms_[node.device].atoms[node.atom]; }

  const AtomChange* first_change(const OrderNode& node) const {
    const auto& changes = atom_of(node).changes;
    return changes.empty() ? nullptr : &changes.front();
  }

  // The cable that all changes of an atom belong to, if there is one.
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
      for (const AtomChange& change : atom_of(node).changes)
        if (!change.transient) matters.insert(link_matter(columns_.row(change.path.row())));
      matters.erase(LinkMatter::none);
      for (const LinkMatter matter : matters) ends[{node.cable, matter}].push_back(n);
    }
    for (auto& [what, nodes] : ends) {
      const auto removals = std::ranges::stable_partition(
          nodes, [this](std::uint32_t n) { return atom_of(graph_.nodes[n]).half != Half::removes; });
      std::vector<std::uint32_t> removed(removals.begin(), removals.end());
      if (is_of_two_devices(graph_, removed)) {
        nodes.erase(removals.begin(), removals.end());
        graph_.ties.push_back({what.second, std::move(removed)});
      }
      if (is_of_two_devices(graph_, nodes)) graph_.ties.push_back({what.second, std::move(nodes)});
    }
  }

  bool is_host(std::uint32_t node) const { return input_.devices[graph_.nodes[node].device].role == "host"; }

  bool joins_a_host(const OrderNode& node) const {
    if (node.cable == kNoCable) return false;
    const auto ends_at_host = [this](const PortName& end) {
      const auto device = traffic_.find(end.device);
      return device && input_.devices[*device].role == "host";
    };
    const Cable& cable = input_.wiring->cables[node.cable];
    return ends_at_host(cable.a) || ends_at_host(cable.b);
  }

  // A node that is held because of the far end of a host's cable does not make other nodes wait.
  std::vector<StagedNode> staged_nodes() const {
    std::vector<StagedNode> out;
    for (std::uint32_t n = 0; n < own_nodes_; ++n) {
      const OrderNode& node = graph_.nodes[n];
      const Atom& atom = atom_of(node);
      const bool joins = joins_a_host(node);
      if (!atom.far_ends.empty() && joins) continue;
      const PortSide side = is_host(n) ? PortSide::host : joins ? PortSide::to_host : PortSide::to_switch;
      for (const Stage& at : stages_of(atom, side, columns_)) out.push_back({n, is_host(n), at});
    }
    return out;
  }

  // Uses all ladders, or drops those that make a cycle, most important first. False: references make a cycle.
  bool follow_ladders(const std::vector<LadderOrder>& stages) {
    std::set<Ladder> kept;
    for (const DeviceAtoms& device : atoms_)
      for (const LadderEdge& one : device.rungs) kept.insert(one.ladder);
    for (const LadderOrder& one : stages) kept.insert(one.ladder);
    connect(stages, kept);
    if (sort()) return true;
    const std::set<Ladder> all = std::exchange(kept, {});
    connect(stages, kept);
    if (!sort()) return false;
    for (const Ladder one : all) {
      kept.insert(one);
      connect(stages, kept);
      if (sort()) continue;
      kept.erase(one);
      graph_.notes.push_back(fmt::format(
          "the order of {} was given up: it contradicts that of references, or another", name_of(one)));
    }
    connect(stages, kept);
    return sort();
  }

  // One node between two stages instead of an edge for every pair.
  void connect(const std::vector<LadderOrder>& stages, const std::set<Ladder>& kept) {
    graph_.nodes.resize(own_nodes_);
    graph_.after.assign(own_nodes_, {});
    is_peer_ordered_.assign(own_nodes_, false);
    for (const auto& [first, second] : references_) graph_.after[first].push_back(second);
    for (std::uint32_t d = 0; d < atoms_.size(); ++d)
      for (const LadderEdge& one : atoms_[d].rungs)
        if (kept.contains(one.ladder))
          graph_.after[first_node_[d] + one.first].push_back(first_node_[d] + one.second);
    for (const LadderOrder& order : stages) {
      if (!kept.contains(order.ladder)) continue;
      for (const std::uint32_t n : order.across) is_peer_ordered_[n] = true;
      for (const LadderBarrier& one : order.barriers) {
        const auto barrier = static_cast<std::uint32_t>(graph_.nodes.size());
        graph_.nodes.push_back(OrderNode{.device = kBarrier});
        for (const std::uint32_t n : one.before) graph_.after[n].push_back(barrier);
        graph_.after.push_back(one.after);
      }
    }
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
      if (change == nullptr || those.size() > 200) continue;  // names for about one line
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
  std::size_t own_nodes_ = 0;
  Edges references_;
  std::vector<std::uint32_t> in_cycle_;
  std::vector<bool> is_peer_ordered_;
};

}  // namespace

bool is_of_two_devices(const OrderGraph& graph, const std::vector<std::uint32_t>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [&](std::uint32_t n) {
    return graph.nodes[n].device != graph.nodes[nodes.front()].device;
  });
}

Result<OrderGraph> make_order(const PlanInput& input, const std::vector<DeviceAtoms>& atoms,
                              const Columns& columns) {
  return Orderer(input, atoms, columns).order();
}

}  // namespace lockstep
