#include "reconciler/engine/causes.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "specs/model/diff.hpp"
#include "specs/model/ip.hpp"
#include "specs/model/schema_rows.hpp"
#include "specs/model/sysctl_cascade.hpp"

namespace lockstep {
namespace {

using Nodes = std::vector<std::size_t>;

// A difference, or something that could not be read.
struct Node {
  const DriftEntry* item = nullptr;        // null: unread
  const Unobserved* unobserved = nullptr;  // null: a difference
  std::string device;
  std::optional<Path> path;  // none: the device as a whole
  std::string port;          // if cabled; empty: not at a cabled port

  const Row* row() const { return path ? &schema_row(path->row()) : nullptr; }
  bool tells(Tells what) const { return path && row()->tells == what; }
  bool is_absent() const { return item != nullptr && item->want && !item->have; }
  bool is_setting() const { return item != nullptr && row()->facet != Facet::effect; }
  // The device as a whole, or everything that one of its drivers reads.
  bool is_unread_device() const { return unobserved != nullptr && !path; }
  bool is_unreachable() const { return is_unread_device() && unobserved->whole; }
};

Problem::Kind kind_of(const Node& node) {
  if (node.item == nullptr) return node.is_unreachable() ? Problem::Kind::unreachable : Problem::Kind::unread;
  switch (node.row()->tells) {
    case Tells::daemon: return Problem::Kind::daemon;
    case Tells::port:
    case Tells::carrier: return Problem::Kind::port;
    case Tells::neighbor: return node.item->have ? Problem::Kind::cabling : Problem::Kind::symptom;
    case Tells::session:
    case Tells::of_session:
    case Tells::routes: return Problem::Kind::symptom;
    case Tells::other: break;
  }
  return node.is_setting() ? Problem::Kind::setting : Problem::Kind::symptom;
}

// "via 10.64.0.0 dev rail0": rail0.
std::string_view port_of_hop(std::string_view hop) {
  constexpr std::string_view kDev = "dev ";
  const std::size_t at = hop.rfind(kDev);
  return at == std::string_view::npos ? hop : hop.substr(at + kDev.size());
}

// The prefix in a key: "10.64.0.0/25", "main:10.64.0.0/25".
std::optional<IpPrefix> prefix_in(std::string_view key) {
  const auto whole = IpPrefix::parse(key);
  const std::size_t colon = key.find(':');
  return whole || colon == std::string_view::npos ? whole : IpPrefix::parse(key.substr(colon + 1));
}

bool overlap(std::string_view key, std::string_view other) {
  const auto a = prefix_in(key);
  const auto b = prefix_in(other);
  return a && b && a->network().overlaps(b->network());
}

class Causes {
 public:
  Causes(const DriftReport& report, const Wiring& wiring) : report_(report), wiring_(wiring) {
    for (const DriftEntry& item : report.items)
      add(item.is_difference() ? Node{&item, nullptr, item.device, item.path, ""} : Node{});
    for (const Unobserved& one : report.unobserved) {
      Node node{nullptr, &one, one.device, std::nullopt, ""};
      if (const auto path = Path::parse(one.path)) node.path = *path;
      add(one.maintenance.empty() ? std::move(node) : Node{});
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) because_.push_back(may_explain(i));
  }

  std::vector<Problem> problems() {
    std::map<std::size_t, Nodes> explained;  // by cause
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].device.empty()) continue;
      Nodes& of = explained[cause_of(i)];
      of.push_back(i);
    }
    // Causes with the same root.
    std::map<std::string, std::set<std::size_t>> together;
    for (const auto& [cause, those] : explained) together[thing_of(cause, those.size() > 1)].insert(cause);
    std::vector<std::pair<std::size_t, Problem>> all;  // with the first of its nodes
    for (const auto& [thing, causes] : together)
      all.emplace_back(*causes.begin(), problem(causes, explained));
    std::ranges::sort(all, {}, [](const auto& one) {
      const auto& [first, problem] = one;
      return std::tuple(problem.kind >= Problem::Kind::setting, -std::ssize(problem.explains.items),
                        problem.kind, first);
    });
    std::vector<Problem> out;
    for (auto& [first, one] : all) out.push_back(std::move(one));
    return out;
  }

 private:
  void add(Node node) {
    const std::size_t id = nodes_.size();
    if (node.path && node.path->key_count() > 0 &&
        wiring_.cable_at(node.device, node.path->key(0)).has_value())
      node.port = std::string(node.path->key(0));
    if (!node.device.empty()) {
      of_device_[node.device].push_back(id);
      if (node.is_unread_device() || node.tells(Tells::daemon)) grave_[node.device].push_back(id);
      if (node.is_absent()) absent_[{node.device, node.path->row()}].push_back(id);
      if (!node.port.empty()) of_port_[{node.device, node.port}].push_back(id);
    }
    nodes_.push_back(std::move(node));
  }

  const Nodes& at(const std::string& device) const { return found(of_device_, device); }
  const Nodes& at(const PortName& port) const { return found(of_port_, port); }
  template <class Map, class Key>
  static const Nodes& found(const Map& map, const Key& key) {
    static const Nodes kNone;
    const auto one = map.find(key);
    return one == map.end() ? kNone : one->second;
  }

  template <class Is>
  void take(const Nodes& from, Nodes& into, Is is) const {
    for (const std::size_t one : from)
      if (is(nodes_[one])) into.push_back(one);
  }

  // The daemons of a device that an entry rests on, and the device itself if it is unreachable.
  void take_daemons(const std::string& device, const Row& row, Nodes& into) const {
    take(found(grave_, device), into, [&row](const Node& one) {
      return one.is_unreachable() ||
             (one.item != nullptr && row.rests_on.find(one.path->text()) != std::string_view::npos);
    });
  }

  // What takes a link down, at both ends of its cable.
  void take_link(const PortName& port, bool with_carrier, Nodes& into) const {
    const auto is_down = [with_carrier](const Node& one) {
      return one.tells(Tells::port) || (with_carrier && one.tells(Tells::carrier));
    };
    take(at(port), into, is_down);
    const PortName* const far = wiring_.peer(port.device, port.port);
    if (far == nullptr) return;
    take(at(*far), into, is_down);
    take(at(far->device), into, [](const Node& one) { return one.is_unreachable(); });
  }

  // Whether a port is connected to another one than the specs define.
  static bool is_miscabled(const Node& one) {
    return one.tells(Tells::neighbor) && one.item != nullptr && one.item->have;
  }

  Nodes may_explain(std::size_t id) const {
    const Node& node = nodes_[id];
    Nodes out;
    if (node.is_unread_device())
      take(found(grave_, node.device), out, [](const Node& one) { return one.tells(Tells::daemon); });
    if (!node.path) return out;
    const Row& row = *node.row();
    // A value that was read and differs was set by another writer, not by a daemon's failure.
    if (row.tells != Tells::daemon && !(node.is_setting() && node.item->have))
      take_daemons(node.device, row, out);
    for (const RowId needed : wholes_of(node.path->row()))
      take(found(absent_, std::pair(node.device, needed)), out,
           [&](const Node& one) { return has_keys_of(node, one); });
    const PortName here{node.device, node.port};
    switch (row.tells) {
      case Tells::daemon:
      case Tells::port: break;
      case Tells::carrier: take_link(here, false, out); break;
      case Tells::neighbor: add_neighbor(node, here, out); break;
      case Tells::session:
      case Tells::of_session: add_session(node, here, out); break;
      case Tells::routes: add_routes(node, out); break;
      case Tells::other: add_setting(node, out); break;
    }
    std::erase(out, id);
    return out;
  }

  // Rows that an entry is a part of, and the row that it refers to.
  static const std::vector<RowId>& wholes_of(RowId id) {
    static const auto kWholes = [] {
      std::vector<std::vector<RowId>> all(kSchema.size());
      for (std::size_t row = 0; row < kSchema.size(); ++row)
        for (std::size_t other = 0; other < kSchema.size(); ++other)
          if (kSchema[row].is_part_of(kSchema[other].pattern) ||
              kSchema[row].refers_to == kSchema[other].pattern)
            all[row].push_back(static_cast<RowId>(other));
      return all;
    }();
    return kWholes[id];
  }

  static bool has_keys_of(const Node& node, const Node& absent) {
    const std::size_t keys = std::min(absent.path->key_count(), node.path->key_count());
    for (std::size_t i = 0; i < keys; ++i)
      if (absent.path->key_id(i) != node.path->key_id(i)) return false;
    return true;
  }

  void add_neighbor(const Node& node, const PortName& here, Nodes& out) const {
    if (is_miscabled(node)) return;
    take_link(here, true, out);
    const PortName* const far = wiring_.peer(here.device, here.port);
    if (far == nullptr) return;
    take_daemons(far->device, *node.row(), out);
    take(at(*far), out, is_miscabled);
  }

  void add_session(const Node& node, const PortName& here, Nodes& out) const {
    take_link(here, true, out);
    const auto breaks = [&node](const Node& one) {
      if (is_miscabled(one)) return true;
      if (!one.is_setting() || !shares_stem(*node.row(), *one.row())) return false;
      return one.path->key_count() == 0 || !one.port.empty();
    };
    take(at(here), out, breaks);
    take(at(here.device), out, [&](const Node& one) { return one.port.empty() && breaks(one); });
    if (node.tells(Tells::of_session))
      take(at(here), out, [](const Node& one) { return one.tells(Tells::session); });
    const PortName* const far = wiring_.peer(here.device, here.port);
    if (far == nullptr) return;
    take(at(*far), out, breaks);
    take(at(far->device), out, [&](const Node& one) { return one.port.empty() && breaks(one); });
    take_daemons(far->device, *node.row(), out);
  }

  // By the missing next hops: the path to them, and what their devices know about the prefix.
  void add_routes(const Node& node, Nodes& out) const {
    const std::string_view prefix = node.path->key(0);
    take(at(node.device), out, [&](const Node& one) {
      if (!one.is_setting()) return false;
      if (one.row()->rests_on == node.row()->rests_on) return one.port.empty();  // of the device's routing
      return one.path->key_count() > 0 && overlap(one.path->key(one.path->key_count() - 1), prefix);
    });
    for (const std::string& hop : missing_hops(node)) {
      const PortName here{node.device, std::string(port_of_hop(hop))};
      take_link(here, true, out);
      take(at(here), out, [&](const Node& one) {
        return one.tells(Tells::session) || is_miscabled(one) ||
               (one.is_setting() && one.row()->rests_on == node.row()->rests_on);
      });
      const PortName* const far = wiring_.peer(here.device, here.port);
      if (far == nullptr) continue;
      take_daemons(far->device, *node.row(), out);
      take(at(far->device), out, [&](const Node& one) {
        if (one.tells(Tells::routes)) return overlap(one.path->key(0), prefix);
        if (!one.is_setting()) return false;
        if (one.row()->rests_on == node.row()->rests_on) return one.port.empty();
        return one.path->key_count() > 1 && overlap(one.path->key(1), prefix);  // an address there
      });
    }
  }

  // If only the number of paths is known, any of them may be missing.
  std::vector<std::string> missing_hops(const Node& node) const {
    if (node.item == nullptr) return {};
    if (node.item->want.kind() == Value::Kind::list) return beyond(node.item->have, node.item->want);
    std::set<std::string> ports;
    for (const std::size_t one : at(node.device))
      if (nodes_[one].tells(Tells::session)) ports.insert(nodes_[one].port);
    return {ports.begin(), ports.end()};
  }

  void add_setting(const Node& node, Nodes& out) const {
    const Row& row = *node.row();
    if (is_kernel_parameter(row))
      take(at(node.device), out, [&](const Node& one) {
        return one.is_setting() && one.row() == &row && sets_too(one.path->key(0), node.path->key(0));
      });
    if (!row.saves.empty())  // not saved, because something else than the specs define is there
      take(at(node.device), out,
           [&](const Node& one) { return one.is_setting() && one.row()->is_saved_by(row.saves); });
    if (!row.is_of_port() && node.item != nullptr)
      for (const std::string& hop : beyond(node.item->have, node.item->want)) {
        const PortName over{node.device, std::string(port_of_hop(hop))};
        take(at(over), out, [](const Node& one) {
          return one.tells(Tells::port) || one.tells(Tells::carrier) ||
                 (one.is_absent() && one.row()->collection);
        });
      }
  }

  // Whether both belong to one protocol: "bgp/neighbor[*]/session" and "bgp/asn".
  static bool shares_stem(const Row& one, const Row& other) {
    const auto stem = [](std::string_view pattern) { return pattern.substr(0, pattern.find_first_of("/[")); };
    return stem(one.pattern) == stem(other.pattern);
  }

  // The nearest cause that has no cause itself; in a cycle, the one with the lowest rank.
  std::size_t cause_of(std::size_t id) const {
    std::set<std::size_t> seen{id};
    Nodes now{id};
    std::size_t in_circle = id;
    while (!now.empty()) {
      Nodes ends;
      Nodes next;
      for (const std::size_t one : now) {
        if (because_[one].empty()) ends.push_back(one);
        if (rank(one) < rank(in_circle)) in_circle = one;
        for (const std::size_t further : because_[one])
          if (seen.insert(further).second) next.push_back(further);
      }
      if (!ends.empty())
        return *std::ranges::min_element(ends, {}, [this](std::size_t one) { return rank(one); });
      now = std::move(next);
    }
    return in_circle;
  }
  std::tuple<Problem::Kind, RowId, std::size_t> rank(std::size_t id) const {
    const Node& node = nodes_[id];
    return {kind_of(node), node.path ? node.path->row() : RowId{0}, id};
  }

  // The key under which causes with one remedy are grouped.
  std::string thing_of(std::size_t cause, bool explains) const {
    const Node& node = nodes_[cause];
    const std::string kind = std::to_string(static_cast<int>(kind_of(node))) + " ";
    switch (kind_of(node)) {
      case Problem::Kind::unreachable: return kind + node.unobserved->why;
      case Problem::Kind::unread: return kind + node.device + " " + node.unobserved->why;
      case Problem::Kind::daemon: return kind + node.device + node.path->text();
      case Problem::Kind::cabling: return kind + swapped_with(node);
      case Problem::Kind::port:
      case Problem::Kind::symptom:
        if (const auto cable = wiring_.cable_at(node.device, node.port); cable && !node.port.empty())
          return kind + std::string(node.row()->pattern) + " " + std::to_string(*cable);
        return kind + node.device + node.path->text();
      case Problem::Kind::setting: break;
    }
    // The same setting on many ports and devices; or an address that replaced another one.
    const Row& row = *node.row();
    if (!node.item->reason.empty()) return kind + "\t" + node.item->reason;
    if ((row.collection && !node.port.empty()) || explains)
      return kind + node.device + ":" + node.port + " " + std::string(row.pattern);
    std::string keys;
    for (std::size_t i = node.port.empty() ? 0 : 1; i < node.path->key_count(); ++i)
      keys += "\t" + std::string(node.path->key(i));
    return kind + std::string(row.pattern) + keys + "\t" + node.item->want.to_string() + "\t" +
           node.item->have.to_string();
  }

  // The lowest of the ports that are connected in each other's place.
  std::string swapped_with(const Node& node) const {
    std::set<std::string> ports{node.device + ":" + node.port};
    std::vector<std::string> open{*ports.begin()};
    const auto reach = [&](const std::string& port) {
      if (ports.insert(port).second) open.push_back(port);
    };
    while (!open.empty()) {
      const std::string port = std::exchange(open.back(), {});
      open.pop_back();
      for (const Node& one : nodes_) {
        if (!is_miscabled(one)) continue;
        const std::string self = one.device + ":" + one.port;
        const std::string want(one.item->want.to_string());
        const std::string have(one.item->have.to_string());
        if (self != port && want != port && have != port) continue;
        for (const std::string& other : {self, want, have}) reach(other);
      }
    }
    return *ports.begin();
  }

  Problem problem(const std::set<std::size_t>& causes, const std::map<std::size_t, Nodes>& explained) const {
    Problem out;
    out.kind = kind_of(nodes_[*causes.begin()]);
    const auto put = [this](std::size_t node, Findings& into) {
      if (node < report_.items.size())
        into.items.push_back(node);
      else
        into.unobserved.push_back(node - report_.items.size());
    };
    for (const std::size_t cause : causes)
      for (const std::size_t one : explained.at(cause))
        put(one, causes.contains(one) ? out.cause : out.explains);
    return out;
  }

  const DriftReport& report_;
  const Wiring& wiring_;
  std::vector<Node> nodes_;  // the report's items, then what is unobserved; without a device: no difference
  std::vector<Nodes> because_;
  std::map<std::string, Nodes> of_device_;
  std::map<std::string, Nodes> grave_;  // by device: daemons, and unreachability
  std::map<std::pair<std::string, RowId>, Nodes> absent_;
  std::map<PortName, Nodes> of_port_;
};

}  // namespace

DriftReport report_of(const std::vector<OpenEffect>& open, const Wiring& wiring) {
  DriftReport out;
  for (const OpenEffect& one : open) {
    if (!one.unread.empty()) {
      out.unobserved.push_back({one.device, one.change.path.text(), one.unread});
      continue;
    }
    DriftEntry& item = out.items.emplace_back();
    item.device = one.device;
    item.path = one.change.path;
    item.want = one.change.want;
    item.have = one.change.was;
    item.state = DriftState::effect;
  }
  out.problems = problems_of(out, wiring);
  return out;
}

std::vector<Problem> problems_of(const DriftReport& report, const Wiring& wiring) {
  return Causes(report, wiring).problems();
}

}  // namespace lockstep
