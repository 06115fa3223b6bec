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

// What a plan file is for; a step of it that can't run; steps of now that it lacks.
std::string plan_file_line(const std::string& name, const PlanFile& file);
std::string refused_step_line(std::uint32_t step, const std::string& why);
std::string unapproved_line(const std::vector<Step>& steps);

std::string apply_text(const Applied& applied, const Plan& plan, const Terminal& terminal);
nlohmann::json apply_json(const Applied& applied, const Plan& plan, const std::string& config_hash);

// If there was nothing to do. `whole`: all chosen devices could be observed.
std::string nothing_to_do_text(const DriftReport& unmended, const std::string& title, bool whole,
                               const Terminal& terminal);
nlohmann::json nothing_to_do_json(const Plan& plan, const DriftReport& unmended);

}  // namespace lockstep
