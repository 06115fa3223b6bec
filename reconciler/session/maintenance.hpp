// Maintenance: the devices that the Cluster says are out of service for a while.
//
// Promises: pure. An entry counts up to the end of its last day, UTC; one that has ended counts for nothing
// and is a warning at its date, in whatever loads the specs. A device that several entries name is under the
// last of them to end. Refuses nothing: names that no DeviceSet has are an error of the specs already.
#pragma once

#include <map>
#include <string>

#include "specs/language/catalog.hpp"

namespace lockstep {

// By device: "until 2026-12-01: optics".
std::map<std::string, std::string> in_maintenance(const Catalog& catalog, Date today, Diagnostics& warnings);

}  // namespace lockstep
