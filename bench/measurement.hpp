// Measurement: the result of a workload between two endpoints, or in a group of ranks, as plain data.
//
// Promises: one workload, one metric, one pair (or group and size) each; a pair that could not be measured is
// a measurement too, with `trouble` and `error` set and no samples. Units are SI: bit/s, s, and a plain share
// for stepSkew. Measurements are not averaged: `value` is for display, `seen` is judged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/distribution.hpp"
#include "specs/language/quantity.hpp"
#include "specs/language/validation_suite.hpp"

namespace lockstep::bench {

// The cause of a missing figure; the judge handles each differently.
enum class Trouble : std::uint8_t {
  none,
  path,       // the fabric or the far end did not deliver it: the SLO is violated
  wrong,      // it was delivered, and the result is wrong: the SLO is violated
  transport,  // transport or workload is not available here: unknown
  tool,       // the probe itself failed: unknown
  cancelled,  // stopped before it could be measured: unknown
};
constexpr auto words(Trouble) {
  return std::to_array<std::string_view>({"none", "path", "wrong", "transport", "tool", "cancelled"});
}

// What the topology, rank order and round allow, between two bounds; in between routing decides, below is a
// fault.
struct IdealBounds {
  double balanced = 0;
  double hash_expected = 0;
  bool operator==(const IdealBounds&) const = default;
};

// A link, one way, and the probability that the traffic crossed it: 1 if there is no other way.
struct CrossedLink {
  std::string name;  // "leaf0:up0 -> spine0:down0"
  double chance = 1;
  bool operator==(const CrossedLink&) const = default;
};

// A counter of one end that changed during the measurement and indicates more than normal traffic. A hint,
// not a verdict: it may have counted other traffic of the port too.
struct CounterMove {
  std::string end;      // "gpu1:rail0"
  std::string counter;  // the driver's name
  std::string signal;   // in one vocabulary for all vendors: "ack-timeouts"
  std::string side;     // how it classifies this end: "victim", "contributor", "source"
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
  std::uint64_t bytes = 0;         // per rank, for collectives

  Distribution seen;
  double value = 0;  // median of `seen`
  std::optional<double> nominal;
  std::optional<IdealBounds> ideal;
  std::optional<Distribution> accepted;  // the baseline to compare with

  Trouble trouble = Trouble::none;
  std::string error;  // includes the stage: "gpu2:rail0: connect refused"
  bool cpu_limited = false;
  std::string cpu_reason;
  double cpu_busiest = 0;  // share of the window that the busier end ran or waited for a CPU
  double cpu_idle = 1;     // least idle share of the machine's CPUs
  double cpu_ran = 0;      // share of the window that the busier end was on a CPU; 0: not known
  std::string note;        // information, not an error: "path MTU 1500 below 9000"

  // RDMA: payload of a packet, as agreed by both ends; 0: not RDMA, or not agreed.
  std::uint32_t path_mtu = 0;
  // Goodput as a share of a link's rate; none: TCP's at the ends' own MTU (ideal.hpp).
  std::optional<double> goodput_share;
  std::vector<CounterMove> counters;

  std::string config_hash;
  std::vector<CrossedLink> links;  // that the traffic may have crossed

  bool ok() const { return trouble == Trouble::none; }
  // "cpu-limited: gpu1:rail0 ran or waited for a CPU 91% of the window", for a measurement that is.
  std::string cpu_limit() const { return "cpu-limited" + (cpu_reason.empty() ? "" : ": " + cpu_reason); }
  // "gpu1:rail0 -> gpu2:rail0", or "rail0 (1MiB)".
  std::string subject() const {
    if (group.empty()) return from + " -> " + to;
    return bytes == 0 ? group : group + " (" + format(ByteCount{bytes}) + ")";
  }
};

}  // namespace lockstep::bench
