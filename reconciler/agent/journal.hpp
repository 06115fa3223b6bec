// AgentJournal: what an agent must know after it was killed or its machine restarted: one small file,
// replaced as a whole and synced before anything that it speaks of happens.
//
// Contract: write() returns once the state survives a power loss; a crash leaves the old state or the new
// one. A file that is there and can't be read is an error, never an empty journal: the machine might hold
// changes that nobody settled. Nothing is written that could not be read again.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "drivers/driver.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep::agent {

// A change of the device that is rolled back unless somebody settles it in time.
struct ArmedTransaction {
  std::string transaction;
  std::string driver;
  std::string ticket;  // of the last attempt
  ChangeSet changes;   // of all attempts: what the device may hold of it
  ChangeSet undo;      // in the order in which it is made
  ChangeSet way_back;  // of what an apply that has not ended may have left on its way (Passing)
  std::chrono::milliseconds undo_after{};
  std::chrono::nanoseconds deadline{};  // by CLOCK_BOOTTIME of this boot
  std::string boot_id;
  bool rolling_back = false;                      // by decision or by time: it can't be kept any more
  std::chrono::nanoseconds rolling_back_since{};  // CLOCK_BOOTTIME of the first failed try
};

struct SettledTransaction {
  std::string transaction;
  Settlement settlement = Settlement::keep;  // keep or undo
  std::chrono::nanoseconds at{};             // CLOCK_BOOTTIME of the boot in which it was settled
};

// Why writes are refused until somebody on the machine acknowledges it.
struct FailedRollback {
  std::string transaction;
  std::string why;
  ChangeSet left;  // what could not be rolled back
};

struct JournalState {
  std::uint64_t epoch = 0;  // the highest that was accepted
  std::string leader;       // of that epoch; empty: it did not say
  std::optional<ArmedTransaction> armed;
  std::deque<SettledTransaction> settled;  // the last ones, in order: see kSettledMin
  std::optional<FailedRollback> failed;
  std::string hold;  // reason; empty: none
};
// Of settled transactions are remembered: the last 256, and all of the last ten minutes, at most 1,024. A
// controller settles seconds after it applied; an attempt of its that arrives after that, on a connection
// that stood still, comes within 270 s, by ServerOptions: idle_time, request_time and call_time of its
// connection.
constexpr std::size_t kSettledMin = 256;
constexpr std::size_t kSettledMax = 1024;
constexpr std::chrono::minutes kSettledFor{10};

// Of the journal in its folder. Others may read it at any time, as it is replaced as a whole; beside it is
// the lock of the agent that has it open.
std::string journal_file(const std::string& folder);
// Whether an agent runs that has it open.
bool is_journal_open(const std::string& folder);

class AgentJournal {
 public:
  // Makes the folder (0700) and an empty journal if there is none; removes what a killed agent had not
  // finished to write. Errors: as above; `conflict`: another agent has it open (flock).
  static Result<AgentJournal> open(const std::string& folder);
  const JournalState& state() const { return state_; }
  // On an error the old state holds, here and on disk. Refuses a state whose text is larger than an agent
  // would read.
  Result<Done> write(JournalState next);

 private:
  AgentJournal(std::string file, Descriptor lock, JournalState state);
  std::string file_;
  Descriptor lock_;
  JournalState state_;
};

// For tests and golden files: the file's text.
std::string journal_text(const JournalState& state);
Result<JournalState> parse_journal(std::string_view text);

}  // namespace lockstep::agent
