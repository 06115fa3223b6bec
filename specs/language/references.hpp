// References: what objects say about one another. Every device that is named exists, is in one DeviceSet
// only, and every object that is named was loaded.
#pragma once

#include "specs/language/catalog.hpp"
#include "specs/language/reporter.hpp"

namespace lockstep {

// All hostlists of a catalog together: no more than one may hold alone (hostlist_limit), 8 times every port
// of the largest cluster that we aim at.
constexpr std::size_t total_name_limit = 1'000'000;

void check_references(const Catalog& catalog, Reporter& reporter);

}  // namespace lockstep
