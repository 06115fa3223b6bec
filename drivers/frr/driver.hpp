// make_frr_driver: the driver interface over FRR's daemons, each through its own vty socket.
//
// Promises: owns only the lines that its rows map to; all others (prefix lists, route maps, descriptions,
// numbered neighbours, other VRFs) stay as they are. What apply() did is saved, before it returns, to where
// FRR loads its configuration at the next start; whether it is saved is a row of its own. Sessions are
// reported as effects; routes are not, because the linux driver reads the kernel's forwarding table. Refuses:
// undo_after and settle(undo) (FRR has no commit timer; the engine rolls back with a plan), and an epoch
// older than one that it has seen.
#pragma once

#include <functional>
#include <string>

#include "drivers/driver.hpp"

namespace lockstep {

struct FrrTarget {
  std::string device;
  std::string run_dir;      // holds zebra.vty, bgpd.vty, bfdd.vty, staticd.vty
  std::string config_file;  // integrated frr.conf, whether it exists or not; empty: nothing is saved
  std::string netns_path;   // where the daemons run; not needed to connect to them, kept for messages
  // Kills a remaining daemon ("bgpd") and starts it with the saved configuration; none: restarting is left to
  // another service (watchfrr, systemd).
  std::function<Result<Done>(const std::string& daemon, const Call&)> restart{};
};

Attached make_frr_driver(FrrTarget target);

}  // namespace lockstep
