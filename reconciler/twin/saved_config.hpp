// The saved configuration of a device (frr.conf, all daemons in one file), told to one daemon that has been
// started again, as `vtysh -b` does on a switch: a daemon given the file itself loses its place in it at the
// first block that it does not know (FRR 8.4: the block's "exit" leaves configuration mode).
//
// Promises: blocks of other daemons are passed over. Refuses nothing else: a line of a known block that the
// daemon refuses is an error that names it.
#pragma once

#include <string>

#include "drivers/posix/call.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// No file, or an empty one: there is nothing to tell.
Result<Done> tell_saved_config(const std::string& run_dir, const std::string& config_file,
                               const std::string& daemon, const Call& call);

}  // namespace lockstep
