// Switches whose ports nobody declares: their names are taken from the cabling, so that a wrong one is found
// only on the device.
#pragma once

#include "specs/fabric/topology.hpp"
#include "specs/language/catalog.hpp"
#include "specs/model/diagnostic.hpp"

namespace lockstep {

// One note for all such devices, at the first of their DeviceSets; none: all cabled ports are declared.
Diagnostics undeclared_ports(const Catalog& catalog, const Topology& topology);

}  // namespace lockstep
