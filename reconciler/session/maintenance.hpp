// Maintenance: the devices that the Cluster object declares out of service for a while.
//
// Promises: pure. An entry is valid until the end of its last day, UTC; an expired entry has no effect and is
// a warning at its date, in everything that loads the specs. For a device in several entries the last one to
// end counts. Refuses nothing: names that no DeviceSet has are already an error of the specs.
#pragma once

#include <map>
#include <string>

#include "specs/language/catalog.hpp"

namespace lockstep {

// By device: "until 2026-12-01: optics".
std::map<std::string, std::string> in_maintenance(const Catalog& catalog, Date today, Diagnostics& warnings);

}  // namespace lockstep
