// Ledger: what the engine writes down before and after it acts. The journal on disk is one; a simulation
// keeps its own in memory.
//
// Promises asked for: when a call returns, what it wrote survives a kill -9. Tickets are written before the
// write that they name, so that a lost reply can be settled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

struct LedgerTicket {
  std::string ticket;
  std::uint32_t step = 0;
  std::string device;
  std::string driver;
  ChangeSet changes;  // with previous values: what an undo needs
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
  // `outcome`: to_string of the verdict.
  virtual Result<Done> end(std::uint64_t change, const std::string& outcome) = 0;
};

}  // namespace lockstep
