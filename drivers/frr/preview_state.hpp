// The state that a preview is told on: what a change is about is taken to be there, unlike the change.
//
// A preview is asked of a device that nobody has read: without this, a neighbour's timer would be refused for
// want of the neighbour. Promises: what `have` holds stays as it is.
#pragma once

#include <vector>

#include "drivers/frr/map.hpp"
#include "drivers/frr/state.hpp"

namespace lockstep::frr {

// `there`: edits that the device is taken to have already; `asked`: those that are to show as lines.
State preview_state(State have, const std::vector<Edit>& there, const std::vector<Edit>& asked);

}  // namespace lockstep::frr
