#include "reconciler/session/undo_plan.hpp"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <memory>

#include "reconciler/session/change_history.hpp"

namespace lockstep {
namespace {

using Places = std::map<std::pair<std::string, Path>, std::uint64_t>;  // the change that wrote there

// What newer changes wrote and kept.
Result<Places> written_since(Store& store, std::uint64_t change) {
  constexpr std::size_t kAll = std::numeric_limits<std::int32_t>::max();
  Places out;
  TRY(const std::vector<ChangeRecord> changes, store.history().changes(kAll));
  for (const ChangeRecord& newer : changes) {
    if (newer.change <= change) continue;
    TRY(const std::vector<RecordedTicket> tickets, store.history().tickets(newer.change));
    for (const RecordedTicket& one : tickets)
      if (one.state != TicketState::undone)
        for (const Change& entry : one.ticket.changes)
          out.insert_or_assign({one.ticket.device, entry.path}, newer.change);
  }
  return out;
}

// One step for each device and driver that the change wrote with, in the order of the writes.
std::vector<Step> steps_of(const std::vector<RecordedTicket>& tickets) {
  std::vector<Step> out;
  std::map<std::pair<std::string, std::string>, std::size_t> by_writer;
  for (const RecordedTicket& one : tickets) {
    if (one.state == TicketState::undone) continue;
    const LedgerTicket& ticket = one.ticket;
    const auto [at, is_new] = by_writer.try_emplace({ticket.device, ticket.driver}, out.size());
    if (is_new) {
      Step step;
      step.id = static_cast<std::uint32_t>(out.size() + 1);
      step.device = ticket.device;
      step.driver = ticket.driver;
      out.push_back(std::move(step));
    }
    for (const Change& change : ticket.changes)
      out[at->second].changes.push_back({change.path, change.was, change.want, 0, false});
  }
  return out;
}

}  // namespace

Result<UndoPlan> undo_plan(const ClusterSession& session, std::uint64_t change,
                           const std::vector<DeviceState>& states) {
  TRY(const std::unique_ptr<Store> store, session.read_store());
  TRY(const ShownChange shown, shown_change(*store, change));
  if (shown.change.record.ended.empty())
    return Error{ErrorKind::refused, fmt::format("change {} is not over", change)};
  UndoPlan out;
  out.undone = steps_of(shown.tickets);
  if (out.undone.empty())
    return Error{ErrorKind::refused, fmt::format("change {} left nothing that could be undone", change)};
  TRY(const Places since, written_since(*store, change));
  for (Step& step : out.undone) {
    if (!session.fleet().find(step.device))
      out.left_out.push_back(step.device +
                             ": it is not in the specs any more, and nothing is put back there");
    std::erase_if(step.changes, [&](const PlannedChange& one) {
      const auto newer = since.find({step.device, one.path});
      if (newer == since.end()) return false;
      out.left_out.push_back(fmt::format("{}: {} is not put back: change {} wrote it since", step.device,
                                         one.path.text(), newer->second));
      return true;
    });
  }
  Plan forward;
  forward.steps = out.undone;
  const UndoInput back = undo_of(forward, session.fleet(), states, session.policies());
  for (const NotPutBack& one : back.left_out) out.left_out.push_back(one.why);
  TRY(out.plan, make_plan(back.input));
  return out;
}

}  // namespace lockstep
