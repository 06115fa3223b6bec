#include "specs/compile/session_timers.hpp"

#include <algorithm>
#include <optional>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

std::optional<SessionTimers> proposed_at(const Topology& topology, const std::vector<Intent>& intents,
                                         PortIndex port) {
  const TopologyPort& here = topology.ports[port];
  const Tree& want = intents[here.device].want;
  const Value keepalive = want.value(Path(row("bgp/neighbor[*]/keepalive"), {here.name}));
  const Value hold = want.value(Path(row("bgp/neighbor[*]/hold"), {here.name}));
  if (!keepalive || !hold) return std::nullopt;
  return SessionTimers{keepalive.as_integer(), hold.as_integer()};
}

}  // namespace

SessionTimers agreed_timers(SessionTimers own, SessionTimers peer) {
  const std::int64_t hold = std::min(own.hold_s, peer.hold_s);
  const std::int64_t longest = hold / 3;
  return {own.keepalive_s == 0 ? longest : std::min(own.keepalive_s, longest), hold};
}

void settle_session_timers(const Topology& topology, std::vector<Intent>& intents) {
  for (const TopologyLink& link : topology.links) {
    for (const auto& [own, other] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
      const auto here = proposed_at(topology, intents, own);
      const auto there = proposed_at(topology, intents, other);
      if (!here || !there) continue;
      const SessionTimers timers = agreed_timers(*here, *there);
      const TopologyPort& port = topology.ports[own];
      const auto settle = [&](RowId id, std::int64_t seconds) {
        Tree& want = intents[port.device].want;
        const Path path(id, {port.name});
        if (const Entry* const before = want.find(path))
          want.set(path, Value::integer(seconds), before->origin);
      };
      settle(row("bgp/neighbor[*]/hold-in-use"), timers.hold_s);
      settle(row("bgp/neighbor[*]/keepalive-in-use"), timers.keepalive_s);
    }
  }
}

}  // namespace lockstep
