// Store: what a cluster's controller stores in one state directory: the history of its changes, who leads,
// blobs, and what was measured. By default one SQLite file (journal.sqlite) and a file lock beside it.
//
// Promises: reading needs no leadership and creates no file: a store that was never written is empty. The
// leader writes, and a measuring process records its runs (runs.hpp). What was written survives a kill -9 or
// a power cut (WAL and synchronous=FULL, both checked). Opening and closing is cheap; any number of readers,
// in one process or many, continue while one process writes or backs up. A reader that is open when the first
// writer begins sees what is written. Refuses: a file of a newer layout (unsupported); one that is damaged,
// or where SQLite can't have a write-ahead log (refused). Each error names the file and what to do.
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

// Which object sets an entry, and whether the found value is restored once the object is removed.
struct SaidBy {
  std::string object{};  // "HostProfile/training"; empty: none
  bool restore = false;
};

struct StoreOptions {
  // The cluster, stored by its first writer and compared by a restore. Empty: not stored.
  std::string cluster{};
  // The current time; a simulation passes its own.
  std::function<WallTime()> now = std::chrono::system_clock::now;
  // The object that sets what a ticket writes; null: unknown.
  std::function<SaidBy(const std::string& device, Path path)> said_by{};
};

// `directory` is created by the first process that takes leadership.
Result<std::unique_ptr<Store>> open_store(const std::string& directory, const StoreOptions& options = {});

}  // namespace lockstep
