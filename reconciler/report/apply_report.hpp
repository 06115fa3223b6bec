// An apply for people and programs: its progress and its outcome.
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

// What a plan file is for.
std::string plan_file_line(const std::string& name, const PlanFile& file);
// What of a plan file (`earlier`) can't run, and the steps of now that it lacks: a line each; empty: nothing.
std::string left_out_text(const CheckedPlan& checked, const Plan& earlier, const Terminal& terminal);
// The same, as apply_json has it under "notRun".
nlohmann::json left_out_json(const CheckedPlan& checked, const Plan& earlier);
// Where nothing of a plan file can run.
nlohmann::json refused_whole_json(const Error& why, nlohmann::json left_out);

// `left_out`: see left_out_text; how many steps. In JSON: left_out_json().
std::string apply_text(const Applied& applied, const Plan& plan, const Terminal& terminal,
                       std::size_t left_out = 0);
nlohmann::json apply_json(const Applied& applied, const Plan& plan, const std::string& config_hash,
                          nlohmann::json left_out);

// If there was nothing to do. `whole`: all chosen devices could be observed.
std::string nothing_to_do_text(const DriftReport& unmended, const std::string& title, bool whole,
                               const Terminal& terminal);
nlohmann::json nothing_to_do_json(const Plan& plan, const DriftReport& unmended);

}  // namespace lockstep
