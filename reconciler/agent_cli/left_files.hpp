// What the daemon leaves beside its journal, for the machine's operator and for its next start.
#pragma once

#include <string>

#include "reconciler/agent/config.hpp"

namespace lockstep::agent {

// Whether it is reached, in words: "listening on [::]:7443". Of an agent that runs; empty: it has not said.
Result<Done> leave_reached(const std::string& folder, const std::string& words);
std::string read_reached(const std::string& folder);

// A copy of the configuration that was read from `file`: a later one that can't be used must not stop the
// rollback of what is armed.
Result<Done> leave_config(const std::string& folder, const std::string& file);
// That copy, from the folder that systemd names (STATE_DIRECTORY, systemd.exec(5)), or else the usual one.
Result<Config> read_left_config(const std::string& host);

}  // namespace lockstep::agent
