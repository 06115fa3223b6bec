// make_sonic_patch_driver: the driver interface over a SONiC switch's own commands, through ssh: reads with
// sonic-cfggen and sonic-db-dump, writes with `config apply-patch`.
//
// Promises: the same entries as over Redis (map.hpp), and the same judge before anything is sent: a plan
// whose every state is valid (config_plan.hpp), which also says which ports are shut down meanwhile. The
// order is SONiC's. What its allow-list refuses (patch_limits.hpp) is refused per change, and the rest is
// applied; what the switch's dry run refuses is refused with its words, and nothing is applied. Changes
// apply only to rows that are as they were read, and a checkpoint is taken before the first of a transaction
// (not before its retries). After each apply the configuration is read back: an outcome
// without error was seen there. Where the connection is lost, or the call ends, while SONiC applies, all are
// unknown, SONiC goes on, and the next observation waits for it. Ports that were up and that a failed apply
// left down are brought up.
// It is not atomic: SONiC applies change by change and does not go back where one fails; ports whose queues,
// buffers or maps change are shut down meanwhile; a change takes seconds to minutes (docs/sonic.md).
// Refuses: undo_after and settle(undo) (SONiC has no commit timer; the engine rolls back with a plan), and an
// epoch older than one that this driver has seen: the switch itself can't fence off an old leader. Watches
// nothing: the switch is polled. Never runs `config save`.
#pragma once

#include <string>

#include "drivers/driver.hpp"
#include "drivers/sonic/ssh_command.hpp"

namespace lockstep {

struct SonicPatchTarget {
  std::string device;
  sonic::SshServer server;
  std::string models{};  // folder of SONiC's YANG models; empty: the built-in rules
  // Tests put others in their place.
  std::string ssh_program = "ssh";
  std::string checkpoints = "/etc/sonic/checkpoints";
};

Attached make_sonic_patch_driver(SonicPatchTarget target);

}  // namespace lockstep
