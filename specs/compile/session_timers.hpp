// The timers that a BGP session runs with, from what its two ends propose (RFC 4271, 4.2 and 4.4).
//
// Promises: pure; a session that only one end configures keeps what is wanted of that end.
#pragma once

#include <cstdint>
#include <vector>

#include "specs/fabric/topology.hpp"
#include "specs/model/intent.hpp"

namespace lockstep {

struct SessionTimers {
  std::int64_t keepalive_s = 0;
  std::int64_t hold_s = 0;
};

// What the end that proposes `own` runs with.
SessionTimers agreed_timers(SessionTimers own, SessionTimers peer);

// Where an exception gave one end of a session timers of its own: what both ends then run with.
void settle_session_timers(const Topology& topology, std::vector<Intent>& intents);

}  // namespace lockstep
