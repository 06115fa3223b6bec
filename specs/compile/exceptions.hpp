// What single devices have besides their class: `overrides:` and `raw:`, and what becomes of entries that are
// wanted twice.
//
// Promises: an override wins over every object, and what it replaces stays visible as overruled; one whose
// end date has passed still holds and is reported (so is an exception under a Fabric's `allow`, which does
// not hold any more); of two overrides, or two raw entries, of one entry the object with the higher priority
// holds. Refuses, with the lines: paths that are no entry, effects, values that the entry's ordinary field
// would refuse (entry_fields.hpp); two of equal priority; a raw entry that says what a typed field says, by
// the entry's path or in the driver's own terms (map_native.hpp), or what an object owns whole.
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
  // Reads the overrides and raw entries of all objects. `covered`: the devices that each claimant says
  // anything of.
  Exceptions(Compilation& compilation, const std::vector<std::vector<DeviceIndex>>& covered);
  // Empty for most devices, so that they pay nothing.
  void apply(DeviceIndex device, Intent& intent);
  // Whether some device has an entry of this row overridden.
  bool override_any(RowId row) const;

 private:
  struct Setting {
    Path path;
    Value value;
    OriginId origin = 0;
    std::vector<MeantEntries> stands_for;  // of a raw entry: what it may not say where a typed field does
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
  std::set<std::pair<OriginId, OriginId>> told_;  // two lines that contradict each other, on any device
};

// An entry's value from what was written; none with a diagnostic where it is not of the row's type.
Result<Value> value_of(RowId row, const Literal& literal);

// Entries of one class that two objects want differently: overruled where one has the higher priority, else
// an error.
std::vector<Overruled> settle_clashes(Compilation& compilation, DeviceIndex example,
                                      const std::vector<Clash>& clashes);

}  // namespace lockstep
