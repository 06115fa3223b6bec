#include "reconciler/session/suites.hpp"

#include <nlohmann/json.hpp>

#include "drivers/posix/wait.hpp"
#include "reconciler/session/reach.hpp"
#include "reconciler/twin/places.hpp"

namespace lockstep {
namespace {

// Error: the store can't be read.
Result<std::optional<bench::Baseline>> accepted(const Blobs& blobs, const std::string& suite) {
  TRY(const std::optional<nlohmann::json> blob, blobs.kept(baseline_place(suite)));
  if (!blob) return std::optional<bench::Baseline>();
  Result<bench::Baseline> baseline = bench::read_baseline(blob->dump());
  // What is no baseline of this version is none: the SLOs that need it say so as unknown.
  if (!baseline) return std::optional<bench::Baseline>();
  return std::optional(*std::move(baseline));
}

GateVerdict gate_verdict(const std::vector<SuiteOutcome>& outcomes) {
  if (measurements_in(outcomes) == 0) return GateVerdict::not_run;
  switch (verdict_of(outcomes)) {
    case bench::Verdict::pass: return GateVerdict::pass;
    case bench::Verdict::fail: return GateVerdict::fail;
    case bench::Verdict::unknown: break;
  }
  return GateVerdict::unknown;
}

}  // namespace

std::string baseline_place(const std::string& suite) { return "baseline/" + suite; }

MeasureInput measure_input(const OpenedCluster& cluster, const Blobs& blobs) {
  MeasureInput input{cluster.catalog, cluster.compiled, {}, {}, {}, config_hash(cluster.compiled)};
  if (cluster.twin)
    input.netns_path = [id = cluster.id](const std::string& device) { return places(id, device).netns_path; };
  else
    input.unreachable = [&cluster](DeviceIndex device) {
      const DeviceSet& set = cluster.catalog.device_sets[cluster.compiled.topology.devices[device].set];
      return set.connect.value.local.value ? std::string{} : kWhyUnreached;
    };
  for (const ValidationSuite& suite : cluster.catalog.validation_suites)
    if (auto baseline = accepted(blobs, suite.metadata.name.value); baseline && *baseline)
      input.baselines.emplace(suite.metadata.name.value, **std::move(baseline));
  return input;
}

Result<Done> accept_baselines(Blobs& blobs, const std::vector<SuiteOutcome>& outcomes) {
  for (const SuiteOutcome& suite : outcomes) {
    const std::string name = suite.suite->metadata.name.value;
    TRY(std::optional<bench::Baseline> before, accepted(blobs, name));
    bench::Baseline merged = std::move(before).value_or(bench::Baseline{});
    for (const BenchmarkOutcome& outcome : suite.benchmarks) {
      bench::Baseline fresh = bench::accept(outcome.measurements);
      merged.config_hash = fresh.config_hash.empty() ? merged.config_hash : fresh.config_hash;
      for (auto& [key, distribution] : fresh.entries)
        merged.entries.insert_or_assign(key, std::move(distribution));
    }
    TRY_DONE(blobs.keep(baseline_place(name), nlohmann::json::parse(bench::write_baseline(merged))));
  }
  return Done{};
}

Result<FileLock> turn_to_measure(const std::string& directory, const std::string& command, const Call& call,
                                 const std::function<void(const Error& taken)>& waiting) {
  // flock(2) has no wait that a deadline or a stop could end.
  constexpr std::chrono::milliseconds kPollPause{100};
  for (std::optional<Error> taken;;) {
    if (call.stop.stop_requested()) return Error{ErrorKind::cancelled, "asked to stop"};
    if (call.must_end(std::chrono::steady_clock::now()))
      return taken.value_or(Error{ErrorKind::transient, "the deadline passed"});
    auto lock = lock_for_measuring(directory, command);
    if (lock || lock.error().kind != ErrorKind::conflict) return lock;
    if (!taken && waiting) waiting(lock.error());
    taken = std::move(lock.error());
    if (auto paused = pause(kPollPause, call); !paused && paused.error().kind == ErrorKind::cancelled)
      return std::move(paused.error());
  }
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
  choice.affected = [&affected, all](const Crossed& crossed) {
    return all || affected.touches_path(crossed.devices, crossed.links);
  };
  choice.pending = [&pending](const Crossed& crossed) {
    return pending.touches_path(crossed.devices, crossed.links);
  };
  TRY(const FileLock turn, turn_to_measure(directory_, "the gate of a change", call, hooks_.waiting));
  Result<std::vector<SuiteOutcome>> outcomes = lockstep::measure(input_, choice, hooks_.progress, call.stop);
  if (hooks_.ended) hooks_.ended();
  if (!outcomes) return std::move(outcomes.error());
  if (cut_short(*outcomes)) return Error{ErrorKind::cancelled, "stopped while measuring"};
  GateResult result{gate_verdict(*outcomes), verdict_sentence(*outcomes)};
  const std::scoped_lock lock(mutex_);
  gates_.push_back(*std::move(outcomes));
  return result;
}

std::vector<std::vector<SuiteOutcome>> SuiteGate::gates() const {
  const std::scoped_lock lock(mutex_);
  return gates_;
}

}  // namespace lockstep
