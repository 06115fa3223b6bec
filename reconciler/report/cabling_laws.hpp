// Finds the cabling rules that describe a set of cables: for a draft of specs.
//
// Promises: lay_cables expands the rules and the pairs to exactly the given cables; the order of the cables
// does not matter; n cables take n log n steps. A rule is used if it covers several devices, or the only one
// of its kind; other cables are lines of `by: pairs`, folded if their ends can be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "specs/language/device_set.hpp"
#include "specs/language/fabric.hpp"

namespace lockstep {

struct CableEnd {
  std::string device;
  std::string port;
  std::optional<DeviceRole> role;  // none: not known
};
// `from` is the end nearer to the hosts. A port has one cable.
struct ObservedCable {
  CableEnd from;
  CableEnd to;
};

// Both sides are `devices:ports` hostlists.
struct FoundLine {
  std::string from;
  std::string to;
};
struct FoundLaw {
  CablingRule by = CablingRule::pairs;
  FoundLine line;
  std::uint32_t planes = 1;
  std::uint32_t parallel = 1;
};
struct FoundCabling {
  std::vector<FoundLaw> laws;    // rail and mesh
  std::vector<FoundLine> pairs;  // cables that no rule covers
  // How many cables belong to hosts whose ports of one kind go to several devices.
  std::size_t of_rails = 0;
};

FoundCabling find_cabling(const std::vector<ObservedCable>& cables);

}  // namespace lockstep
