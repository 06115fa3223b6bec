#include "reconciler/engine/far_ends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "reconciler/engine/ladders.hpp"

namespace lockstep {
namespace {

// The same entry at another port.
Path at_port(Path path, const std::string& port) {
  if (path.key_count() == 1) return Path(path.row(), {port});
  if (path.key_count() == 2) return Path(path.row(), {port, path.key(1)});
  return Path(path.row(), {port, path.key(1), path.key(2)});
}

class FarEnds {
 public:
  FarEnds(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms)
      : input_(input), columns_(columns), atoms_(atoms) {
    for (const DeviceInput& device : input.devices) {
      by_name_.emplace(device.name, &device);
      if (device.withheld != nullptr) withhold(device);
    }
  }

  void hold() {
    for (const DeviceInput& device : input_.devices)
      if (device.role == "host" && !device.unread.empty() && device.maintenance.empty())
        may_send_ =
            fmt::format("{} could not be read ({}), and may still send it", device.name, device.unread);
    hold_for_withheld();
    hold_for_unread();
    hold_senders();
    if (may_send_.empty()) return;
    each([this](const DeviceInput& device, const AtomChange& change, Atom& atom, const PortName& far) {
      if (side_of(change) == First::hosts && device.role != "host" && !is_host(far.device))
        add(atom, fmt::format("{} takes nothing away between switches: {}", change.path.text(), may_send_));
    });
  }

 private:
  // Records the differences at the ports of a device that may not be changed.
  void withhold(const DeviceInput& device) {
    for (const Change& change : *device.withheld) {
      const Row& row = columns_.row(change.path.row());
      if (change.path.key_count() == 0 || link_matter(row) == LinkMatter::none) continue;
      withheld_.emplace(device.name, change.path.key(0), link_matter(row));
      const AtomChange would{change.path, change.was, change.want, 0, false};
      if (device.role == "host" && device.maintenance.empty() && first_side(would, row) == First::hosts)
        may_send_ = fmt::format("{} may still send it, as {}", device.name, device.left_alone);
    }
  }

  void hold_for_withheld() {
    if (withheld_.empty()) return;
    each([this](const DeviceInput& device, const AtomChange& change, Atom& atom, const PortName& far) {
      const LinkMatter matter = link_matter(columns_.row(change.path.row()));
      if (change.transient || !withheld_.contains({far.device, far.port, matter})) return;
      hold_end(device, change, atom,
               fmt::format("{} differs too, and {}", far.text(), by_name_.at(far.device)->left_alone));
    });
  }

  First side_of(const AtomChange& change) const {
    return first_side(change, columns_.row(change.path.row()));
  }

  void hold_end(const DeviceInput& device, const AtomChange& change, Atom& atom, const std::string& why) {
    add(atom, fmt::format("{} is not changed at this end of its cable alone: {}", change.path.text(), why));
    if (device.role == "host" && side_of(change) != First::neither && may_send_.empty())
      may_send_ = fmt::format("{} may still send it, as its own part is held", device.name);
  }

  void hold_for_unread() {
    each([this](const DeviceInput& device, const AtomChange& change, Atom& atom, const PortName& far) {
      if (side_of(change) == First::neither) return;
      if (const std::string why = why_unread(far, change.path); !why.empty())
        hold_end(device, change, atom, fmt::format("{} could not be read ({})", far.text(), why));
    });
  }

  // A host sends as lossless what its port accepts as such: if that change is held, so is the sending.
  void hold_senders() {
    for (std::size_t d = 0; d < atoms_.size(); ++d) {
      if (input_.devices[d].role != "host") continue;
      std::set<std::string_view> held;  // ports
      for (const Atom& atom : atoms_[d].atoms)
        for (const AtomChange& change : atom.changes)
          if (!atom.far_ends.empty() && columns_.row(change.path.row()).crosses(Ladder::lossless))
            held.insert(change.path.key(0));
      if (!held.empty()) hold_senders(atoms_[d], held);
    }
  }

  void hold_senders(DeviceAtoms& device, const std::set<std::string_view>& held) const {
    for (Atom& atom : device.atoms)
      for (const AtomChange& change : atom.changes) {
        if (!columns_.row(change.path.row()).is_sent_as_lossless() || !change.want) continue;
        const bool of_port = change.path.key_count() > 0;
        if (!of_port || held.contains(change.path.key(0)))
          add(atom, fmt::format("{} is not changed before what port {} accepts as lossless",
                                change.path.text(), of_port ? change.path.key(0) : *held.begin()));
      }
  }

  // Calls back with every change at a port that is cabled.
  template <class Visit>
  void each(const Visit& visit) {
    for (std::size_t d = 0; d < atoms_.size(); ++d)
      for (Atom& atom : atoms_[d].atoms) {
        if (!atom.remedy.empty()) continue;
        for (const AtomChange& change : atom.changes) {
          if (change.path.key_count() == 0) continue;
          const PortName* const far = input_.wiring->peer(input_.devices[d].name, change.path.key(0));
          if (far != nullptr) visit(input_.devices[d], change, atom, *far);
        }
      }
  }

  // Empty: it was read, or not asked.
  std::string why_unread(const PortName& far, Path path) const {
    const auto device = by_name_.find(far.device);
    if (device == by_name_.end()) return "";
    if (!device->second->unread.empty()) return device->second->unread;
    if (device->second->observation == nullptr) return "";
    const Unread* const unread = unread_of(device->second->observation->unread, at_port(path, far.port));
    return unread == nullptr ? "" : unread->why.text();
  }

  bool is_host(const std::string& device) const {
    const auto found = by_name_.find(device);
    return found != by_name_.end() && found->second->role == "host";
  }

  static void add(Atom& atom, std::string why) {
    if (std::find(atom.far_ends.begin(), atom.far_ends.end(), why) == atom.far_ends.end())
      atom.far_ends.push_back(std::move(why));
  }

  const PlanInput& input_;
  const Columns& columns_;
  std::vector<DeviceAtoms>& atoms_;
  std::unordered_map<std::string_view, const DeviceInput*> by_name_;
  // Device, port and matter: differences where nothing may be changed.
  std::set<std::tuple<std::string_view, std::string_view, LinkMatter>> withheld_;
  std::string may_send_;  // which host may still send what is removed; empty: none
};

}  // namespace

First first_side(const AtomChange& change, const Row& row) {
  for (const Rung& rung : row.rungs) {
    if (!rung.crosses()) continue;
    const Way way = way_of(change, rung);
    if (way != Way::none) return way == Way::descends ? First::hosts : First::switches;
  }
  return First::neither;
}

void hold_for_far_ends(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms) {
  if (input.wiring != nullptr) FarEnds(input, columns, atoms).hold();
}

}  // namespace lockstep
