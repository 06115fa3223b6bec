// Versions and constraints on them, ordered as Debian orders packages (deb-version(7), Debian Policy 5.6.12):
// [epoch:]upstream[-revision], runs of digits as numbers, '~' before everything.
//
// Promises: total: any two texts have an order. A constraint is an operator (==, >=, <=, >, <; none: ==) and
// a version; "==44" is not met by "44.0-2". Other version texts (kernels, drivers, firmware: 6.1.0-18-amd64,
// 550.54.15, 28.39.1002) are ordered by the same rules. Refuses nothing.
#pragma once

#include <string_view>

namespace lockstep {

// Below, at or above zero if the first is older than, equal to or newer than the second.
int compare_versions(std::string_view a, std::string_view b);

// meets("44.0-2", ">=44").
bool version_meets(std::string_view version, std::string_view constraint);

}  // namespace lockstep
