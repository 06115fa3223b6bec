// The machines that a session changes, identified by Attached::machine and not by their names in the specs.
//
// Promises: one writer per machine, from any cluster, checkout or state directory; the lock ends with its
// owner. The state of whoever changed a machine before contains the accepted devices (the deletion guard),
// what was written and what was never measured: a run with another state directory (a cluster of another name
// or UUID, or another LOCKSTEP_STATE_DIR) is refused until that state is taken over (`lockstep state adopt`),
// so that no guard starts from nothing. A record on the machine decides this, independent of any state
// directory. A record that can't be read is a refusal too.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/store/backup.hpp"
#include "reconciler/store/file_lock.hpp"
#include "reconciler/store/store.hpp"

namespace lockstep {

struct MachineFolders {
  std::string locks;    // removed at boot, as locks are
  std::string records;  // permanent
};
// The machine's own folders, independent of LOCKSTEP_STATE_DIR: locks in /run/lockstep/locks for root and
// $XDG_RUNTIME_DIR/lockstep for others, records in /var/lib/lockstep/machines and ~/.local/state; both in
// LOCKSTEP_RUN_DIR if that is set.
MachineFolders machine_folders();

// The cluster and state directory that change a machine.
struct MachineUser {
  std::string cluster;    // its name in the specs
  std::string folder;     // of the specs
  std::string directory;  // of its state
  std::string uuid{};     // empty: it had none at that time
};

// What a process that changes devices holds.
struct Lead {
  std::shared_ptr<Store> store;  // with leadership
  std::vector<FileLock> machines;
  bool lasts = false;  // leadership outlives this: its owner resigns it
};

class Machines {
 public:
  Machines() = default;
  // `recorded`: for real machines; a twin belongs to its folder and is removed with it.
  Machines(std::vector<std::string> machines, MachineFolders folders, bool recorded);

  // Conflict: another process changes one of them. Refused: the state for one of them is another cluster's.
  // Otherwise this user's state holds it from now on.
  Result<std::vector<FileLock>> take(const MachineUser& user, const std::string& command, WallTime now) const;
  // Why take() would refuse, whoever has the locks; empty: it would not. Takes and writes nothing.
  std::string why_refused(const MachineUser& user) const;

 private:
  std::vector<std::string> machines_;  // sorted, each once
  MachineFolders folders_;
  bool recorded_ = false;
};

// Who changed this machine last; none: nothing is recorded.
Result<std::optional<MachineUser>> last_user(const std::string& machine, const MachineFolders& folders);

// Moves the content of the state directory that the machine's record names into `user`'s, and keeps a copy of
// what was there before; the record names `user` from then on. Refused: nothing else changed the machine
// before.
struct Adopted {
  MachineUser from;
  Restored restored;
};
Result<Adopted> adopt(const std::string& machine, const MachineFolders& folders, const MachineUser& user,
                      const std::string& command, const StoreOptions& options);

}  // namespace lockstep
