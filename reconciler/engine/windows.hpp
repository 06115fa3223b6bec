// Windows: when a change may begin. It begins only inside a window of every policy that its devices are
// under, and only if the worst case, undo included, is over before that window closes. An undo is never held.
//
// Promises: pure: the instant is an argument. Local times are those of the IANA database: where a clock is
// put forward, a time that does not exist is the instant of the jump; where it is put back, a time that is
// there twice is the earlier one. Windows that touch are one. Refuses nothing: a zone that this machine does
// not know opens no window, and the reason says so.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "reconciler/engine/apply.hpp"

namespace lockstep {

struct Opening {
  WallTime opens;
  WallTime closes;
  std::string timezone;  // of the window that opens it
};

// The openings from `now` on, in order, for a little more than a week (windows are weekly); the first holds
// `now` where one is open.
std::vector<Opening> openings(const std::vector<PolicyWindow>& windows, WallTime now);

// Why a change that may take `needed` can't begin now; empty: it can.
std::string why_wait(const Policy& policy, WallTime now, std::chrono::milliseconds needed);

// An upper bound of how long the plan can take until it is kept, or undone. For each wave the longest way
// through it, each step at its own bound (step_timeout; then a write, a settlement, a guard put back and the
// reads between them, each at its deadline; then the effects that must come back), the questions for
// minCapacity, both ends of cables made alike again, the verification, and, where it is gated,
// measure_timeout, three times more to confirm; once before the first; then the reverse, verified, measured
// again and confirmed: planned as if all was made and every port in the specs carried traffic by then, as an
// undo may meet more of it than the plan did; and that of each change that is owed. A run that does not
// measure undoes nothing.
std::chrono::milliseconds worst_case(const Plan& plan, const Fleet& fleet, const ApplyOptions& options,
                                     bool measures);

// The plan with its window holds as they are now, by options.policy_for.
Plan hold_for_windows(Plan plan, const Fleet& fleet, const ApplyOptions& options, bool measures,
                      WallTime now);

}  // namespace lockstep
