// The daemon: the drivers of this machine, the dead-man over them, the server in front, and the loop that
// keeps time.
#pragma once

#include "reconciler/agent/config.hpp"

namespace lockstep::agent {

// Runs until SIGTERM or SIGINT; returns the exit code. Errors and notices go to standard error, one line
// each, with the priorities of sd-daemon(3) if systemd reads them.
// `ready`: a file to make once it serves; empty: none.
int run_daemon(const Config& config, const std::string& ready);

}  // namespace lockstep::agent
