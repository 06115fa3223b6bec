// Baseline: the distributions of an accepted generation, as JSON text; where it is kept is the engine's
// matter.
//
// Promises: write then read gives the same; `attach` matches by benchmark, workload, metric, transport, pair
// or group, and size, so that TCP is never held against RDMA. Refuses: text that is not such a baseline (with
// what is wrong), another version, figures that are not finite. Measurements with trouble or bound by a CPU
// are not accepted.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "bench/measurement.hpp"
#include "specs/model/result.hpp"

namespace lockstep::bench {

struct Baseline {
  std::string config_hash;
  std::map<std::string, Distribution> entries;  // by key
  bool operator==(const Baseline&) const = default;
};

std::string baseline_key(const Measurement& measurement);
Baseline accept(std::span<const Measurement> measurements);
void attach(const Baseline& baseline, std::span<Measurement> measurements);

std::string write_baseline(const Baseline& baseline);
Result<Baseline> read_baseline(std::string_view text);

}  // namespace lockstep::bench
