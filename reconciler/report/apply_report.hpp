// The progress and outcome of an apply for people and programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "reconciler/report/terminal.hpp"
#include "reconciler/session/cluster_session.hpp"
#include "reconciler/session/plan_file.hpp"

namespace lockstep {

// Progress: one line each, without a newline.
std::string wave_line(std::uint32_t wave, std::uint32_t of, const Terminal& terminal);
std::string step_line(const Step& step, const StepResult& result, const Terminal& terminal);
std::string step_begun_line(const Step& step);
std::string phase_line(std::string_view what);
std::string gate_line(const GateResult& gate, const Terminal& terminal);

// "2 of 3 steps done, 1 of 1 remedy done": without steps that were not needed.
std::string done_text(const Plan& plan, const ApplyReport& report);

// What a plan file is for.
std::string plan_file_line(const std::string& name, const PlanFile& file);
// The parts of a plan file (`earlier`) that can't run, and current steps missing from it, one per line;
// empty: none.
std::string left_out_text(const CheckedPlan& checked, const Plan& earlier, const Terminal& terminal);
// The same, as in apply_json under "notRun".
nlohmann::json left_out_json(const CheckedPlan& checked, const Plan& earlier);
// For a plan file of which nothing can run.
nlohmann::json refused_whole_json(const Error& why, nlohmann::json left_out);

// `left_out`: see left_out_text; how many steps. In JSON: left_out_json().
std::string apply_text(const Applied& applied, const Plan& plan, const Terminal& terminal,
                       std::size_t left_out = 0);
nlohmann::json apply_json(const Applied& applied, const Plan& plan, const std::string& config_hash,
                          nlohmann::json left_out);

// Used if there was nothing to do. `whole`: all chosen devices could be observed.
std::string nothing_to_do_text(const DriftReport& differences, const std::string& title, bool whole,
                               const Terminal& terminal);
nlohmann::json nothing_to_do_json(const Plan& plan, const DriftReport& unmended);

}  // namespace lockstep
