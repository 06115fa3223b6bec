// The output of `lockstep watch`: events, and the outcome of healing.
#pragma once

#include <string>
#include <vector>

#include "reconciler/report/terminal.hpp"
#include "reconciler/session/cluster_session.hpp"

namespace lockstep {

std::string watching_text(const std::string& title, const Terminal& terminal);

// One line per event; as JSON: one document per line (JSON Lines), an item as the report of `drift` has it
// (as it was, where it cleared), and which event, how fast.
std::string watch_event_text(const WatchEvent& event, const Terminal& terminal);
std::string watch_event_json(const WatchEvent& event);

// Not for a healing without a plan: that is an error.
std::string healing_text(const Healing& healing);

// Devices that are not healed from now on (WatchRequest::stands_back).
std::string stands_back_text(const std::vector<std::string>& devices);
std::string stands_back_json(const std::vector<std::string>& devices);

// Specs that were edited: loaded, so that what still differs is reported anew; or refused, so that those stay
// in force that were loaded last. As text the reason goes to standard error.
std::string specs_loaded_text();
std::string specs_loaded_json();
std::string specs_refused_text();
std::string specs_refused_json(const Sources& sources, const Diagnostics& diagnostics);

// Which devices --converge does not heal; empty: it heals all. `devices`: how many there are.
std::string not_converging_text(const std::vector<std::string>& left, std::size_t devices);

}  // namespace lockstep
