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

Result<std::vector<OwedChange>> open_changes(Store& store) {
  TRY(std::vector<OwedChange> open, store.history().owed());
  // A change of a process that is gone is settled by the next one that changes the cluster.
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

namespace {

OwedDecision::Fate fate_of(const OpenedCluster& cluster, const OwedChange& owed, const OwedChoice& choice) {
  const std::vector<std::string> devices = devices_of(owed.tickets);
  const bool all_chosen =
      choice.only.empty() || std::ranges::all_of(devices, [&choice](const std::string& device) {
        return std::ranges::find(choice.only, device) != choice.only.end();
      });
  if (cluster.catalog.validation_suites.empty()) return OwedDecision::Fate::no_suite;
  if (is_maintained(cluster, owed)) return OwedDecision::Fate::in_maintenance;
  if (!choice.measures) return OwedDecision::Fate::not_measuring;
  return all_chosen ? OwedDecision::Fate::taken : OwedDecision::Fate::other_devices;
}

Result<OwedDecision> decision(const OpenedCluster& cluster, Store& store, OwedChange owed,
                              const OwedChoice& choice) {
  OwedDecision out;
  out.fate = fate_of(cluster, owed, choice);
  TRY(const std::vector<RunHead> runs, store.runs().of_change(owed.change));
  out.measured =
      !owed.subjects.empty() || std::ranges::find(runs, RunPurpose::after, &RunHead::purpose) != runs.end();
  out.owed = std::move(owed);
  return out;
}

}  // namespace

Result<std::vector<OwedDecision>> take_owed(const OpenedCluster& cluster, Store& store,
                                            const OwedChoice& choice) {
  TRY(std::vector<OwedChange> owed, store.history().owed());
  std::vector<OwedDecision> out;
  for (OwedChange& one : owed) {
    TRY(OwedDecision made, decision(cluster, store, std::move(one), choice));
    out.push_back(std::move(made));
  }
  return out;
}

bool Unjudged::to_judge() const {
  return std::ranges::find(left, OwedDecision::Fate::taken, &OwedDecision::fate) != left.end();
}

bool Unjudged::leaves_owed() const { return std::ranges::any_of(left, &OwedDecision::is_left); }

Result<Unjudged> unjudged(const OpenedCluster& cluster, Store& store, const OwedChoice& choice) {
  Unjudged out;
  out.writer = store.leadership().holder().value_or("");
  std::set<std::uint64_t> begun;
  if (!out.writer.empty()) {
    TRY(const std::vector<InFlight> in_flight, store.history().in_flight());
    for (const InFlight& one : in_flight) begun.insert(one.change);
  }
  TRY(std::vector<OwedDecision> owed, take_owed(cluster, store, choice));
  for (OwedDecision& one : owed) {
    if (begun.contains(one.owed.change))
      out.under_way.push_back(std::move(one.owed));
    else
      out.left.push_back(std::move(one));
  }
  return out;
}

}  // namespace lockstep
