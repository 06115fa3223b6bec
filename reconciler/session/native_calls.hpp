// The native calls of an entry: what the drivers of its device would send, as text.
#pragma once

#include <string>
#include <vector>

#include "reconciler/session/driver_table.hpp"
#include "reconciler/session/opened_cluster.hpp"
#include "specs/compile/explain.hpp"

namespace lockstep {

// Contacts no device. Empty: the entry is read-only, or no driver in the table writes it.
std::vector<std::string> native_calls(const OpenedCluster& cluster, const Explanation& explanation,
                                      const DriverTable& table);

}  // namespace lockstep
