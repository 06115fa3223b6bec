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

// Which devices --converge does not heal; empty: it heals all. `devices`: how many there are.
std::string not_converging_text(const std::vector<std::string>& left, std::size_t devices);

}  // namespace lockstep
