// Baseline: the distributions of an accepted generation, as JSON text; storing it is the engine's task.
//
// Promises: reading back what was written gives the same; `attach` matches by benchmark, workload, metric,
// transport, pair or group, and size, so that TCP is never compared with RDMA. A comparison with a cohort
// does not depend on the current names of the benchmark, the devices and the ports. Refuses: text that is not
// such a baseline (with the error), another version, figures that are not finite.
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
  std::optional<double> nominal;  // bit/s, at that time
  unsigned hops = 0;              // links that its traffic crossed; 0: for a group, or not recorded
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

// A cohort: all entries with the same workload, metric, transport, size and number of links. Figures are
// shares of nominal if there is one, else in SI units.
struct InCohort {
  double figure = 0;
  double median = 0;  // the cohort's
};
class Cohorts {
 public:
  explicit Cohorts(std::span<const Baseline> sets);
  // None: there is no comparable entry.
  std::optional<InCohort> find(const Measurement& measurement) const;

 private:
  std::map<std::string, double> medians_;  // by the properties that define a cohort
};

std::string write_baseline(const Baseline& baseline);
Result<Baseline> read_baseline(std::string_view text);

}  // namespace lockstep::bench
