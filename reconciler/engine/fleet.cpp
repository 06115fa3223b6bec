#include "reconciler/engine/fleet.hpp"

#include <utility>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

Result<Done> claim(std::vector<std::int16_t>& table, RowId row, std::size_t driver, const std::string& device,
                   const std::vector<Traits>& traits) {
  if (row >= kSchema.size())
    return Error{ErrorKind::invalid_spec, device + ": driver '" + traits[driver].driver + "' claims row " +
                                              std::to_string(row) + ", which does not exist"};
  std::int16_t& owner = table[row];
  if (owner >= 0 && static_cast<std::size_t>(owner) != driver)
    return Error{ErrorKind::invalid_spec,
                 device + ": drivers '" + traits[static_cast<std::size_t>(owner)].driver + "' and '" +
                     traits[driver].driver + "' both claim '" + std::string(schema_row(row).pattern) + "'"};
  owner = static_cast<std::int16_t>(driver);
  return Done{};
}

}  // namespace

std::string DeviceState::why_incomplete() const {
  if (!errors.empty()) return errors.front().text();
  return observation.unread.empty() ? "" : observation.unread.front().why.text();
}

std::string DeviceState::why_unread(Path path) const {
  const Unread* const unread = unread_of(observation.unread, path);
  return unread != nullptr ? unread->why.text() : "it could not be read";
}

Result<Carriers> Carriers::of(const std::string& device, const std::vector<Traits>& traits) {
  Carriers carriers;
  carriers.traits_ = traits;
  carriers.read_.assign(kSchema.size(), -1);
  carriers.write_.assign(kSchema.size(), -1);
  for (std::size_t i = 0; i < traits.size(); ++i) {
    for (const RowId row : traits[i].reads) TRY_DONE(claim(carriers.read_, row, i, device, traits));
    for (const RowId row : traits[i].writes) TRY_DONE(claim(carriers.write_, row, i, device, traits));
  }
  return carriers;
}

std::optional<Carriers::WhyNot> Carriers::why_not(Path path) const {
  const int by = reader(path.row());
  if (by < 0) {
    std::string those;
    for (const Traits& one : traits_) those += (those.empty() ? "" : ", ") + one.driver;
    return WhyNot{"no driver carries this here: " + (those.empty() ? std::string("there is none") : those)};
  }
  for (const Traits& one : traits_)
    for (const Incapable& incapable : one.incapable)
      if (incapable.covers(path)) return WhyNot{incapable.reason, incapable.by_hand};
  const Row& row = schema_row(path.row());
  if (row.facet == Facet::effect || writer(path.row()) >= 0) return std::nullopt;
  if (row.takes == Takes::read_only) return WhyNot{"it can't be made, only found", true};
  return WhyNot{"driver '" + driver_name(by) + "' reads this here, and does not write it", true};
}

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
    std::vector<Traits> traits;
    for (const Attached* attached : device.drivers) traits.push_back(attached->driver->traits());
    TRY(Carriers carriers, Carriers::of(device.name, traits));
    fleet.carriers_.push_back(std::move(carriers));
  }
  return fleet;
}

std::optional<std::size_t> Fleet::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

Result<Done> Fleet::refresh(std::size_t index) {
  std::vector<Traits> traits;
  for (const Attached* attached : devices_[index].drivers) traits.push_back(attached->driver->traits());
  TRY(carriers_[index], Carriers::of(devices_[index].name, traits));
  return Done{};
}

}  // namespace lockstep
