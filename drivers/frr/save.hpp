// save_running: writes the daemons' running configuration to where FRR loads it at its next start
// (saved.hpp), so that a restart restores the current state: to the integrated frr.conf, or by having each
// daemon write its own file.
//
// Promises: frr.conf is either the old or the new file, never part of one, and keeps its owner and its mode
// (specs/files/replace_file.hpp); lines that belong to vtysh itself (`service integrated-vtysh-config`,
// `username`) stay; a file with the same content is not rewritten. Refuses to write when a daemon whose
// socket exists does not answer: its lines would be lost.
#pragma once

#include <string>

#include "drivers/frr/running_config.hpp"
#include "drivers/posix/call.hpp"

namespace lockstep::frr {

// The running configuration of all daemons that have a socket in `run_dir`, as `vtysh write integrated`
// would join it.
Result<RunningConfig> read_all(const std::string& run_dir, const Call& call);

Result<Done> save_running(const std::string& run_dir, const std::string& config_file, const Call& call);

}  // namespace lockstep::frr
