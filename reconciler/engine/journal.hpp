// Journal: the engine's memory on disk, one SQLite file in a state directory, and the lock of the one writer.
//
// Promises: what was written survives a kill -9 or a power cut (WAL, synchronous=FULL); a ticket is there
// before the write that it names; one writer at a time for each state directory, by a file lock that dies
// with its owner; every owner has a higher epoch than all before it. Refuses: a second writer (the message
// says who holds it, since when, and with which command), and a file of a newer schema. A reader of a journal
// that was never begun finds it empty.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/engine/file_lock.hpp"
#include "reconciler/engine/ledger.hpp"

struct sqlite3;

namespace lockstep {

struct JournalOptions {
  std::string command;     // shown to whoever finds the lock taken
  bool read_only = false;  // no lock, no epoch, no writing
};

// A change that a run had begun and not ended.
struct InFlight {
  std::uint64_t change = 0;
  std::string begun;  // "2026-11-21T10:05:26Z"
  std::string author;
  std::string plan;                     // JSON
  std::vector<LedgerTicket> unsettled;  // tickets that may have happened
  std::vector<LedgerTicket> kept;       // tickets verified before the run died
};

// An entry that changes of ours have written, and that does not hold again what was found before the first.
struct WrittenEntry {
  std::string device;
  Path path;
  Value found;
  Value wrote;  // last, as far as it was verified; `found`: nothing was
  // What a write that failed or was interrupted may have left there; none: no such write since.
  std::optional<Value> tried;
  bool restore = false;  // as the object that last said it was kept: onDelete: restore
  std::string object;    // "Fabric/backend"
};

struct JournalChange {
  std::uint64_t change = 0;
  std::string begun;
  std::string ended;  // empty: in flight
  std::string outcome;
  std::string author;
  std::string reason;
  std::string digest;
};

class Journal final : public Ledger {
 public:
  static Result<std::unique_ptr<Journal>> open(const std::string& directory, const JournalOptions& options);
  ~Journal() override;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  std::uint64_t epoch() const override { return epoch_; }
  Result<std::uint64_t> begin(const Plan& plan, const std::string& author,
                              const std::string& reason) override;
  Result<Done> ticket(std::uint64_t change, const LedgerTicket& ticket) override;
  Result<Done> receipt(const std::string& ticket, TicketState state, const std::string& note) override;
  Result<Done> gate(std::uint64_t change, GateState state) override;
  Result<Done> end(std::uint64_t change, const std::string& outcome) override;
  Result<Done> cure(const std::string& device, const std::string& remedy, WallTime at) override;
  Result<std::size_t> cures(const std::string& device, const std::string& remedy,
                            WallTime since) const override;

  // What a killed run had begun. Oldest first.
  Result<std::vector<InFlight>> in_flight() const;
  // What was written under a gate that never answered. Oldest first.
  Result<std::vector<OwedChange>> owed() const;
  Result<std::vector<JournalChange>> changes(std::size_t newest = 20) const;

  // By device and path.
  Result<std::vector<WrittenEntry>> written() const;
  // Makes entries that are there as these are, but for `found`; others are left alone. One that holds nothing
  // of ours (`found` is `wrote`, nothing was tried) is forgotten.
  Result<Done> note(const std::vector<WrittenEntry>& entries);
  Result<Done> forget(const std::vector<WrittenEntry>& entries);

  // Blobs by key: accepted baselines, the last accepted set of devices. Empty optional: never written.
  Result<Done> keep(const std::string& key, const nlohmann::json& blob);
  Result<std::optional<nlohmann::json>> kept(const std::string& key) const;

 private:
  Journal();
  Result<Done> remember_writes(const std::string& ticket, bool verified);
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Closer> database_;
  std::optional<FileLock> lock_;
  std::uint64_t epoch_ = 0;
  int layout_ = 0;  // of the file: a reader leaves an older one as it is
};

}  // namespace lockstep
