// The daemon: the drivers of this machine, the dead-man over them, the server in front, and who keeps time.
//
// Contract: what is armed is rolled back in time from the first moment, whether the machine can be reached or
// not. An address that can't be listened on is tried again every second, for good. A configuration or
// credentials that can never be served end the daemon with 1, but not before nothing is armed any more; of a
// configuration that can't be read, that of the last start says what to roll back. What it says of itself:
// left_files.hpp.
#pragma once

#include <string>

namespace lockstep::agent {

// Runs by the configuration in `file` until SIGTERM or SIGINT; returns the exit code. Errors and notices go
// to standard error, one line each, with the priorities of sd-daemon(3) if systemd reads them. `ready`: a
// file to make once it serves; empty: none.
int run_daemon(const std::string& file, const std::string& ready);

}  // namespace lockstep::agent
