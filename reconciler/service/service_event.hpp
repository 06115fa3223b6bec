// ServiceEvent: something that a service did or found, for logs, alerts and subscribers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/posix/call.hpp"

namespace lockstep {

struct ServiceEvent {
  enum class Kind : std::uint8_t {
    leads,              // of this cluster, from now on
    leadership_lost,    // or not to be had
    revision_valid,     // a new one
    revision_invalid,   // a new one
    source_trouble,     // when it begins
    source_recovered,   //
    approval_needed,    // a revision waits
    approved,           // by somebody
    rejected,           // by somebody
    change_began,       //
    change_kept,        //
    change_refused,     // by its gate, and rolled back
    change_superseded,  // by a newer revision
    change_failed,      // to be tried again
    drift,              // an item appeared
    drift_cleared,      // it is gone
    unreadable,         // a device could not be observed
    readable,           // it can be again
    healed,             // by itself
    heal_failed,        //
    breaker_opened,     // nothing is healed by itself
    suspended,          // by somebody
    resumed,            // by somebody
    cordoned,           // by somebody
    uncordoned,         // by somebody
    record_trouble,     // decisions or specs can't be stored, or kept specs not be read
    measured,           // a suite, by the clock, and no SLO is broken
    slo_broken,         // a suite, by the clock, and some SLO is
    not_measured        // a suite that was due, and why
  };
  enum class Weight : std::uint8_t { normal, warning, error };
  Kind kind{};
  WallTime at{};
  std::string object;                  // "Revision/3f2a...", "Device/leaf0", "Cluster/pod1"
  std::string message;                 // for a reader
  std::string cluster{};               // its name; empty: no revision has told it yet
  std::uint64_t change = 0;            // of the ledger, that has ended; 0: none
  std::vector<std::string> devices{};  // that this change touched
};
constexpr auto words(ServiceEvent::Kind) {
  return std::to_array<std::string_view>(
      {"Leads",           "LeadershipLost", "RevisionValid",    "RevisionInvalid", "SourceTrouble",
       "SourceRecovered", "ApprovalNeeded", "Approved",         "Rejected",        "ChangeBegan",
       "ChangeKept",      "ChangeRefused",  "ChangeSuperseded", "ChangeFailed",    "Drift",
       "DriftCleared",    "Unreadable",     "Readable",         "Healed",          "HealFailed",
       "BreakerOpened",   "Suspended",      "Resumed",          "Cordoned",        "Uncordoned",
       "RecordTrouble",   "Measured",       "SloBroken",        "NotMeasured"});
}
// What somebody must look at, and what will go wrong if nobody does.
constexpr ServiceEvent::Weight weight_of(ServiceEvent::Kind kind) {
  using Kind = ServiceEvent::Kind;
  switch (kind) {
    case Kind::revision_invalid:
    case Kind::change_refused:
    case Kind::heal_failed:
    case Kind::breaker_opened:
    case Kind::record_trouble:
    case Kind::slo_broken: return ServiceEvent::Weight::error;
    case Kind::leadership_lost:
    case Kind::source_trouble:
    case Kind::approval_needed:
    case Kind::change_failed:
    case Kind::drift:
    case Kind::unreadable: return ServiceEvent::Weight::warning;
    default: return ServiceEvent::Weight::normal;
  }
}

}  // namespace lockstep
