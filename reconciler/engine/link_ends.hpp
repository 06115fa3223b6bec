// Link ends: what must be alike at both ends of a cable, and the cables that a run left uneven because one
// end did not take its part.
//
// Promises: pure; a cable is uneven where a step failed or was skipped for a failure, the end that it is for
// reads back as not wanted, and this run wrote at the cable. An end that can't be read is told, not guessed
// at.
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/apply.hpp"

namespace lockstep {

// Rows of which one end without the other is worse than neither: a lossless priority or a class that the
// sender has and the receiver has not (PeerOrder::receiver_first), with what is committed with such a row or
// refers to it.
bool must_agree(RowId row);

struct UnevenEnds {
  std::vector<Step> take_back;  // the run's steps, with their changes at both ends of such cables alone
  std::vector<std::string> notes;
};

// Steps that did not succeed and may have left a cable uneven; none: there is nothing to look at.
std::vector<Step> half_done(const Plan& plan, const std::vector<StepResult>& results, const Fleet& fleet);

// `short_of`: those. `written`: the steps that wrote. `now`: by the fleet's index, as seen after them.
UnevenEnds uneven_ends(const std::vector<Step>& short_of, const std::vector<Step>& written,
                       const Fleet& fleet, const std::vector<DeviceState>& now);

}  // namespace lockstep
