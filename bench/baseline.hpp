// Baseline: the distributions of an accepted generation, as JSON text; where it is kept is the engine's
// matter.
//
// Promises: write then read gives the same; `attach` matches by benchmark, workload, metric, transport, pair
// or group, and size, so that TCP is never held against RDMA. What is compared with a cohort is compared
// whatever the benchmark, the devices and the ports are called now. Refuses: text that is not such a baseline
// (with what is wrong), another version, figures that are not finite.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bench/measurement.hpp"
#include "specs/model/result.hpp"

namespace lockstep::bench {

struct BaselineEntry {
  Distribution seen;
  std::optional<double> nominal;  // bit/s, as of then
  unsigned hops = 0;              // links that its traffic crossed; 0: of a group, or not recorded
  bool operator==(const BaselineEntry&) const = default;
};

struct Baseline {
  std::string config_hash;
  std::map<std::string, BaselineEntry> entries;  // by key
  bool operator==(const Baseline&) const = default;
};

std::string baseline_key(const Measurement& measurement);
// Why it can't become an entry: "cpu-limited: ..."; empty: it can.
std::string why_no_entry(const Measurement& measurement);
BaselineEntry entry_of(const Measurement& measurement);
void attach(const Baseline& baseline, std::span<Measurement> measurements);

// A cohort: all entries of the same workload, metric, transport, size and number of links. Figures are shares
// of nominal where there is one, else in SI units.
struct InCohort {
  double figure = 0;
  double median = 0;  // of the cohort
};
class Cohorts {
 public:
  explicit Cohorts(std::span<const Baseline> sets);
  // None: there is nothing of its like.
  std::optional<InCohort> find(const Measurement& measurement) const;

 private:
  std::map<std::string, double> medians_;  // by what the entries of a cohort share
};

std::string write_baseline(const Baseline& baseline);
Result<Baseline> read_baseline(std::string_view text);

}  // namespace lockstep::bench
