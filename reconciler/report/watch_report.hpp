// The output of `lockstep watch`: events, and the outcome of healing.
#pragma once

#include <string>
#include <vector>

#include "reconciler/report/problems.hpp"
#include "reconciler/report/terminal.hpp"
#include "reconciler/session/cluster_session.hpp"

namespace lockstep {

std::string watching_text(const std::string& title, const Terminal& terminal);

// One line per event; as JSON: one document per line (JSON Lines), with an item as in the report of `drift`
// (its earlier state, if it cleared), the kind of event, and its latency.
std::string watch_event_text(const WatchEvent& event, const Terminal& terminal);
std::string watch_event_json(const WatchEvent& event, WallTime at);
// "14:05:26  ", local time, before each line that watch prints.
std::string clock_text(WallTime at, const Terminal& terminal);

// "problem     leaf0: bgpd does not answer (explains 31 differences)".
std::string watch_problem_text(const ProblemLine& problem, const Terminal& terminal);
std::string watch_problem_json(const ProblemLine& problem, WallTime at);

// Not for a healing without a plan, which is an error.
std::string healing_text(const Healing& healing);
std::string healing_json(const Healing& healing, WallTime at);

// Devices that are not healed from now on (WatchRequest::stands_back).
std::string stands_back_text(const std::vector<std::string>& devices);
std::string stands_back_json(const std::vector<std::string>& devices);

// Edited specs: loaded, after which remaining differences are reported again; or refused, and the last loaded
// specs stay in force. As text, the reason goes to standard error.
std::string specs_loaded_text();
std::string specs_loaded_json();
std::string specs_refused_text();
std::string specs_refused_json(const Sources& sources, const Diagnostics& diagnostics);

// Which devices --converge does not heal; empty: it heals all. `devices`: the total number.
std::string not_converging_text(const std::vector<std::string>& left, std::size_t devices);

}  // namespace lockstep
