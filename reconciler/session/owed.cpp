#include "reconciler/session/owed.hpp"

#include <algorithm>
#include <set>

namespace lockstep {

std::vector<std::string> devices_of(const std::vector<LedgerTicket>& tickets) {
  std::set<std::string> devices;
  for (const LedgerTicket& ticket : tickets) devices.insert(ticket.device);
  return {devices.begin(), devices.end()};
}

bool is_maintained(const OpenedCluster& cluster, const OwedChange& owed) {
  return std::ranges::all_of(
      owed.tickets, [&cluster](const LedgerTicket& one) { return cluster.maintenance.contains(one.device); });
}

Result<Unjudged> unjudged(Store& store) {
  Unjudged out;
  out.writer = store.leadership().holder().value_or("");
  std::set<std::uint64_t> begun;
  if (!out.writer.empty()) {
    TRY(const std::vector<InFlight> in_flight, store.history().in_flight());
    for (const InFlight& one : in_flight) begun.insert(one.change);
  }
  TRY(std::vector<OwedChange> owed, store.history().owed());
  for (OwedChange& one : owed)
    (begun.contains(one.change) ? out.under_way : out.left).push_back(std::move(one));
  return out;
}

Result<std::vector<OwedChange>> open_changes(Store& store) {
  TRY(std::vector<OwedChange> open, store.history().owed());
  // One of a process that is gone is settled by whoever changes the cluster next.
  if (!store.leadership().holder()) return open;
  TRY(const std::vector<InFlight> in_flight, store.history().in_flight());
  for (const InFlight& one : in_flight) {
    const bool known = std::any_of(open.begin(), open.end(),
                                   [&one](const OwedChange& other) { return other.change == one.change; });
    if (!known) open.push_back({one.change, one.begun, one.author, one.unsettled});
  }
  return open;
}

Result<std::vector<InFlight>> recover_in_flight(History& history) {
  TRY(std::vector<InFlight> begun, history.in_flight());
  for (const InFlight& one : begun) {
    for (const LedgerTicket& ticket : one.unsettled)
      TRY_DONE(history.receipt(ticket.ticket, TicketState::failed,
                               "cut off; settled by the next run's observation"));
    TRY_DONE(history.end(one.change, "interrupted"));
  }
  return begun;
}

Result<std::vector<OwedDecision>> take_owed(const OpenedCluster& cluster, const History& history,
                                            const OwedChoice& choice) {
  TRY(std::vector<OwedChange> owed, history.owed());
  std::vector<OwedDecision> decisions;
  for (OwedChange& one : owed) {
    const std::vector<std::string> devices = devices_of(one.tickets);
    const bool all_chosen =
        choice.only.empty() ||
        std::all_of(devices.begin(), devices.end(), [&choice](const std::string& device) {
          return std::find(choice.only.begin(), choice.only.end(), device) != choice.only.end();
        });
    OwedDecision::Fate fate = OwedDecision::Fate::taken;
    if (cluster.catalog.validation_suites.empty()) {
      fate = OwedDecision::Fate::no_suite;
    } else if (is_maintained(cluster, one)) {
      fate = OwedDecision::Fate::in_maintenance;
    } else if (!choice.measures) {
      fate = OwedDecision::Fate::not_measuring;
    } else if (!all_chosen) {
      fate = OwedDecision::Fate::other_devices;
    }
    decisions.push_back({std::move(one), fate});
  }
  return decisions;
}

}  // namespace lockstep
