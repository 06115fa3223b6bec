// What earlier runs left, for people and programs: interrupted changes, changes that are not validated yet,
// and entries that no object of the specs mentions any more.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/report/terminal.hpp"
#include "reconciler/session/owed.hpp"

namespace lockstep {

// "change 7 (begun 2026-11-21T10:05:26Z by ann) on entry[0-1]".
std::string owed_sentence(const OwedChange& owed);
nlohmann::json owed_json(const std::vector<OwedChange>& owed);

// What the current run does about them: one line each, without a newline.
std::string in_flight_line(const InFlight& begun, const Terminal& terminal);
std::string owed_line(const OwedDecision& decision, const Terminal& terminal);

std::string unjudged_text(const Unjudged& all, const Terminal& terminal);

// "left as they are: ..." for each object; may be empty.
std::string left_behind_text(const std::vector<WrittenEntry>& left);
nlohmann::json left_behind_json(const std::vector<WrittenEntry>& left);

}  // namespace lockstep
