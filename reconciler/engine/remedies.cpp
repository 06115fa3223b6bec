#include "reconciler/engine/remedies.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

class RemedyPlanner {
 public:
  RemedyPlanner(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms)
      : input_(input), columns_(columns), atoms_(atoms) {
    for (std::size_t d = 0; d < input.devices.size(); ++d) index_.emplace(input.devices[d].name, d);
    if (input.wiring != nullptr)
      for (const Cable& cable : input.wiring->cables) {
        far_ends_[cable.a.device].push_back(&cable.b);
        far_ends_[cable.b.device].push_back(&cable.a);
      }
  }

  void add() {
    find_changing();
    for (std::size_t d = 0; d < atoms_.size(); ++d)
      if (!input_.devices[d].effects.empty() && input_.devices[d].remedy) add_for_open(d);
    find_disturbed();
    for (const std::size_t d : disturbed_)
      if (input_.devices[d].stands_by) add_standing(d);
  }

 private:
  // Devices with changes. A change that only saves causes no effect.
  void find_changing() {
    for (const DeviceInput& device : input_.devices)
      if (std::ranges::any_of(device.changes, [this](const Change& change) {
            return columns_.row(change.path.row()).saves.empty();
          }))
        changing_.insert(device.name);
  }

  // Whether one of the changes may be the cause of what is open there.
  bool may_be_caused_by_changes(const std::string& device, Path effect) const {
    if (changing_.contains(device) || (!changing_.empty() && follows_network(effect))) return true;
    const auto ends = far_ends_.find(device);
    return ends != far_ends_.end() && std::ranges::any_of(ends->second, [this](const PortName* far) {
             return changing_.contains(far->device);
           });
  }

  Atom& atom_of(std::size_t device, const std::string& driver, const Remedy::Offer& offer) {
    auto& all = atoms_[device].atoms;
    const auto [place, is_new] = known_.try_emplace({device, driver, offer.name}, all.size());
    if (!is_new) return all[place->second];
    Atom& atom = all.emplace_back();
    atom.driver = driver;
    atom.remedy = offer.name;
    atom.disruption = offer.disruption;
    atom.before_writes = offer.before_writes;
    if (offer.before_writes) atom.when = Atom::When::with_changes;
    atom.notes.push_back(offer.what_it_does);
    return atom;
  }

  void add_for_open(std::size_t d) {
    const DeviceInput& device = input_.devices[d];
    for (const Change& effect : device.effects) {
      const auto found = device.remedy(effect);
      if (!found) continue;
      Atom& atom = atom_of(d, found->first, found->second);
      if (!atom.before_writes && may_be_caused_by_changes(device.name, effect.path))
        atom.when = Atom::When::after_changes;
      atom.changes.push_back({effect.path, effect.was, effect.want, effect.origin, false});
    }
  }

  // Whether a device has routing sessions over a port: they are effects that follow the network.
  bool is_routed(std::size_t d, std::string_view port) {
    auto& ports = routed_[d];
    if (!ports) {
      ports.emplace();
      if (input_.devices[d].intent != nullptr)
        for (const Entry& want : input_.devices[d].intent->want.entries())
          if (follows_network(want.path) && want.path.key_count() > 0) ports->insert(want.path.key(0));
    }
    return ports->contains(port);
  }

  bool follows_network(Path path) const {
    const Row& row = columns_.row(path.row());
    return row.facet == Facet::effect && row.follows == Follows::network;
  }

  void disturb(const std::string& device, std::string_view port) {
    const auto found = index_.find(device);
    if (found != index_.end() && is_routed(found->second, port)) disturbed_.insert(found->second);
  }

  void find_disturbed() {
    for (std::size_t d = 0; d < atoms_.size(); ++d)
      for (const Atom& atom : atoms_[d].atoms)
        if (atom.disruption >= Disruption::traffic && !stands_by_itself(d, atom)) disturb_by(d, atom);
  }

  // A remedy that affects no session leaves all other effects as they are.
  bool stands_by_itself(std::size_t d, const Atom& atom) const {
    if (atom.remedy.empty() || !input_.devices[d].stands_by) return false;
    const AtomChange& first = atom.changes.front();
    const auto standing = input_.devices[d].stands_by({first.path, first.was, first.want, first.origin});
    return standing && standing->second.name == atom.remedy;
  }

  void disturb_by(std::size_t d, const Atom& atom) {
    const std::string& name = input_.devices[d].name;
    bool whole = atom.changes.empty();
    for (const AtomChange& change : atom.changes) {
      const bool at_port = input_.wiring != nullptr && change.path.key_count() > 0 &&
                           input_.wiring->cable_at(name, change.path.key(0));
      if (!at_port) {
        whole = true;
        continue;
      }
      disturb(name, change.path.key(0));
      const PortName* const far = input_.wiring->peer(name, change.path.key(0));
      disturb(far->device, far->port);
    }
    if (!whole || !whole_.insert(d).second) return;
    disturbed_.insert(d);
    for (const PortName* const far : far_ends_[name]) disturb(far->device, far->port);
  }

  void add_standing(std::size_t d) {
    const DeviceInput& device = input_.devices[d];
    if (device.intent == nullptr || !device.left_alone.empty()) return;
    std::set<RowId> told;  // one entry is enough for its row
    for (const Entry& want : device.intent->want.entries()) {
      if (!follows_network(want.path) || told.contains(want.path.row())) continue;
      const Value have = device.observation != nullptr ? device.observation->have.value(want.path) : Value{};
      const Change effect{want.path, have, want.value, want.origin};
      const auto found = device.stands_by(effect);
      if (!found || !told.insert(want.path.row()).second) continue;
      Atom& atom = atom_of(d, found->first, found->second);
      if (atom.when == Atom::When::by_policy) atom.when = Atom::When::with_changes;
      atom.if_open.push_back(want.path.row());
      atom.examples.push_back(effect);
    }
  }

  const PlanInput& input_;
  const Columns& columns_;
  std::vector<DeviceAtoms>& atoms_;
  std::unordered_map<std::string_view, std::size_t> index_;
  std::unordered_map<std::string_view, std::vector<const PortName*>> far_ends_;  // by device
  std::unordered_set<std::string_view> changing_;
  std::map<std::tuple<std::size_t, std::string, std::string>, std::size_t> known_;
  std::map<std::size_t, std::optional<std::set<std::string_view>>> routed_;  // by device, on first use
  std::set<std::size_t> disturbed_;
  std::set<std::size_t> whole_;
};

}  // namespace

bool is_for(const Step& remedy, Path effect) {
  return std::ranges::find(remedy.if_open, effect.row()) != remedy.if_open.end() ||
         std::ranges::find(remedy.changes, effect, &PlannedChange::path) != remedy.changes.end();
}

ChangeSet treatable(const Fleet& fleet, std::size_t device, const Step& remedy, const ChangeSet& open) {
  const auto driver = fleet.carriers(device).find(remedy.driver);
  const Remedy* const own = driver ? fleet[device].drivers[*driver]->remedy : nullptr;
  ChangeSet out;
  if (own == nullptr) return out;
  for (const Change& effect : open) {
    if (!is_for(remedy, effect.path)) continue;
    const auto offer = own->offer(effect);
    if (offer && offer->name == remedy.remedy) out.push_back(effect);
  }
  return out;
}

ChangeSet open_effects(const Intent& intent, const Tree& have, const std::vector<Unread>& unread) {
  ChangeSet out;
  for (const Entry& want : intent.want.entries()) {
    if (schema_row(want.path.row()).facet != Facet::effect || is_unread(unread, want.path)) continue;
    const Value value = have.value(want.path);
    if (!satisfies(want.path.row(), want.value, value))
      out.push_back({want.path, value, want.value, want.origin});
  }
  return out;
}

void add_remedies(const PlanInput& input, const Columns& columns, std::vector<DeviceAtoms>& atoms) {
  RemedyPlanner(input, columns, atoms).add();
}

}  // namespace lockstep
