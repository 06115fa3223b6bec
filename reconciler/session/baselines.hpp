// Baselines: figures that the user accepted as the reference of SLOs "of baseline", by suite, in the store.
//
// Promises: changed by accept_baselines alone. A benchmark's figures are accepted together or not at all, so
// that later changes are judged against one generation: at least kLeastAccepted of the measured pairs must
// have a figure, and a pair without one keeps its previous reference. A pair that was never accepted joins if
// it reaches the median of its cohort less the tolerance, so that renaming can't lower a reference; this also
// applies if the suite itself is new and the specs no longer have the old one. No entry is deleted: what is
// removed and added again has its entry.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reconciler/measure/measure.hpp"
#include "reconciler/store/blobs.hpp"

namespace lockstep {

// A choice: noise is accepted, a loss is not.
inline constexpr double kLeastAccepted = 0.99;

// The key of a suite's accepted baseline.
std::string baseline_place(const std::string& suite);
// The suite of such a key; empty: the key of something else.
std::string suite_of_baseline(const std::string& key);

// None: never accepted, or from another version: SLOs that need it are unknown. Error: the store can't be
// read.
Result<std::optional<bench::Baseline>> stored_baseline(const Blobs& blobs, const std::string& suite);

struct BaselineTaken {
  std::size_t taken = 0;
  std::size_t measured = 0;
  std::string missing;  // the first one without a figure: "gpu1:rail0 -> gpu2:rail0: cpu-limited"; empty: all
                        // have one
};
// Makes what was measured the baseline. Refused, naming the figures and changing nothing, if an SLO is broken
// or too few pairs have a figure. `catalog`: of the suites.
Result<BaselineTaken> accept_baselines(const Catalog& catalog, Blobs& blobs,
                                       const std::vector<SuiteOutcome>& outcomes);

}  // namespace lockstep
