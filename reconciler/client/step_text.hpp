// The steps of a revision that wait, as people review them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reconciler/report/terminal.hpp"

namespace lockstep::client {

// `steps`: of status.waiting. Each with its digest, what it changes, and why it waits; nothing is shortened.
std::string steps_text(const std::vector<const nlohmann::json*>& steps, const Terminal& terminal);
// "0123456789ab": the start of a digest, as --step takes it.
std::string short_digest(const std::string& digest);

}  // namespace lockstep::client
