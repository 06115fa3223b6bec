// make_frr_driver: the driver seam over FRR's daemons, each by its own vty socket.
//
// Promises: owns only the lines that its rows stand for; all others (prefix lists, route maps, descriptions,
// numbered neighbours, other VRFs) are left as they are. What apply() did is saved, before it answers, to
// where FRR's next start loads it from; whether it is saved is a row of its own. Sessions are reported as
// effects; routes are not: the kernel's forwarding table is the linux driver's to read. Refuses: undo_after
// and settle(undo) (FRR has no commit timer; the engine undoes by a plan), an epoch older than one that it
// has seen.
#pragma once

#include <functional>
#include <string>

#include "drivers/driver.hpp"

namespace lockstep {

struct FrrTarget {
  std::string device;
  std::string run_dir;      // holds zebra.vty, bgpd.vty, bfdd.vty, staticd.vty
  std::string config_file;  // integrated frr.conf, whether it is there or not; empty: nothing is saved
  std::string netns_path;   // where the daemons run; not needed to reach them, kept for messages
  // Ends what is left of a daemon ("bgpd") and starts it with what is saved; none: that is somebody else's
  // work (watchfrr's, systemd's).
  std::function<Result<Done>(const std::string& daemon, const Call&)> restart{};
};

Attached make_frr_driver(FrrTarget target);

}  // namespace lockstep
