// The machines that a session changes, by what they are (Attached::machine) and not by what specs call them.
//
// Promises: one writer a machine, from whatever cluster, checkout or state directory it comes; the lock ends
// with its owner. What changed a machine before remembers who was there (the deletion guard), what was
// written and what was never measured: whose state is another directory (a cluster of another name or UUID,
// or another LOCKSTEP_STATE_DIR) is refused until that is taken over (`lockstep state adopt`), so that no
// guard starts from nothing. That is told by a record on the machine, which no state directory has a say in.
// A record that can't be read refuses too.
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
  std::string locks;    // gone with a boot, as locks are
  std::string records;  // for good
};
// The machine's own, whatever LOCKSTEP_STATE_DIR says: locks in /run/lockstep/locks for root and
// $XDG_RUNTIME_DIR/lockstep for others, records in /var/lib/lockstep/machines and ~/.local/state; both where
// LOCKSTEP_RUN_DIR says.
MachineFolders machine_folders();

// What changes a machine.
struct MachineUser {
  std::string cluster;    // as specs name it
  std::string folder;     // of the specs
  std::string directory;  // of its state
  std::string uuid{};     // empty: it had none yet
};

// What whoever changes devices holds.
struct Lead {
  std::unique_ptr<Store> store;  // led
  std::vector<FileLock> machines;
};

class Machines {
 public:
  Machines() = default;
  // `recorded`: of real machines; a twin is its folder's and goes with it.
  Machines(std::vector<std::string> machines, MachineFolders folders, bool recorded);

  // Conflict: another process changes one of them. Refused: another cluster's state holds what is
  // remembered of one. Else this user's state does from now on.
  Result<std::vector<FileLock>> take(const MachineUser& user, const std::string& command, WallTime now) const;
  // Why take() would refuse, whoever has the locks; empty: it would not. Takes and writes nothing.
  std::string why_refused(const MachineUser& user) const;

 private:
  std::vector<std::string> machines_;  // sorted, each once
  MachineFolders folders_;
  bool recorded_ = false;
};

// Who changed this machine last; none: nobody that is known.
Result<std::optional<MachineUser>> last_user(const std::string& machine, const MachineFolders& folders);

// What a state directory holds, put into `user`'s, whose own is kept beside; from then on it is the
// machine's. Refused: nothing else changed the machine before.
struct Adopted {
  MachineUser from;
  Restored restored;
};
Result<Adopted> adopt(const std::string& machine, const MachineFolders& folders, const MachineUser& user,
                      const std::string& command, const StoreOptions& options);

}  // namespace lockstep
