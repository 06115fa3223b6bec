// In which order the changes of one apply are carried out.
//
// Promises: those that reset a port come first, as it is made anew by them, without what was set on it
// before; else the order given. In one step they refer to nothing that others of it make, as what is referred
// to has a wave of its own (reconciler/engine/plan.hpp). Refuses nothing.
#pragma once

#include <cstddef>
#include <vector>

#include "specs/model/diff.hpp"

namespace lockstep {

// Places in `changes`.
std::vector<std::size_t> apply_order(const ChangeSet& changes);

}  // namespace lockstep
