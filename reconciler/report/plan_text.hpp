// A plan for people: wave by wave, what each device gets, what that disturbs, and the spec line that wants
// it.
//
// Steps that do the same to several devices are shown once, with the devices as a hostlist.
#pragma once

#include <string>
#include <vector>

#include "reconciler/engine/fleet.hpp"
#include "reconciler/engine/plan.hpp"
#include "reconciler/report/terminal.hpp"
#include "reconciler/session/reach.hpp"

namespace lockstep {

std::string plan_text(const Plan& plan, const Terminal& terminal);

// What can't be applied here and why, folded by reason.
std::string not_applied_text(const std::vector<DeviceState>& states, const Terminal& terminal);

// What drivers noticed beside their entries (who else has a hand in a device), folded by note.
std::string notes_text(const std::vector<DeviceState>& states, const Terminal& terminal);

// "in maintenance: leaf1 until 2026-12-01: optics", a line a reason; empty: none is.
std::string maintenance_text(const std::vector<InMaintenance>& all, const Terminal& terminal);

// "40 steps on 12 devices: 211 changes, 31 disturb traffic; 3 entries can't be applied here".
std::string plan_summary(const Plan& plan);

Ink ink_of(Disruption disruption);

}  // namespace lockstep
