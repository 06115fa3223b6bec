#include "reconciler/session/baselines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reconciler/engine/gate.hpp"
#include "reconciler/session/suites.hpp"

namespace lockstep {
namespace {

Error not_accepted(const std::string& why) {
  return {ErrorKind::refused, "not accepted as the baseline: " + why};
}

// Empty: no SLO is broken.
std::string what_is_broken(const std::vector<SuiteOutcome>& outcomes) {
  std::string first;
  std::size_t count = 0;
  for (const SuiteOutcome& suite : outcomes)
    for (const BenchmarkOutcome& outcome : suite.benchmarks)
      for (const Slo& slo : outcome.benchmark->slo)
        for (const bench::Measurement& one : outcome.measurements) {
          const bench::Ruling ruling = bench::rule(slo, one);
          if (one.metric != *slo.metric || ruling.verdict != bench::Verdict::fail) continue;
          const std::string have = bench::told(slo, ruling);
          if (++count == 1)
            first = subject_of(suite, outcome, slo, one) + " is " + (have.empty() ? ruling.reason : have) +
                    ", want " + bench::want_of(slo);
        }
  return count == 0 ? "" : first + and_more(count - 1);
}

// Baselines that a new entry is compared with: this suite's, and those of suites that the specs no longer
// have.
Result<std::vector<bench::Baseline>> compared_with(const Catalog& catalog, const Blobs& blobs,
                                                   const bench::Baseline& own) {
  std::vector<bench::Baseline> out{own};
  TRY(const std::vector<BlobEntry> all, blobs.list());
  for (const BlobEntry& blob : all) {
    const std::string name = suite_of_baseline(blob.key);
    const bool is_there =
        std::ranges::any_of(catalog.validation_suites,
                            [&name](const ValidationSuite& suite) { return *suite.metadata.name == name; });
    if (name.empty() || is_there) continue;
    TRY(std::optional<bench::Baseline> retired, stored_baseline(blobs, name));
    if (retired) out.push_back(*std::move(retired));
  }
  return out;
}

// Why a figure does not become an entry; empty: it does.
std::string why_not_taken(const bench::Baseline& before, const bench::Cohorts& cohorts,
                          const Benchmark& benchmark, const bench::Measurement& one) {
  if (std::string why = bench::why_no_entry(one); !why.empty()) return why;
  for (const Slo& slo : benchmark.slo) {
    const bench::Ruling ruling = bench::rule(slo, one);
    if (one.metric == *slo.metric && ruling.verdict == bench::Verdict::unknown && !ruling.wants_baseline)
      return ruling.reason;
  }
  if (before.entries.contains(bench::baseline_key(one))) return "";
  const std::optional<bench::InCohort> found = cohorts.find(one);
  if (!found) return "";
  const double tolerance = std::max(kLeastTolerance, bench::spread(one.seen));
  const bool reaches = is_floor(one.metric) ? found->figure >= found->median * (1 - tolerance)
                                            : found->figure <= found->median * (1 + tolerance);
  return reaches ? ""
                 : fmt::format("new, and {:.1f}% of the median of what was accepted of its like",
                               100 * found->figure / found->median);
}

// Adds the figures of one benchmark to the set of its suite.
Result<BaselineTaken> take(const SuiteOutcome& suite, const BenchmarkOutcome& outcome,
                           const bench::Baseline& before, const bench::Cohorts& cohorts,
                           bench::Baseline& set) {
  BaselineTaken out;
  for (const bench::Measurement& one : outcome.measurements) {
    ++out.measured;
    const std::string why = why_not_taken(before, cohorts, *outcome.benchmark, one);
    if (!why.empty()) {
      if (out.missing.empty()) out.missing = one.subject() + ": " + why;
      continue;
    }
    ++out.taken;
    set.config_hash = one.config_hash;
    set.entries.insert_or_assign(bench::baseline_key(one), bench::entry_of(one));
  }
  if (static_cast<double>(out.taken) >= kLeastAccepted * static_cast<double>(out.measured)) return out;
  return not_accepted(fmt::format("{}/{}: {} of {} have a figure for it, and {:.0f}% are wanted: {}{}",
                                  *suite.suite->metadata.name, *outcome.benchmark->name, out.taken,
                                  out.measured, 100 * kLeastAccepted, out.missing,
                                  and_more(out.measured - out.taken - 1)));
}

}  // namespace

std::string baseline_place(const std::string& suite) { return "baseline/" + suite; }

std::string suite_of_baseline(const std::string& key) {
  const std::string place = baseline_place("");
  return key.starts_with(place) ? key.substr(place.size()) : "";
}

Result<std::optional<bench::Baseline>> stored_baseline(const Blobs& blobs, const std::string& suite) {
  TRY(const std::optional<nlohmann::json> blob, blobs.kept(baseline_place(suite)));
  if (!blob) return std::optional<bench::Baseline>();
  Result<bench::Baseline> baseline = bench::read_baseline(blob->dump());
  if (!baseline) return std::optional<bench::Baseline>();
  return std::optional(*std::move(baseline));
}

Result<BaselineTaken> accept_baselines(const Catalog& catalog, Blobs& blobs,
                                       const std::vector<SuiteOutcome>& outcomes) {
  if (const std::string broken = what_is_broken(outcomes); !broken.empty()) return not_accepted(broken);
  BaselineTaken all;
  std::vector<std::pair<std::string, bench::Baseline>> sets;
  for (const SuiteOutcome& suite : outcomes) {
    const std::string& name = *suite.suite->metadata.name;
    TRY(const std::optional<bench::Baseline> stored, stored_baseline(blobs, name));
    const bench::Baseline before = stored.value_or(bench::Baseline{});
    TRY(const std::vector<bench::Baseline> like, compared_with(catalog, blobs, before));
    const bench::Cohorts cohorts(like);
    bench::Baseline& set = sets.emplace_back(name, before).second;
    for (const BenchmarkOutcome& outcome : suite.benchmarks) {
      TRY(const BaselineTaken here, take(suite, outcome, before, cohorts, set));
      all.taken += here.taken;
      all.measured += here.measured;
      if (all.missing.empty()) all.missing = here.missing;
    }
  }
  if (all.measured == 0) return not_accepted("nothing was measured");
  for (const auto& [name, set] : sets)
    TRY_DONE(blobs.keep(baseline_place(name), nlohmann::json::parse(bench::write_baseline(set))));
  return all;
}

}  // namespace lockstep
