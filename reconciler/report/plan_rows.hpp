// The changes of a plan's wave as rows: each kind of change once, with all devices and ports that it affects.
//
// Promises: each change of the steps is in exactly one row; rows are in the order of their entries.
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/plan.hpp"
#include "reconciler/report/terminal.hpp"

namespace lockstep {

struct PlanRow {
  char sign = '~';     // '+' added, '-' removed, '~' changed
  std::string entry;   // "interface[*]/mtu"
  std::string value;   // "1500 → 9216"; "10.64.0.1/31 … 10.64.0.7/31" where numbers vary
  std::string where;   // "spine[0-1]:down[0-1], leaf[0-1]:up[0-1]"
  std::string origin;  // "fabric.yaml:9,14 mtu.fabric"
  std::size_t count = 0;
};

std::vector<PlanRow> plan_rows(const Plan& plan, const std::vector<const Step*>& steps);

// "+ interface[*]/mtu", in the sign's colour.
Shown signed_entry(char sign, const std::string& entry, const Terminal& terminal);

std::string rows_text(const std::vector<PlanRow>& rows, std::string_view indent, const Terminal& terminal);

}  // namespace lockstep
