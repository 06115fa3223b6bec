// An RDMA port's counters, found by name and translated into one vocabulary for all vendors: which side
// suffers, which contributes, and where the cause is. Two snapshots around a run show what changed in
// between.
//
// Promises: every file of ports/N/hw_counters and ports/N/counters is read, as is every ethtool statistic
// whose name is known; a folder that a driver lacks (rxe has no `counters`) is left out, a counter without a
// known meaning keeps its name and has no signal. A 32-bit counter that wrapped is handled; one that was
// reset counts from zero. Refuses: a missing device or port. The kernel refreshes hw_counters every
// `lifespan` (10 to 12 ms, drivers/infiniband/core/sysfs.c): two snapshots closer than that may be equal.
// rxe's retransmits are rarely zero on a busy machine: judge them relative to the traffic, not as an absolute
// number.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/linux/host/files.hpp"

namespace lockstep::rdma {

// What an increasing counter suggests about the side that counts it. A hint, not a verdict: compare both
// ends.
enum class Side {
  traffic,      // nothing: traffic volume
  victim,       // the cause is elsewhere: the path, the peer or the fabric
  contributor,  // its traffic is part of a congestion
  source,       // the cause is here: the host, its software, or the cable at this port
};
std::string_view to_string(Side side);

enum class Signal {
  bytes_sent,
  bytes_received,
  packets_sent,
  packets_received,
  ecn_marked_received,
  ecn_marked_here,
  cnps_sent,
  cnps_handled,
  cnps_ignored,
  slow_restarts,
  paused_by_peer,
  pauses_sent,
  pause_storms,
  discarded_here,
  receive_not_posted,
  peer_not_ready,
  peer_never_ready,
  out_of_sequence,
  sequence_naks_received,
  duplicates_received,
  ack_timeouts,
  retransmits,
  retries_exhausted,
  peer_impaired,
  receive_errors,
  corrupt_received,
  symbol_errors,
  link_downs,
  pcie_stalls,
  send_errors,
};

struct Meaning {
  Signal signal;
  std::string_view name;  // "ecn-marked-received"
  Side side;
  std::string_view says;       // what happened, from the view of the counting side
  std::string_view points_to;  // what to check
};
const Meaning& meaning_of(Signal signal);

// By a name used by mlx5, bnxt_re, irdma, ionic, EFA or rxe, in IBTA's port counters, or in these drivers'
// ethtool statistics: no name has two meanings.
std::optional<Signal> signal_of(std::string_view counter);

// Raw values by name at one moment. `hw_counters` take precedence over `counters` of the same name, those
// over ethtool.
struct CounterSnapshot {
  std::map<std::string, std::uint64_t> values;
};
// Below `files`; ethtool's only if `netdev` is given, in the calling thread's network namespace.
Result<CounterSnapshot> read_counters(const HostFiles& files, std::string_view device, std::uint32_t port,
                                      std::string_view netdev = {});

struct Moved {
  std::string counter;
  std::uint64_t by = 0;  // IBTA's port_xmit_data and port_rcv_data in bytes (they count units of 4)
  std::optional<Signal> signal;
};
// What changed, by name. Gauges and settings among the files (lifespan, active_qps) are left out.
std::vector<Moved> moved_between(const CounterSnapshot& before, const CounterSnapshot& after);

}  // namespace lockstep::rdma
