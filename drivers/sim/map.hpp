// Side effects of a write on a simulated device, as on a real one: the entries that disappear with a removed
// one.
#pragma once

#include <vector>

#include "specs/model/diff.hpp"

namespace lockstep::sim {

// The entries of `tree` that disappear when `change` is made: the parts of what was removed, and the routes
// over a port that lost an address or was shut down (rtnetlink(7): the kernel flushes them silently).
std::vector<Path> gone_with(const Tree& tree, const Change& change);

}  // namespace lockstep::sim
