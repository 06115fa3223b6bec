// Causes: which differences of a cluster explain others, by the topology and the schema's columns.
//
// A daemon that does not answer explains the sessions of its device and of its neighbours, the routes learned
// over them and what could not be read; a port that is shut down explains both ends of its cable; a swapped
// cable explains what is found at all its ends.
//
// Promises: pure, the same for the same report; every difference and every unread entry is in exactly one
// problem, as a cause or as explained by one; a difference without a cause is a problem of its own. Rules
// list possible causes: if two apply, the nearest is chosen.
#pragma once

#include <vector>

#include "reconciler/engine/apply.hpp"
#include "reconciler/engine/status.hpp"
#include "reconciler/engine/wiring.hpp"

namespace lockstep {

// Effects that are open after an apply, as a report with its problems.
DriftReport report_of(const std::vector<OpenEffect>& open, const Wiring& wiring);

// Devices, daemons, ports and cables first; within these and within the rest, problems that explain most
// first. Devices in maintenance have no problems.
std::vector<Problem> problems_of(const DriftReport& report, const Wiring& wiring);

}  // namespace lockstep
