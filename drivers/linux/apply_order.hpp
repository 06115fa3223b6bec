// The order in which the changes of one apply are made.
//
// Promises: changes that reset a port come first, because the reset discards what was set on the port before;
// the rest keep the order given. Changes within one step never refer to something that another of them
// creates, because that gets a wave of its own (reconciler/engine/plan.hpp). Refuses nothing.
#pragma once

#include <cstddef>
#include <vector>

#include "specs/model/diff.hpp"

namespace lockstep {

// Indices into `changes`.
std::vector<std::size_t> apply_order(const ChangeSet& changes);

}  // namespace lockstep
