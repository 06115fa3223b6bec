// Measurement: what a workload saw between two endpoints, or in a group of ranks, plain data.
//
// Promises: one workload, one metric, one pair (or group and size) each; a pair that could not be measured is
// a measurement too, with `trouble` and `error` set and no samples. Units are SI: bit/s, s, and a plain share
// for stepSkew. Refuses to be averaged: what is shown is `value`, what is judged is `seen`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/distribution.hpp"
#include "specs/language/validation_suite.hpp"

namespace lockstep::bench {

// Who is to blame when there is no figure; the judge reacts differently to each.
enum class Trouble : std::uint8_t {
  none,
  path,       // the fabric or the far end did not carry it: the SLO is broken
  wrong,      // it was carried, and the result is wrong: the SLO is broken
  transport,  // transport or workload is not to be had here: unknown
  tool,       // the probe itself failed: unknown
  cancelled,  // stopped before it could be measured: unknown
};
constexpr auto words(Trouble) {
  return std::to_array<std::string_view>({"none", "path", "wrong", "transport", "tool", "cancelled"});
}

// What the topology, rank order and round allow, between two bounds; between them it is routing, below fault.
struct IdealBounds {
  double balanced = 0;
  double hash_expected = 0;
  bool operator==(const IdealBounds&) const = default;
};

// A link, one way, and the chance that the traffic crossed it: 1 where there is no other way.
struct CrossedLink {
  std::string name;  // "leaf0:up0 -> spine0:down0"
  double chance = 1;
  bool operator==(const CrossedLink&) const = default;
};

// A counter of one end that moved while the measurement's traffic did, and says more than that there was
// traffic. A lead, not a verdict: it may have counted other traffic of the port too.
struct CounterMove {
  std::string end;      // "gpu1:rail0"
  std::string counter;  // the driver's name
  std::string signal;   // in one vocabulary for all vendors: "ack-timeouts"
  std::string side;     // what it makes of this end: "victim", "contributor", "source"
  std::string says;     // "acknowledgements did not come in time"
  std::string look_at;  // "loss or a black hole on the path, or a peer that is gone"
  std::uint64_t by = 0;
  bool operator==(const CounterMove&) const = default;
};

struct Measurement {
  std::string benchmark;
  Workload workload = Workload::stream;
  Metric metric = Metric::bandwidth;
  std::string unit = "bit/s";
  std::string transport = "tcp";  // the one that ran
  std::string from;               // "gpu1:rail0"; empty for a group
  std::string to;
  std::string group;               // "rail0"; empty for a pair
  std::vector<std::string> ranks;  // of the group, in ring order
  std::uint64_t bytes = 0;         // a rank, for collectives

  Distribution seen;
  double value = 0;  // median of `seen`
  std::optional<double> nominal;
  std::optional<IdealBounds> ideal;
  std::optional<Distribution> accepted;  // the baseline that it is compared with

  Trouble trouble = Trouble::none;
  std::string error;  // names the stage: "gpu2:rail0: connect refused"
  bool cpu_limited = false;
  std::string cpu_reason;
  double cpu_busiest = 0;  // share of the window that the busier end ran or waited for a CPU
  double cpu_idle = 1;     // least idle share of the machine's CPUs
  double cpu_ran = 0;      // share of the window that the busier end was on a CPU; 0: not told
  std::string note;        // worth telling, not wrong: "path MTU 1500 below 9000"

  // RDMA: payload of a packet, as both ends agreed; 0: not RDMA, or it came to none.
  std::uint32_t path_mtu = 0;
  // Of a link's rate, what is goodput; none: TCP's at the ends' own MTU (ideal.hpp).
  std::optional<double> goodput_share;
  std::vector<CounterMove> counters;

  std::string config_hash;
  std::vector<CrossedLink> links;  // that the traffic may have crossed

  bool ok() const { return trouble == Trouble::none; }
  // "cpu-limited: gpu1:rail0 ran or waited for a CPU 91% of the window"; of one that is.
  std::string cpu_limit() const { return "cpu-limited" + (cpu_reason.empty() ? "" : ": " + cpu_reason); }
  // "gpu1:rail0 -> gpu2:rail0", or "rail0 (1048576 B)".
  std::string subject() const {
    if (group.empty()) return from + " -> " + to;
    return bytes == 0 ? group : group + " (" + std::to_string(bytes) + " B)";
  }
};

}  // namespace lockstep::bench
