// Baselines: what a person accepted as the reference of SLOs "of baseline", by suite, in the store.
//
// Promises: moved by accept_baselines alone. A benchmark's figures are accepted together or not at all, so
// that later changes are judged against one generation: kLeastAccepted of what was measured has to have a
// figure, and what has none keeps what it had. What was never accepted joins where it reaches the median of
// its cohort less the tolerance, so that a new name is no way to a lower reference; also where the suite
// itself is new and the specs no longer have the old one. Nothing is forgotten: what is removed and added
// again has its entry.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reconciler/measure/measure.hpp"
#include "reconciler/store/blobs.hpp"

namespace lockstep {

// shared/design has it: engine.md, section 1.
inline constexpr double kLeastAccepted = 0.99;

// The key of a suite's accepted baseline.
std::string baseline_place(const std::string& suite);
// The suite of such a key; empty: the key of something else.
std::string suite_of_baseline(const std::string& key);

// None: never accepted, or not of this version: the SLOs that need it are unknown for want of it. Error: the
// store can't be read.
Result<std::optional<bench::Baseline>> stored_baseline(const Blobs& blobs, const std::string& suite);

struct BaselineTaken {
  std::size_t taken = 0;
  std::size_t measured = 0;
  std::string missing;  // the first that was not: "gpu1:rail0 -> gpu2:rail0: cpu-limited"; empty: all were
};
// Makes what was measured the baseline. Refused, with the figures that are why and nothing changed, where an
// SLO is broken or too little has a figure. `catalog`: of the suites.
Result<BaselineTaken> accept_baselines(const Catalog& catalog, Blobs& blobs,
                                       const std::vector<SuiteOutcome>& outcomes);

}  // namespace lockstep
