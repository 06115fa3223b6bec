// A DriftReport for people, programs and CI tools: text, JSON, Markdown (a merge request's comment), SARIF
// 2.1.0 (OASIS), JUnit XML, GitLab code quality JSON and GitHub workflow commands, each with the line of the
// spec.
//
// Every form includes what could not be observed; only differences (and what is unobserved) are failures.
// Markdown fits into a comment of GitHub, however much differs, and SARIF into what it takes of results, the
// most severe: both say how much they leave out.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/engine/status.hpp"
#include "reconciler/report/plan_text.hpp"
#include "reconciler/report/terminal.hpp"
#include "reconciler/session/reach.hpp"

namespace lockstep {

// Folded: entries that devices do not support are counted, not listed.
std::string drift_text(const DriftReport& report, const Terminal& terminal, Detail detail = Detail::folded);
// The same under the cluster's title, with the drivers' notes.
std::string drift_of_text(const std::string& title, const DriftReport& report,
                          const std::vector<DeviceState>& states, const Terminal& terminal,
                          Detail detail = Detail::folded);
// Folded: entries that devices do not support are summarised, not listed.
nlohmann::json drift_json(const DriftReport& report, Detail detail = Detail::folded);
std::string drift_markdown(const DriftReport& report, const std::string& cluster);
std::string drift_sarif(const DriftReport& report);
std::string drift_junit(const DriftReport& report, const std::string& cluster);
std::string drift_gitlab(const DriftReport& report);
std::string drift_github(const DriftReport& report);

// Effects that differ, and differences that require manual action, one line per reason; empty: neither.
std::string unmended_text(const DriftReport& report, const Terminal& terminal);

// Findings that are no difference, and state that specs allow, one per line; empty: neither.
std::string findings_text(const DriftReport& report, const Terminal& terminal);

// The same for a plan, in three lists.
nlohmann::json unmended_json(const DriftReport& report);

// An item of drift_json.
nlohmann::json drift_item_json(const DriftEntry& entry);

// Values in their units, "9000"; "(absent)" for none.
std::string want_text(const DriftEntry& item);
std::string have_text(const DriftEntry& item);
// "gpu1 interface[rail0]/mtu: desired 9000, actual 1500"; with the reason if it requires manual action.
std::string drift_sentence(const DriftEntry& item);
// "gpu1 was not observed: connection refused".
std::string unobserved_sentence(const Unobserved& one);
// "not observed: gpu[1-2]: connection refused".
std::string not_observed_line(const NotObserved& some, const Terminal& terminal);

}  // namespace lockstep
