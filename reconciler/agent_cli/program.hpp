// The command line of lockstep-agent: `run` (the daemon), and for the machine's operator `status`, `hold`,
// `release`, `acknowledge` and `check`.
//
// Contract: exit codes 0 (done), 1 (error, or `status`: writes are refused), 2 (usage). `hold` and
// `acknowledge` return when they are in effect, whether the agent runs or not. `run` ends on SIGTERM and
// SIGINT after it has stopped running calls; what is armed stays in the journal and goes on at the next
// start. It tells systemd when it is ready, and feeds its watchdog unless a rollback is stuck.
#pragma once

namespace lockstep::agent {

int run_program(int argc, const char* const* argv);

}  // namespace lockstep::agent
