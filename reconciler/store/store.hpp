// Store: what a cluster's controller remembers, in one state directory: the history of its changes, who
// leads, blobs, and what was measured. By default one SQLite file (journal.sqlite) and a file lock beside it.
//
// Promises: reading needs no leadership and makes no file: a store that was never begun is empty. Whoever
// leads writes, and whoever measures records that (runs.hpp). What was written survives a kill -9 or a power
// cut (WAL and synchronous=FULL, both checked). Opening and closing is cheap; any number of readers, in one
// process or many, go on while one writes or backs up. A reader that is open while the first writer begins
// sees what that one writes. Refuses: a file of a newer layout (unsupported); one that is damaged, or where
// SQLite can't have a write-ahead log (refused). Each error names the file and what to do.
//
// A store is for one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "drivers/posix/call.hpp"
#include "reconciler/store/blobs.hpp"
#include "reconciler/store/history.hpp"
#include "reconciler/store/leadership.hpp"
#include "reconciler/store/runs.hpp"

namespace lockstep {

class Store {
 public:
  virtual ~Store() = default;
  virtual Leadership& leadership() = 0;
  virtual History& history() = 0;
  virtual Blobs& blobs() = 0;
  virtual Runs& runs() = 0;
};

// Which object says an entry, and whether it wants back what was found once it is gone.
struct SaidBy {
  std::string object{};  // "HostProfile/training"; empty: none
  bool restore = false;
};

struct StoreOptions {
  // Of the cluster, stored by its first writer: a restore compares it. Empty: not stored.
  std::string cluster{};
  // What is dated "now"; a simulation gives its own.
  std::function<WallTime()> now = std::chrono::system_clock::now;
  // Of what a ticket writes; null: nobody knows.
  std::function<SaidBy(const std::string& device, Path path)> said_by{};
};

// `directory` is made by the first who takes leadership.
Result<std::unique_ptr<Store>> open_store(const std::string& directory, const StoreOptions& options = {});

}  // namespace lockstep
