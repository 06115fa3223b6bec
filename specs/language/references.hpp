// References: what objects say about one another. Every device that is named exists, is in one DeviceSet
// only, and every object that is named was loaded.
#pragma once

#include "specs/language/catalog.hpp"
#include "specs/language/reporter.hpp"

namespace lockstep {

// All hostlists of a catalog together: ten times what one may hold, so that many laws over all hosts still
// fit.
constexpr std::size_t total_name_limit = 10'000'000;

void check_references(const Catalog& catalog, Reporter& reporter);

}  // namespace lockstep
