// A bench as one HTML page: verdicts, SLOs, suspects, heat maps, histograms.
//
// Promises: self-contained (includes styles and charts, no script, nothing is fetched), legible on a light
// and a dark screen; the figures of SLOs are those of `bench -o json`; its size is bounded except for one row
// per SLO. All text from outside lockstep is escaped.
#pragma once

#include <string>
#include <vector>

#include "reconciler/measure/measure.hpp"
#include "reconciler/session/recorded_runs.hpp"

namespace lockstep {

struct BenchFacts {
  std::string cluster;
  bool twin = false;
  std::string at;  // "2026-11-21T10:05:26Z"
  std::string author;
  std::string version;   // lockstep's
  std::string recorded;  // "run 12", or why it is not recorded
  std::string config_hash;
  bool stopped = false;  // before everything was measured
};

// `compared`: none: there is no earlier run to compare with.
std::string bench_html(const std::vector<SuiteOutcome>& outcomes, const BenchFacts& facts,
                       const std::optional<RunComparison>& compared);

}  // namespace lockstep
