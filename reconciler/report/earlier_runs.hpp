// Leftovers of earlier runs, for people and programs: interrupted changes, changes that are not validated
// yet, and entries that no object of the specs sets any more.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/report/terminal.hpp"
#include "reconciler/session/owed.hpp"

namespace lockstep {

// "change 7 (begun 2026-11-21T10:05:26Z by ann) on entry[0-1]".
// An outcome or a step's state as text shows it: "rolled back" for "undone". JSON and the journal keep the
// stored word.
std::string outcome_words(std::string_view outcome);

std::string owed_sentence(const OwedChange& owed);
nlohmann::json owed_json(const std::vector<OwedChange>& owed);

// How the current run handles them: one line each, without a newline.
std::string in_flight_line(const InFlight& begun, const Terminal& terminal);
std::string owed_line(const OwedDecision& decision, const Terminal& terminal);

std::string unjudged_text(const Unjudged& all, const Terminal& terminal);

// "left as they are: ..." for each object; may be empty.
std::string left_behind_text(const std::vector<WrittenEntry>& left);
nlohmann::json left_behind_json(const std::vector<WrittenEntry>& left);

}  // namespace lockstep
