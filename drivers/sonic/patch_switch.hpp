// PatchSwitch: the commands of a SONiC switch that reading it and `config apply-patch` take, over ssh.
//
// Promises: read() takes one connection, changes nothing, and waits for a change of ours that still runs on
// the switch. try_patch() has SONiC judge a patch and changes nothing (`apply-patch -d`). apply_patch()
// applies it alone: a lock on the switch (~/.lockstep-apply-patch.lock) admits one at a time among all
// controllers that log in as the same user; SONiC itself has none (sonic-utilities 691b1bbc,
// generic_config_updater/generic_updater.py, ConfigLock). What it has begun goes on if the connection is
// lost, since half a change is worse; a patch that arrives late is refused where a row that it changes has
// changed (config_patch.hpp). It is not atomic: SONiC makes changes one by one and stops where one
// fails. The patch travels on standard input to a file that only its user and root can read, and that is
// removed with the command's end. `sudo -n` never asks.
// Of the checkpoints that it takes (`config checkpoint lockstep-TRANSACTION`) the newest kPatchCheckpoints
// stay.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/patch_limits.hpp"
#include "drivers/sonic/ssh_command.hpp"
#include "drivers/sonic/switch_state.hpp"
#include "drivers/sonic/taken_over.hpp"

namespace lockstep::sonic {

// Chosen: the last changes of a day's work.
inline constexpr int kPatchCheckpoints = 10;

struct PatchReading {
  ConfigDb config;
  std::string config_text;  // as the switch printed it
  std::string boot_id;      // of its kernel
  SwitchState state;
  PatchPorts supported;  // of ports
  TakenOver taken_over;  // without ASIC_DB
  std::optional<Error> taken_over_unread;
  std::optional<Error> ports_unread, sessions_unread, hash_seed_unread, groups_unread, capabilities_unread;
};

class PatchSwitch {
 public:
  struct Wants {
    bool ports = false;      // state.ports
    bool sessions = false;   // state.sessions
    bool supported = false;  // supported
    bool hash_seed = false;  // state.hash_seed, and so on
    bool groups = false;
    bool capabilities = false;
    bool taken_over = false;  // needs ports
  };
  // `checkpoints`: where `config checkpoint` writes (generic_updater.py, CHECKPOINTS_DIR).
  explicit PatchSwitch(SshCommand ssh, std::string checkpoints = "/etc/sonic/checkpoints")
      : ssh_(std::move(ssh)), checkpoints_(std::move(checkpoints)) {}

  const SshServer& server() const { return ssh_.server(); }

  // Transient: the switch can't be reached, CONFIG_DB is not initialised, or a change still runs.
  Result<PatchReading> read(Wants wants, const Call& call) const;
  // After any error nothing has changed. Refused: SONiC refuses the patch, in its words. Conflict: a row that
  // the patch tests has changed.
  Result<Done> try_patch(const std::string& patch, const Call& call) const;
  // Unknown outcome: what SONiC did is not known, and it may still do it. `begun` of any other error: SONiC
  // may have made some of the changes before it failed; else none.
  struct Failure {
    Error error;
    bool begun = false;
  };
  // `transaction`: of the checkpoint that is taken first; empty: none is.
  std::optional<Failure> apply_patch(const std::string& patch, std::string_view transaction,
                                     const Call& call) const;
  // `config interface startup` for each.
  Result<Done> raise_ports(std::span<const std::string> ports, const Call& call) const;

 private:
  SshCommand ssh_;
  std::string checkpoints_;
};

// What `config apply-patch` says of its failure in what it printed: without the patch, which may have
// passwords, in one line.
std::string patch_failure(std::string_view printed);

// The rows of a table in what `sonic-db-dump -y` prints, by key.
Result<StateRows> rows_of_dump(std::string_view text, std::string_view table, char separator);

}  // namespace lockstep::sonic
