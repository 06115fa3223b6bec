// Windows: when a change may begin: only inside a window of every policy of its devices, and only if the
// worst case, rollback included, is over before that window closes. A rollback is never held.
//
// Promises: pure: the instant is an argument. Local times follow the IANA database: when clocks go forward, a
// time that does not exist is the instant of the jump; when they go back, a time that occurs twice is the
// earlier one. Adjacent windows count as one. Refuses nothing: a time zone unknown on this machine opens no
// window, and the reason says so.
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

// The openings from `now` on, in order, for a little more than a week (windows are weekly); the first
// contains `now` if one is open.
std::vector<Opening> openings(const std::vector<PolicyWindow>& windows, WallTime now);

// Why a change that may take `needed` can't begin now; empty: it can.
std::string why_wait(const Policy& policy, WallTime now, std::chrono::milliseconds needed);

// An upper bound of how long the plan can take until it is kept or rolled back. For each wave: the longest
// path through it, each step at its own bound (step_timeout; then a write, a settlement, a restored guard and
// the reads between them, each at its deadline; then the effects that must come back), the minCapacity
// checks, making both ends of cables alike again, the verification, and, if it is gated, measure_timeout,
// three times more to confirm. Added to that: one measurement before the first wave; then the reverse,
// verified, measured again and confirmed, planned as if everything was made and every port in the specs had
// traffic by then, as a rollback may meet more traffic than the plan did; and the same for each change that
// is not validated yet. A run that does not measure rolls nothing back.
std::chrono::milliseconds worst_case(const Plan& plan, const Fleet& fleet, const ApplyOptions& options,
                                     bool measures);

// The plan with its window holds as of `now`, by options.policy_for.
Plan hold_for_windows(Plan plan, const Fleet& fleet, const ApplyOptions& options, bool measures,
                      WallTime now);

}  // namespace lockstep
