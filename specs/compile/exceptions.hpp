// Entries that single devices have in addition to their class: `overrides:` and `raw:`; and how duplicate
// entries are resolved.
//
// Promises: an override wins over every object, and the value that it replaces stays visible as overruled; an
// override past its end date still holds and is reported (an exception under a Fabric's `allow` is reported
// too, but no longer holds); of two overrides, or two raw entries, of one entry the object with the higher
// priority wins. Refuses, with the lines: paths that match no entry, effects, values that the entry's typed
// field would refuse (entry_fields.hpp); two of equal priority; a raw entry that sets what a typed field
// sets, by the entry's path or in the driver's own syntax (map_native.hpp), or what an object claims whole.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "specs/compile/compilation.hpp"
#include "specs/platforms/map_native.hpp"

namespace lockstep {

class Exceptions {
 public:
  // Reads the overrides and raw entries of all objects. `covered`: the devices for which each claimant sets
  // any entry.
  Exceptions(Compilation& compilation, const std::vector<std::vector<DeviceIndex>>& covered);
  // Empty for most devices, which then cost nothing.
  void apply(DeviceIndex device, Intent& intent);
  // Whether an entry of this row is overridden on any device.
  bool override_any(RowId row) const;

 private:
  struct Setting {
    Path path;
    Value value;
    OriginId origin = 0;
    std::vector<MeantEntries> stands_for;  // of a raw entry: it may not set them where a typed field does
  };
  using Settings = std::map<DeviceIndex, std::vector<Setting>>;
  template <class Kind>
  void read(const std::vector<ClaimantId>& claimants, const std::vector<Kind>& objects,
            const std::vector<std::vector<DeviceIndex>>& covered);
  void tell_ended(const AllowedState& said);
  void read_override(ClaimantId who, const Override& said);
  bool can_be_there(Path path, const Said<std::string>& names, Position at);
  std::optional<Value> overriding(Path path, const Literal& literal);
  void read_raw(ClaimantId who, const Raw& said, const std::vector<DeviceIndex>& covered);
  void set(Settings& settings, const Setting& setting, const Said<std::string>& names,
           const std::vector<DeviceIndex>* covered);
  void apply(const std::vector<Setting>& settings, DeviceIndex device, Intent& intent);
  bool is_typed(const Setting& raw, const Intent& intent);
  bool is_typed(const Setting& raw, const MeantEntries& entries, const Intent& intent);

  Compilation& c_;
  Settings overrides_;
  Settings raws_;
  std::size_t count_ = 0;                         // of both
  std::set<std::pair<OriginId, OriginId>> told_;  // pairs of contradictory lines already reported
};

// An entry's value as written; none, with a diagnostic, if it is not of the row's type.
Result<Value> value_of(RowId row, const Literal& literal);

// Resolves entries of one class for which two objects set different values: the lower priority is overruled;
// equal priority is an error.
std::vector<Overruled> settle_clashes(Compilation& compilation, DeviceIndex example,
                                      const std::vector<Clash>& clashes);

}  // namespace lockstep
