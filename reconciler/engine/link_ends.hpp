// Link ends: what must be alike at both ends of a cable. Its steps stand or fall as one (Step::together):
// where one end can't begin, the other doesn't; where one does not take its part after the other did, that is
// taken back.
//
// Promises: pure; a cable is uneven where a step was not done for a failure or a stop, the end that it is for
// is not as wanted, and this run wrote at the cable. An end that was not written to is as it was, read or
// not; one that was, and can't be read, is told, not guessed at.
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/apply.hpp"
#include "reconciler/engine/columns.hpp"

namespace lockstep {

// What a row is part of that must be alike: its own matter (link_matter), or of a class that it is
// committed with or refers to.
LinkMatter matter_of(RowId row);

// The step at the other end of a cable that a step changes.
struct OtherEnd {
  std::uint32_t step = 0;
  PortName here;
  PortName there;
};
// By id; of steps that change the same matter at both ends of a cable.
std::vector<std::vector<OtherEnd>> other_ends(const Plan& plan, const Wiring& wiring);

struct UnevenEnds {
  std::vector<Step> take_back;      // the run's steps, with their changes at both ends of such cables alone
  std::vector<std::string> unread;  // ends that can't be read: the others are left as they are
  std::vector<std::string> taken_back;  // what is said once that has succeeded
};

// Steps that did not succeed and may have left a cable uneven; none: there is nothing to look at.
std::vector<Step> half_done(const Plan& plan, const std::vector<StepResult>& results, const Fleet& fleet);

// `short_of`: those. `written`: the steps that wrote. `now`: by the fleet's index, as seen after them.
UnevenEnds uneven_ends(const Plan& plan, const std::vector<Step>& short_of, const std::vector<Step>& written,
                       const Fleet& fleet, const std::vector<DeviceState>& now);

// Of the ports of `take_back` those that its reverse did not put back: ": not put back at gpu1:rail0,
// leaf0:swp1", or nothing. `results`: by step; none where the reverse did not begin.
std::string ports_not_back(const std::vector<Step>& take_back, const Plan& reverse,
                           const std::vector<StepResult>& results, const std::vector<NotPutBack>& left_out);

// Of `written` what must be alike with what `taken_back` changed at the other ends of its cables.
std::vector<Step> other_ends_of(const std::vector<Step>& taken_back, const std::vector<Step>& written,
                                const Wiring& wiring);

}  // namespace lockstep
