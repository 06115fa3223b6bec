#include "reconciler/engine/fleet.hpp"

#include <set>
#include <utility>

#include "specs/compile/wanted_by_name.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
std::string DeviceState::why_incomplete() const {
  if (!errors.empty()) return errors.front().text();
  return observation.unread.empty() ? "" : observation.unread.front().why.text();
}

std::string DeviceState::why_unread(Path path) const {
  const Unread* const unread = unread_of(observation.unread, path);
  return unread != nullptr ? unread->why.text() : "it could not be read";
}

Carriers::Carriers(std::string device, std::size_t drivers)
    : device_(std::move(device)),
      traits_(drivers, Error{ErrorKind::transient, device_ + ": its driver has not been asked yet"}) {
  claim_anew();
}

void Carriers::learn(std::size_t driver, Result<Traits> answer) {
  if (!answer && traits_[driver]) return;
  traits_[driver] = std::move(answer);
  claim_anew();
}

void Carriers::claim_anew() {
  read_.assign(kSchema.size(), -1);
  write_.assign(kSchema.size(), -1);
  for (std::size_t driver = 0; driver < traits_.size(); ++driver) {
    if (!traits_[driver]) continue;
    if (Result<Done> claimed = claim(driver); !claimed) traits_[driver] = std::move(claimed.error());
  }
}

Result<Done> Carriers::claim(std::size_t driver) {
  Claims read = read_;
  Claims write = write_;
  TRY_DONE(claim(driver, traits_[driver]->reads, read));
  TRY_DONE(claim(driver, traits_[driver]->writes, write));
  read_ = std::move(read);
  write_ = std::move(write);
  return Done{};
}

Result<Done> Carriers::claim(std::size_t driver, const std::vector<RowId>& rows, Claims& claims) const {
  const std::string& name = traits_[driver]->driver;
  for (const RowId row : rows) {
    if (row >= kSchema.size())
      return Error{ErrorKind::invalid_spec, device_ + ": driver '" + name + "' claims row " +
                                                std::to_string(row) + ", which does not exist"};
    std::int16_t& owner = claims[row];
    if (owner >= 0 && static_cast<std::size_t>(owner) != driver)
      return Error{ErrorKind::invalid_spec,
                   device_ + ": drivers '" + traits_[static_cast<std::size_t>(owner)]->driver + "' and '" +
                       name + "' both claim '" + std::string(schema_row(row).pattern) + "'"};
    owner = static_cast<std::int16_t>(driver);
  }
  return Done{};
}

std::optional<std::size_t> Carriers::find(std::string_view name) const {
  for (std::size_t driver = 0; driver < traits_.size(); ++driver)
    if (traits_[driver] && traits_[driver]->driver == name) return driver;
  return std::nullopt;
}

std::optional<Carriers::WhyNot> Carriers::why_not(const Change& change,
                                                  const std::vector<Incapable>& incapable) const {
  const Path path = change.path;
  const int by = reader(path.row());
  if (by < 0) {
    std::string those;
    for (const Result<Traits>& one : traits_)
      if (one) those += (those.empty() ? "" : ", ") + one->driver;
    return WhyNot{those.empty() ? std::string("this device has no driver")
                                : "not supported by this device's drivers (" + those + ")"};
  }
  for (const Path port : ports_needed(path, change.want))
    if (const Incapable* const absent = incapable_of(incapable, port); absent != nullptr && absent->by_hand)
      return WhyNot{absent->reason, true};
  if (const Incapable* const lack = incapable_of(incapable, path)) return WhyNot{lack->reason, lack->by_hand};
  const Row& row = schema_row(path.row());
  if (row.facet == Facet::effect || writer(path.row()) >= 0) return std::nullopt;
  if (row.takes == Takes::read_only) return WhyNot{"it can't be made, only found", true};
  const std::string& driver = traits_[static_cast<std::size_t>(by)]->driver;
  return WhyNot{"driver '" + driver + "' reads this here, and does not write it", true};
}

void Carriers::add_unread(std::size_t driver, const Scope& scope, const Error& why,
                          std::vector<Unread>& unread) const {
  if (const Traits* const known = traits(driver)) {
    for (const RowId row : known->reads)
      if (scope.wants(row)) unread.push_back({row, {}, why});
    return;
  }
  for (std::size_t row = 0; row < kSchema.size(); ++row)
    if (const auto id = static_cast<RowId>(row); reader(id) < 0 && scope.wants(id))
      unread.push_back({id, {}, why});
}

Scope scope_of(const Intent& intent) { return Scope{.rows = {}, .named = wanted_by_name(intent)}; }

Result<Fleet> Fleet::make(std::vector<FleetDevice> devices, Wiring wiring) {
  Fleet fleet;
  fleet.devices_ = std::move(devices);
  fleet.wiring_ = std::move(wiring);
  fleet.wiring_.index();
  for (std::size_t i = 0; i < fleet.devices_.size(); ++i) {
    const FleetDevice& device = fleet.devices_[i];
    if (device.name.empty() || device.intent == nullptr)
      return Error{ErrorKind::invalid_spec, "device " + std::to_string(i) + " has no name or no intent"};
    if (!fleet.by_name_.emplace(device.name, i).second)
      return Error{ErrorKind::invalid_spec, "device '" + device.name + "' is there twice"};
    fleet.carriers_.emplace_back(device.name, device.drivers.size());
  }
  return fleet;
}

const Permission* Fleet::permission(std::size_t index, RowId row) const {
  const int writer = carriers_[index].writer(row);
  return writer < 0 ? nullptr : devices_[index].drivers[static_cast<std::size_t>(writer)]->permission;
}

std::vector<std::size_t> Fleet::with_far_ends(const std::vector<std::size_t>& devices) const {
  std::set<std::size_t> out(devices.begin(), devices.end());
  std::set<std::string_view> names;
  for (const std::size_t device : devices) names.insert(devices_[device].name);
  const auto add = [&](const PortName& near, const PortName& far) {
    if (!names.contains(near.device)) return;
    if (const auto index = find(far.device)) out.insert(*index);
  };
  for (const Cable& cable : wiring_.cables) {
    add(cable.a, cable.b);
    add(cable.b, cable.a);
  }
  return {out.begin(), out.end()};
}

std::optional<std::size_t> Fleet::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

}  // namespace lockstep
