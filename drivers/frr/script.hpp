// script_of: edits → the vty lines that implement them, in an order that FRR accepts.
//
// Promises: pure; what the device already has yields no line; only lines for what is requested, plus what a
// new speaker or neighbour needs to work at all (README.md, "What a neighbor implies"). Order inside one
// change set: the speaker removed; BFD profiles made; the speaker made (another ASN: its whole block is
// replayed under the new one, foreign lines included); neighbours removed, made, set; address family; BFD
// profiles removed. Refuses (unsupported) what FRR cannot express: an ASN, remote-as or router removed while
// its owner stays.
#pragma once

#include <string>
#include <vector>

#include "drivers/frr/map.hpp"
#include "drivers/frr/state.hpp"

namespace lockstep::frr {

struct Step {
  std::string daemon;                // "bgpd"
  std::vector<std::string> context;  // lines that enter the block, below `configure terminal`
  std::string line;
  std::vector<std::size_t> changes;  // changes that depend on it
};

// `have` must hold the parts that the edits are about.
Result<std::vector<Step>> script_of(const std::vector<Edit>& edits, const State& have);

// An established session whose timers in use will differ from those that the edits configure: timers are
// negotiated when a session opens, so it is reset once they are set.
struct Reset {
  std::string line;  // "clear bgp up0", outside the configuration
  std::vector<std::size_t> changes;
};
std::vector<Reset> resets_of(const std::vector<Edit>& edits, const State& have);

// A line as it is sent. `step`: the step that it belongs to.
struct Sent {
  std::string daemon;
  std::string line;
  std::size_t step = 0;
};

// The steps with the context lines between them, as sent over the sockets.
std::vector<Sent> transcript(const std::vector<Step>& steps);

}  // namespace lockstep::frr
