// Ledger: what the engine records before and after it acts. The store on disk implements it; the engine's
// unit tests have one in memory (tests/unit/engine/cluster.hpp).
//
// Implementations must promise: when a call returns, what it wrote survives a kill -9. Tickets are recorded
// before the write that they name, so that a lost reply can be settled.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/driver.hpp"
#include "reconciler/engine/gate.hpp"
#include "specs/model/diff.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct Plan;

enum class TicketState : std::uint8_t {
  begun,   // outcome unknown
  kept,    // verified and kept
  undone,  // rolled back
  failed,  // known not to be in place, or only in part
};

// Whether the benchmarks have judged a change.
enum class GateState : std::uint8_t {
  none,     // no gate was asked for
  owed,     // not validated yet: begun under a gate that has not answered
  settled,  // judged, or rolled back
};

struct LedgerTicket {
  std::string ticket;
  std::uint32_t step = 0;
  std::string device;
  std::string driver;
  ChangeSet changes;  // with previous values, for a rollback
};

// A change of an earlier run that was written but not validated: that run was killed or stopped first.
struct OwedChange {
  std::uint64_t change = 0;
  std::string begun;  // "2026-11-21T10:05:26Z"
  std::string author;
  std::vector<LedgerTicket> tickets;  // in the order of the writes; without those that were rolled back
  std::set<std::string>
      subjects{};  // of a GateFigure, that no benchmark could judge; empty: nothing was measured
  // Figures and controls from before the first of the writes; none: there are none that can be compared with
  // today's measurements.
  std::optional<GateMeasurement> before{};
};

// A write that was rolled back because of a gate's finding: it is held (refused_writes.hpp) until the desired
// state of `devices` changes, or it is approved.
struct RefusedWrite {
  std::string digest;        // write_digest()
  std::uint64_t change = 0;  // that was rolled back
  std::string why;           // "guilty: broken by the change: slo/pairs bandwidth min, ..."
  bool cleared = false;      // the change did not cause it: it is offered to the user once more
  std::uint64_t times = 1;   // how often it was rolled back
};

class Ledger {
 public:
  virtual ~Ledger() = default;
  virtual std::uint64_t epoch() const = 0;
  // A plan begins; returns its number.
  virtual Result<std::uint64_t> begin(const Plan& plan, const std::string& author,
                                      const std::string& reason) = 0;
  virtual Result<Done> ticket(std::uint64_t change, const LedgerTicket& ticket) = 0;
  virtual Result<Done> receipt(const std::string& ticket, TicketState state, const std::string& note) = 0;
  // On `settled`, what was measured before the change is deleted.
  virtual Result<Done> gate(std::uint64_t change, GateState state) = 0;
  // What was measured before the first write of a change, for judging it later.
  virtual Result<Done> keep_before(std::uint64_t change, const GateMeasurement& measured) = 0;
  // Marks the change as not validated yet, only for `subjects` of a GateFigure that could not be judged.
  virtual Result<Done> owe(std::uint64_t change, const std::set<std::string>& subjects) = 0;
  // A digest that is already refused counts one more rollback.
  virtual Result<Done> refuse(const std::vector<RefusedWrite>& steps) = 0;
  virtual Result<Done> accept(const std::vector<std::string>& digests) = 0;
  virtual Result<std::vector<RefusedWrite>> refused() const = 0;
  // `outcome`: to_string of the verdict.
  virtual Result<Done> end(std::uint64_t change, const std::string& outcome) = 0;
  // Records that a remedy of this name is tried on a device; cures() counts the tries since `since`.
  virtual Result<Done> cure(const std::string& device, const std::string& remedy, WallTime at) = 0;
  virtual Result<std::size_t> cures(const std::string& device, const std::string& remedy,
                                    WallTime since) const = 0;
};

// The longest Remedy::Offer::within: a ledger forgets older tries. A month is a choice: older tries say
// nothing about the fault of today.
inline constexpr std::chrono::hours kCureWindowMax{24 * 31};

// Counts a remedy that is about to be tried, in this run or any other. A try beyond the driver's limit is
// refused (`refused`) unless the user asked for it; so is an offer over more than kCureWindowMax.
Result<Done> count_cure(Ledger& ledger, const std::string& device, const Remedy::Offer& offer, WallTime now,
                        bool person);

}  // namespace lockstep
