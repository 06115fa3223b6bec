// Link ends: what must be alike at both ends of a cable. Steps at both ends succeed or fail together
// (Step::together): if one end can't begin, the other doesn't; if one end fails after the other was changed,
// the other is rolled back.
//
// Promises: pure; a cable is uneven if a step was not done because of a failure or a stop, its end is not as
// desired, and this run wrote at the cable. An end that was not written is unchanged, read or not; an end
// that was written and can't be read is reported, not guessed at.
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/apply.hpp"
#include "reconciler/engine/columns.hpp"

namespace lockstep {

// What a row belongs to that must be alike: its own matter (link_matter), or that of a class that it is
// committed with or refers to.
LinkMatter matter_of(RowId row);

// The step at the other end of a cable that a step changes.
struct OtherEnd {
  std::uint32_t step = 0;
  PortName here;
  PortName there;
};
// By step id; for steps that change the same matter at both ends of a cable.
std::vector<std::vector<OtherEnd>> other_ends(const Plan& plan, const Wiring& wiring);

struct UnevenEnds {
  std::vector<Step> take_back;      // the run's steps, limited to their changes at both ends of such cables
  std::vector<std::string> unread;  // ends that can't be read: their cables are left as they are
  std::vector<std::string> taken_back;  // reported once the rollback has succeeded
};

// Steps that did not succeed and may have left a cable uneven; none: no check is needed.
std::vector<Step> half_done(const Plan& plan, const std::vector<StepResult>& results, const Fleet& fleet);

// `short_of`: from half_done(). `written`: the steps that wrote. `now`: by the fleet's index, observed after
// them.
UnevenEnds uneven_ends(const Plan& plan, const std::vector<Step>& short_of, const std::vector<Step>& written,
                       const Fleet& fleet, const std::vector<DeviceState>& now);

// The ports of `take_back` that its reverse did not restore: ": not put back at gpu1:rail0, leaf0:swp1", or
// nothing. `results`: by step; empty if the reverse did not begin.
std::string ports_not_back(const std::vector<Step>& take_back, const Plan& reverse,
                           const std::vector<StepResult>& results, const std::vector<NotPutBack>& left_out);

// The part of `written` that must be alike with what `taken_back` changed at the other ends of its cables.
std::vector<Step> other_ends_of(const std::vector<Step>& taken_back, const std::vector<Step>& written,
                                const Wiring& wiring);

}  // namespace lockstep
