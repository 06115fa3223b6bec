#include "reconciler/cli/suites.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reconciler/report/bench_report.hpp"
#include "reconciler/twin/places.hpp"

namespace lockstep {
namespace {

std::string baseline_place(const std::string& suite) { return "baseline/" + suite; }

std::optional<bench::Baseline> accepted(const Journal& journal, const std::string& suite) {
  const Result<std::optional<nlohmann::json>> blob = journal.kept(baseline_place(suite));
  if (!blob || !*blob) return std::nullopt;
  Result<bench::Baseline> baseline = bench::read_baseline((*blob)->dump());
  // One that can't be read any more is no baseline: the SLOs that need it say so as unknown.
  if (!baseline) return std::nullopt;
  return *std::move(baseline);
}

}  // namespace

MeasureInput measure_input(const OpenedCluster& cluster, const Journal& journal) {
  MeasureInput input{cluster.catalog, cluster.compiled, {}, {}, config_hash(cluster.compiled)};
  if (cluster.twin)
    input.netns_path = [id = cluster.id](const std::string& device) { return places(id, device).netns_path; };
  for (const ValidationSuite& suite : cluster.catalog.validation_suites)
    if (std::optional<bench::Baseline> baseline = accepted(journal, suite.metadata.name.value))
      input.baselines.emplace(suite.metadata.name.value, *std::move(baseline));
  return input;
}

Result<Done> accept_baselines(Journal& journal, const std::vector<SuiteOutcome>& outcomes) {
  for (const SuiteOutcome& suite : outcomes) {
    const std::string name = suite.suite->metadata.name.value;
    bench::Baseline merged = accepted(journal, name).value_or(bench::Baseline{});
    for (const BenchmarkOutcome& outcome : suite.benchmarks) {
      bench::Baseline fresh = bench::accept(outcome.measurements);
      merged.config_hash = fresh.config_hash.empty() ? merged.config_hash : fresh.config_hash;
      for (auto& [key, distribution] : fresh.entries)
        merged.entries.insert_or_assign(key, std::move(distribution));
    }
    TRY_DONE(journal.keep(baseline_place(name), nlohmann::json::parse(bench::write_baseline(merged))));
  }
  return Done{};
}

OnFail on_violation(const Catalog& catalog) {
  OnFail harshest = OnFail::alert;
  for (const ValidationSuite& suite : catalog.validation_suites) {
    switch (suite.on_change.value.on_violation.value) {
      case OnViolation::rollback: return OnFail::rollback;
      case OnViolation::quarantine: harshest = OnFail::quarantine; break;
      case OnViolation::alert: break;
    }
  }
  return harshest;
}

Result<GateResult> SuiteGate::measure(const BlastRadius& affected, const BlastRadius& pending,
                                      const Call& call) {
  MeasureChoice choice;
  bool all = false;
  for (const ValidationSuite& suite : cluster_.catalog.validation_suites)
    all = all || suite.on_change.value.scope.value == RerunScope::all;
  choice.affected = [&affected, &pending, all](const Crossed& crossed) {
    return all || affected.touches_path(crossed.devices, crossed.links);
  };
  choice.pending = [&pending](const Crossed& crossed) {
    return pending.touches_path(crossed.devices, crossed.links);
  };
  Result<std::vector<SuiteOutcome>> outcomes = lockstep::measure(
      measure_input(cluster_, journal_), choice,
      [this](const MeasureProgress& at) {
        console_.say_passing(fmt::format("  {} {}/{}  {}", at.benchmark, at.done, at.total, at.last));
      },
      call.stop);
  console_.say_passing("");
  if (!outcomes) return std::move(outcomes.error());
  GateResult result;
  switch (verdict_of(*outcomes)) {
    case bench::Verdict::pass: result.verdict = GateVerdict::pass; break;
    case bench::Verdict::fail: result.verdict = GateVerdict::fail; break;
    case bench::Verdict::unknown: result.verdict = GateVerdict::unknown; break;
  }
  result.why = verdict_sentence(*outcomes);
  const std::scoped_lock lock(mutex_);
  gates_.push_back(*std::move(outcomes));
  return result;
}

std::vector<std::vector<SuiteOutcome>> SuiteGate::gates() const {
  const std::scoped_lock lock(mutex_);
  return gates_;
}

}  // namespace lockstep
