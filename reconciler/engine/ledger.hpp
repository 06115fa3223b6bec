// Ledger: what the engine writes down before and after it acts. The store on disk is one; the engine's unit
// tests have one in memory (tests/unit/engine/cluster.hpp).
//
// Promises asked for: when a call returns, what it wrote survives a kill -9. Tickets are written before the
// write that they name, so that a lost reply can be settled.
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
  begun,   // may have happened
  kept,    // verified and kept
  undone,  // taken back
  failed,  // known not to hold, or only in part
};

// Whether the benchmarks have judged a change.
enum class GateState : std::uint8_t {
  none,     // nobody asked for it
  owed,     // begun under a gate that has not answered yet
  settled,  // judged, or taken back
};

struct LedgerTicket {
  std::string ticket;
  std::uint32_t step = 0;
  std::string device;
  std::string driver;
  ChangeSet changes;  // with previous values: what an undo needs
};

// A change of an earlier run that was written and never judged: that run was killed or stopped first.
struct OwedChange {
  std::uint64_t change = 0;
  std::string begun;  // "2026-11-21T10:05:26Z"
  std::string author;
  std::vector<LedgerTicket> tickets;  // in the order of the writes; without those that were taken back
  std::set<std::string>
      subjects{};  // of a GateFigure, that no benchmark could tell; empty: nobody measured it
  // Its figures and controls, of before the first of the writes; none: there are none that what is measured
  // now may be compared with.
  std::optional<GateMeasurement> before{};
};

// What was written and undone because of what a gate found: it is held (refused_writes.hpp) until what the
// specs want of `devices` changes, or a person approves it.
struct RefusedWrite {
  std::string digest;        // write_digest()
  std::uint64_t change = 0;  // that was undone
  std::string why;           // "guilty: broken by the change: slo/pairs bandwidth min, ..."
  bool cleared = false;      // it was not its doing: a person is offered it once more
  std::uint64_t times = 1;   // rolled back
};

class Ledger {
 public:
  virtual ~Ledger() = default;
  virtual std::uint64_t epoch() const = 0;
  // A plan begins; the answer is its number.
  virtual Result<std::uint64_t> begin(const Plan& plan, const std::string& author,
                                      const std::string& reason) = 0;
  virtual Result<Done> ticket(std::uint64_t change, const LedgerTicket& ticket) = 0;
  virtual Result<Done> receipt(const std::string& ticket, TicketState state, const std::string& note) = 0;
  // Settled: what was measured before it is forgotten.
  virtual Result<Done> gate(std::uint64_t change, GateState state) = 0;
  // What was measured before the first write of a change, for whoever has to judge it.
  virtual Result<Done> keep_before(std::uint64_t change, const GateMeasurement& measured) = 0;
  // Owed, and of it only what could not be told: subjects of a GateFigure.
  virtual Result<Done> owe(std::uint64_t change, const std::set<std::string>& subjects) = 0;
  // One that is there already on the same ground was undone once more.
  virtual Result<Done> refuse(const std::vector<RefusedWrite>& steps) = 0;
  virtual Result<Done> accept(const std::vector<std::string>& digests) = 0;
  virtual Result<std::vector<RefusedWrite>> refused() const = 0;
  // `outcome`: to_string of the verdict.
  virtual Result<Done> end(std::uint64_t change, const std::string& outcome) = 0;
  // A remedy of this name is tried on a device; and how often it was since `since`.
  virtual Result<Done> cure(const std::string& device, const std::string& remedy, WallTime at) = 0;
  virtual Result<std::size_t> cures(const std::string& device, const std::string& remedy,
                                    WallTime since) const = 0;
};

// The longest Remedy::Offer::within: a ledger forgets older cures. A month is a choice: what was tried before
// says nothing of the fault that is there today.
inline constexpr std::chrono::hours kCureWindowMax{24 * 31};

// Counts a cure that is about to be tried, in this run or any other. One beyond what the driver's offer
// allows is refused (`refused`), but for a person who asks; and an offer over more than kCureWindowMax.
Result<Done> count_cure(Ledger& ledger, const std::string& device, const Remedy::Offer& offer, WallTime now,
                        bool person);

}  // namespace lockstep
