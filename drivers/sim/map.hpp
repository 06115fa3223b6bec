// What follows from a write on a simulated device, as it does on a real one: the entries that go with a
// removed one.
#pragma once

#include <vector>

#include "specs/model/diff.hpp"

namespace lockstep::sim {

// The entries of `tree` that can't stay when `change` has been made: the parts of what was removed, and the
// routes over a port that lost an address or was shut (rtnetlink(7): the kernel flushes them without a word).
std::vector<Path> gone_with(const Tree& tree, const Change& change);

}  // namespace lockstep::sim
