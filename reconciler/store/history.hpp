// History: the ledger (engine/ledger.hpp) with what those who come after read from it: changes that were
// begun and not ended, changes that nobody judged yet, and what changes of ours wrote.
//
// Promises: each call that writes is one transaction: it happened and lasts when it returns, or did not
// happen. Writes are refused (denied) without leadership, and when somebody else has taken it since.
// Ended changes that kRetention does not keep go when a change begins, with their tickets, in its
// transaction; so do cures beyond kCureWindowMax. What is in flight, owed or written stays whatever its age.
// A change that ends and wrote nothing is owed no verdict.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/engine/ledger.hpp"

namespace lockstep {

// A change that a run had begun and not ended.
struct InFlight {
  std::uint64_t change = 0;
  std::string begun;  // "2026-11-21T10:05:26Z"
  std::string author;
  std::string plan;                     // JSON
  std::vector<LedgerTicket> unsettled;  // tickets that may have happened
  std::vector<LedgerTicket> kept;       // tickets verified before the run died
};

// An entry that changes of ours have written, or may have: it is there from the ticket on, before the write;
// until it holds again what was found before the first.
struct WrittenEntry {
  std::string device;
  Path path;
  Value found;
  Value wrote;  // last, as far as it was verified; `found`: nothing was
  // What a write that failed, was interrupted or is under way may have left there; none: no such write since.
  std::optional<Value> tried;
  bool restore =
      false;           // onDelete: restore, as the object that last said it was kept; before that, as it said
  std::string object;  // "Fabric/backend"
};

struct ChangeRecord {
  std::uint64_t change = 0;
  std::string begun;
  std::string ended;  // empty: in flight
  std::string outcome;
  std::string author;
  std::string reason;
  std::string digest;
};

// What a change wrote to, as far as it came.
struct TouchedDevices {
  std::size_t steps = 0;
  std::vector<std::string> devices;  // sorted
  bool remedies = false;             // some were planned: they write no tickets
  bool none() const { return steps == 0 && !remedies; }
};

struct RecordedTicket {
  LedgerTicket ticket;
  TicketState state = TicketState::begun;
  std::string begun;
  std::string note;
};

struct HistoryTotals {
  std::uint64_t changes = 0;
  std::uint64_t tickets = 0;
  std::uint64_t cures = 0;
  std::uint64_t written = 0;  // settings
};

// How long an ended change is kept that nobody has to judge any more.
struct Retention {
  std::size_t newest;      // these stay whatever their age
  std::chrono::hours age;  // younger ones stay, up to `most`
  std::size_t most;        // and never more than these
};
// Choices. A quiet cluster changes a few times a week: 1,000 changes are years of it. 90 days are a quarter,
// the period after which somebody asks what was done. 10,000 are 110 a day for that quarter, more than people
// make: beyond it is a loop that heals and fails, and the file must not grow with it.
inline constexpr Retention kRetention{1000, std::chrono::hours(24) * 90, 10'000};
// Refused steps, the newest. A change of 4,096 hosts has about as many: room for the last 24 of them.
inline constexpr std::size_t kRefusedMost = 100'000;

class History : public Ledger {
 public:
  // Oldest first.
  virtual Result<std::vector<InFlight>> in_flight() const = 0;
  // What was written under a gate that never answered. Oldest first, and without `before`.
  virtual Result<std::vector<OwedChange>> owed() const = 0;
  // What keep_before() got of a change that is owed; an error: it is damaged.
  virtual Result<std::optional<GateMeasurement>> kept_before(std::uint64_t change) const = 0;
  // Newest first.
  virtual Result<std::vector<ChangeRecord>> changes(std::size_t newest = 20) const = 0;
  virtual Result<std::optional<ChangeRecord>> change(std::uint64_t number) const = 0;
  virtual Result<TouchedDevices> touched(std::uint64_t change) const = 0;
  // In the order of the writes.
  virtual Result<std::vector<RecordedTicket>> tickets(std::uint64_t change) const = 0;
  virtual Result<HistoryTotals> totals() const = 0;

  // By device and path.
  virtual Result<std::vector<WrittenEntry>> written() const = 0;
  // Makes entries that are there as these are, but for `found`; others are left alone. One that holds nothing
  // of ours (`found` is `wrote`, nothing was tried) is forgotten.
  virtual Result<Done> note(const std::vector<WrittenEntry>& entries) = 0;
  virtual Result<Done> forget(const std::vector<WrittenEntry>& entries) = 0;
};

}  // namespace lockstep
