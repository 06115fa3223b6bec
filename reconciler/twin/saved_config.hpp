// Loads the saved configuration of a device (frr.conf, all daemons in one file) into one restarted daemon, as
// `vtysh -b` does on a switch: a daemon that reads the file itself loses its place at the first block that it
// does not know (FRR 8.4: the block's "exit" leaves configuration mode).
//
// Promises: blocks of other daemons are skipped. A line of a known block that the daemon refuses is an error
// that names it.
#pragma once

#include <string>

#include "drivers/posix/call.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// Without a file, or with an empty one, there is nothing to load.
Result<Done> tell_saved_config(const std::string& run_dir, const std::string& config_file,
                               const std::string& daemon, const Call& call);

}  // namespace lockstep
