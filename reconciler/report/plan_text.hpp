// A plan for people: per wave, what changes on each device, what that disrupts, and the spec line behind it.
//
// Folded, a wave is its changes, each kind once with its devices and ports (plan_rows.hpp), and the reasons
// why some are held; in detail, it is its steps in order, each change by itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reconciler/engine/fleet.hpp"
#include "reconciler/engine/plan.hpp"
#include "reconciler/report/folded_changes.hpp"
#include "reconciler/report/terminal.hpp"
#include "reconciler/session/reach.hpp"

namespace lockstep {

enum class Detail : std::uint8_t { folded, every_change };
std::string plan_text(const Plan& plan, const Terminal& terminal, Detail detail = Detail::folded);

// One line per change: "+", "-" or "~", the entry, its value and its origin (`origins`, by the change's
// number).
std::string folded_changes_text(const std::vector<FoldedChange>& lines,
                                const std::vector<PlanOrigin>& origins, std::string_view indent,
                                const Terminal& terminal);

// What devices do not support, and why, folded by reason.
std::string not_applied_text(const std::vector<DeviceState>& states, const Terminal& terminal);

// Notes of drivers beside their entries (other programs that manage a device), folded by note.
std::string notes_text(const std::vector<DeviceState>& states, const Terminal& terminal);

// "in maintenance: leaf1 until 2026-12-01: optics", one line per reason; empty: none is.
std::string maintenance_text(const std::vector<InMaintenance>& all, const Terminal& terminal);

// "40 steps on 12 devices: 211 changes, 31 disturb traffic; 3 entries not supported on these devices".
std::string plan_summary(const Plan& plan);

Ink ink_of(Disruption disruption);

}  // namespace lockstep
