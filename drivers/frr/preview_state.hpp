// The state that a preview is computed on: the objects that the changes refer to are assumed to exist.
//
// A preview may be requested for a device that has not been read: without this, a neighbour's timer would be
// refused because the neighbour is missing. Promises: what `have` contains stays as it is.
#pragma once

#include <vector>

#include "drivers/frr/map.hpp"
#include "drivers/frr/state.hpp"

namespace lockstep::frr {

// `there`: edits that the device is assumed to have already; `asked`: those that are to yield lines.
State preview_state(State have, const std::vector<Edit>& there, const std::vector<Edit>& asked);

}  // namespace lockstep::frr
