// The plan from one configuration of SONiC to another: rows set and deleted one after the other, each state
// valid.
//
// Promises: made one after the other from `current`, the moves end in `target`, and each state on the way is
// valid, by the given models (whole by libyang at the start and at the end, row by row in between) or else by
// the built-in rules. A row is set whole, and never without its fields meanwhile unless it must be made again
// or rows refer to each other in a circle. Rows of a port's queues, buffers and maps change while the port is
// shut down, one port after the other, and it comes up when they are done. The same input gives the same
// plan. Refuses (refused), saying why: a target that is not valid, and where no order of moves keeps each
// state valid.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drivers/sonic/state_check.hpp"
#include "specs/model/result.hpp"

namespace lockstep::sonic {

struct ConfigPlan {
  std::vector<ConfigMove> moves;
  std::vector<std::string> ports_down;  // shut down and brought up again, in the order of the moves
  std::vector<ConfigMove> rebuilt;      // rows that were deleted only to be made again
};

// What becomes of faults that the current configuration has, and that no single move ends.
enum class KnownFaults : std::uint8_t {
  refuse,
  // States have no others, and the target may have them too. Models do not list all faults: the built-in
  // rules judge. Nothing is taken away only to be made from nothing.
  stay,
};

// `models`: null: none, and the built-in rules judge.
Result<ConfigPlan> plan_config(const YangModels* models, const ConfigDb& current, const ConfigDb& target,
                               KnownFaults known = KnownFaults::refuse);
// The same with a check of states that has been begun with the current configuration. `target` is valid.
Result<ConfigPlan> plan_config(StateCheck& check, const ConfigDb& target);

// Of a row of PORT; SONiC's model has down where it is left out.
bool is_port_up(const ConfigRow& port);

// Why a configuration is not valid, in one sentence.
std::string faults_text(const std::vector<ConfigFault>& faults);

}  // namespace lockstep::sonic
