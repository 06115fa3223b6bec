// Changes of earlier runs that were interrupted or are not validated yet: settles them, and takes them over.
//
// Promises: a change that a run does not take over stays not validated, with the reason; a change that
// another process is about to measure is distinguished from one that no process will.
#pragma once

#include <string>
#include <vector>

#include "reconciler/session/opened_cluster.hpp"
#include "reconciler/store/store.hpp"

namespace lockstep {

// Sorted, each once.
std::vector<std::string> devices_of(const std::vector<LedgerTicket>& tickets);

// Changes that may still disturb what they wrote: those not validated yet, and those that another process
// makes now. minCapacity counts them.
Result<std::vector<OwedChange>> open_changes(Store& store);

// Ends the changes of interrupted runs and returns them. Their open tickets count as failed: the next
// observation shows what was written.
Result<std::vector<InFlight>> recover_in_flight(History& history);

struct OwedChoice {
  bool measures = true;           // this run has a gate
  std::vector<std::string> only;  // devices that this run may write; empty: all
};
// Whether nothing of it can be measured now: all devices that it wrote to are in maintenance.
bool is_maintained(const OpenedCluster& cluster, const OwedChange& owed);
// What this run does about a change that is not validated yet.
struct OwedDecision {
  enum class Fate : std::uint8_t {
    taken,           // this run's gate validates it
    no_suite,        // stays as it is: the specs have no suite that could validate it
    in_maintenance,  // stays as it is: nothing measures its devices meanwhile
    other_devices,   // stays as it is: this run is for other devices
    not_measuring,   // stays as it is: this run does not measure
  };
  OwedChange owed;
  Fate fate = Fate::taken;
  bool measured = false;  // some gate measured after it, and could not judge it
  // It is not validated although it could be measured: no run that leaves such a change is successful.
  bool is_left() const { return fate == Fate::no_suite || fate == Fate::other_devices; }
};
Result<std::vector<OwedDecision>> take_owed(const OpenedCluster& cluster, Store& store,
                                            const OwedChoice& choice);

// Changes that are not validated yet. `under_way`: of the process that changes the cluster now, which will
// measure them. `left`: with what an apply of the same choice would do about them.
struct Unjudged {
  std::string writer;  // "process 7 since 2026-11-21T10:05:26Z (lockstep apply)"; empty: none
  std::vector<OwedChange> under_way;
  std::vector<OwedDecision> left;
  bool to_judge() const;     // an apply measures some of them
  bool leaves_owed() const;  // and leaves some of them as they are
};
Result<Unjudged> unjudged(const OpenedCluster& cluster, Store& store, const OwedChoice& choice);

}  // namespace lockstep
