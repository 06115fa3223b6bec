// History: the ledger (engine/ledger.hpp) plus what later runs read from it: changes that were begun and not
// ended, changes that are not validated yet, and what lockstep's changes wrote.
//
// Promises: each call that writes is one transaction: when it returns, it either happened and is durable, or
// did not happen. Writes are refused (denied) without leadership, and when another process has taken it
// since. Ended changes outside kRetention are deleted with their tickets when a change begins, in its
// transaction; so are remedy tries older than kCureWindowMax. Changes in flight or not validated yet and
// written entries stay, whatever their age. A change that ends without having written anything needs no
// validation.
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
  std::vector<LedgerTicket> unsettled;  // tickets whose outcome is unknown
  std::vector<LedgerTicket> kept;       // tickets verified before the run died
};

// An entry that lockstep's changes have written, or may have written: stored with the ticket, before the
// write; until it has the value again that was found before the first write.
struct WrittenEntry {
  std::string device;
  Path path;
  Value found;
  Value wrote;  // the last verified value; equal to `found`: none
  // The value that a failed, interrupted or running write may have left there; none: no such write since.
  std::optional<Value> tried;
  bool restore = false;  // onDelete: restore of `object`, as last noted
  std::string object;    // "Fabric/backend"
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

// What a change wrote, as far as it got.
struct TouchedDevices {
  std::size_t steps = 0;
  std::vector<std::string> devices;  // sorted
  bool remedies = false;             // some were planned: remedies write no tickets
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

// How long an ended change is kept once it needs no validation any more.
struct Retention {
  std::size_t newest;      // these stay whatever their age
  std::chrono::hours age;  // younger ones stay, up to `most`
  std::size_t most;        // and never more than these
};
// Choices. A quiet cluster changes a few times a week: 1,000 changes cover years. 90 days are a quarter,
// after which past changes are usually reviewed. 10,000 are 110 a day for that quarter, more than users make:
// beyond that is a loop that heals and fails, and the file must not grow with it.
inline constexpr Retention kRetention{1000, std::chrono::hours(24) * 90, 10'000};
// Refused steps, the newest. A change of 4,096 hosts has about as many: room for the last 24 such changes.
inline constexpr std::size_t kRefusedMost = 100'000;

class History : public Ledger {
 public:
  // Oldest first.
  virtual Result<std::vector<InFlight>> in_flight() const = 0;
  // Changes written under a gate that never answered. Oldest first, and without `before`.
  virtual Result<std::vector<OwedChange>> owed() const = 0;
  // The measurement stored by keep_before() for a change that is not validated yet; an error: it is damaged.
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
  // Updates existing entries to these, except `found`; all others are left as they are. An entry that has
  // nothing of ours any more (`found` equals `wrote`, nothing was tried) is deleted.
  virtual Result<Done> note(const std::vector<WrittenEntry>& entries) = 0;
  virtual Result<Done> forget(const std::vector<WrittenEntry>& entries) = 0;
};

}  // namespace lockstep
