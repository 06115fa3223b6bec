// save_running: writes what the daemons run to where FRR's next start loads it from (saved.hpp), so that a
// restart comes back as it is now: to the integrated frr.conf, or has each daemon write its own file.
//
// Promises: frr.conf is the old one or the new one, never part of either, and keeps its owner and its mode
// (specs/files/replace_file.hpp); lines that belong to vtysh itself (`service integrated-vtysh-config`,
// `username`) stay; a file that says the same already is not touched. Refuses to write when a daemon whose
// socket is there does not answer: its lines would be lost.
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
