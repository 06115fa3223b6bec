// References between objects: every named device exists and is in only one DeviceSet, and every named object
// was loaded.
#pragma once

#include "specs/language/catalog.hpp"
#include "specs/language/reporter.hpp"

namespace lockstep {

// Limit for all hostlists of a catalog together: the same as for a single one (hostlist_limit), 8 times every
// port of the largest target cluster.
constexpr std::size_t total_name_limit = 1'000'000;

void check_references(const Catalog& catalog, Reporter& reporter);

}  // namespace lockstep
