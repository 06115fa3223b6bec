// What single devices have besides their class: `overrides:` and `raw:`, and what becomes of leaves that are
// wanted twice.
//
// Promises: an override wins over every object, and what it replaces stays visible as overruled; one whose
// end date has passed still holds and is reported; a raw entry never replaces a typed field. Refuses, with
// the line: paths that are no leaf, effects, values of another type.
#pragma once

#include <map>
#include <vector>

#include "specs/compile/compilation.hpp"

namespace lockstep {

class Exceptions {
 public:
  // Reads the overrides and raw entries of all objects. `covered`: the devices that each claimant says
  // anything of.
  Exceptions(Compilation& compilation, const std::vector<std::vector<DeviceIndex>>& covered);
  // Empty for most devices, so that they pay nothing.
  void apply(DeviceIndex device, Intent& intent);

 private:
  struct Setting {
    Path path;
    Value value;
    OriginId origin = 0;
    bool raw = false;
  };
  void read(ClaimantId who, const Object& object, const std::vector<DeviceIndex>& covered);
  void read_override(ClaimantId who, const Override& said);
  void read_raw(ClaimantId who, const Raw& said, const std::vector<DeviceIndex>& covered);
  void set(Setting setting, const Said<std::string>& names, const std::vector<DeviceIndex>* covered);

  Compilation& c_;
  std::map<DeviceIndex, std::vector<Setting>> settings_;
};

// A leaf's value from what was written; none with a diagnostic where it is not of the row's type.
Result<Value> value_of(RowId row, const Literal& literal);

// Leaves of one class that two objects want differently: overruled where one has the higher priority, else an
// error.
std::vector<Overruled> settle_clashes(Compilation& compilation, DeviceIndex example,
                                      const std::vector<Clash>& clashes);

}  // namespace lockstep
