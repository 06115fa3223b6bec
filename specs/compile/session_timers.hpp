// The timers that a BGP session runs with, negotiated from the proposals of its two ends (RFC 4271, 4.2 and
// 4.4).
//
// Promises: pure; a session configured at one end only keeps that end's desired timers.
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

// The timers that the end which proposes `own` runs with.
SessionTimers agreed_timers(SessionTimers own, SessionTimers peer);

// Adjusts both ends of sessions where an exception gave one end its own timers.
void settle_session_timers(const Topology& topology, std::vector<Intent>& intents);

}  // namespace lockstep
