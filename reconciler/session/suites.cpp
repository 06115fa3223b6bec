#include "reconciler/session/suites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "drivers/posix/wait.hpp"
#include "reconciler/session/baselines.hpp"
#include "reconciler/session/reach.hpp"
#include "reconciler/twin/places.hpp"

namespace lockstep {
namespace {

OnFail on_violation(const ValidationSuite& suite) {
  switch (suite.on_change.value.on_violation.value) {
    case OnViolation::rollback: return OnFail::rollback;
    case OnViolation::quarantine: return OnFail::quarantine;
    case OnViolation::alert: return OnFail::alert;
  }
  return OnFail::rollback;
}

// In figures that don't depend on the bound: before and after are compared whatever the bound is.
GateFigure figure_of(const Slo& slo, const bench::Measurement& one, std::string subject) {
  const bench::Ruling ruling = bench::rule(slo, one);
  GateFigure out;
  out.subject = std::move(subject);
  out.terms = one.transport + ", " + bench::want_of(slo);
  out.state = ruling.verdict == bench::Verdict::pass   ? SloState::holds
              : ruling.verdict == bench::Verdict::fail ? SloState::broken
                                                       : SloState::unknown;
  const std::optional<double> seen = bench::figure(one.seen, *slo.statistic).value;
  if (one.ok() && seen && *seen > 0) out.figure = bench::at_least(slo) ? *seen : 1 / *seen;
  if (one.trouble == bench::Trouble::path || one.trouble == bench::Trouble::wrong) out.figure = 0;
  out.noise = bench::spread(one.seen);
  if (one.metric == Metric::bandwidth && one.ok() && one.cpu_ran > 0 && one.value > 0)
    out.cpu = one.cpu_ran / one.value;
  if (out.state == SloState::holds) return out;
  const std::string have = bench::told(slo, ruling);
  if (have.empty())
    out.why = ruling.reason;
  else
    out.why =
        have + ", want " + bench::want_of(slo) + (ruling.reason.empty() ? "" : " (" + ruling.reason + ")");
  return out;
}

// Counts the round in the suites of which some measurement was repeated.
void count_round(std::vector<SuiteOutcome>& first, const std::vector<SuiteOutcome>& again) {
  for (std::size_t i = 0; i < std::min(first.size(), again.size()); ++i)
    if (measurements_in({&again[i], 1}) > 0) ++first[i].rounds_after;
}

std::vector<NamedPair> named_by(const std::set<std::string>& subjects) {
  std::vector<NamedPair> out;
  for (const std::string& subject : subjects)
    if (auto parsed = parse_subject(subject)) out.push_back(std::move(parsed->pair));
  return out;
}

// For each fabric, what none of its suites can ever measure. A fabric without any suite has no gate.
std::vector<std::string> without_benchmark(const std::vector<SuiteOutcome>& outcomes) {
  std::map<std::string, std::vector<const SuiteOutcome*>> by_fabric;
  for (const SuiteOutcome& suite : outcomes)
    if (suite.gate.judges) by_fabric[*suite.suite->fabric].push_back(&suite);
  std::vector<std::string> out;
  for (const auto& [fabric, suites] : by_fabric) {
    std::map<std::string, std::size_t> missed_by;  // by link: number of suites
    std::string names;
    for (const SuiteOutcome* one : suites) {
      for (const std::string& link : one->gate.by_design) ++missed_by[link];
      names += (names.empty() ? "ValidationSuite/" : ", ") + *one->suite->metadata.name;
    }
    for (const auto& [link, count] : missed_by)
      if (count == suites.size()) out.push_back(link + ": no pair of " + names + " does");
  }
  return out;
}

TouchedParts touched_by(const BlastRadius& blast) { return {blast.devices, blast.cables}; }

}  // namespace

MeasureInput measure_input(const OpenedCluster& cluster, const Blobs& blobs) {
  MeasureInput input{cluster.catalog, cluster.compiled, {}, {}, {}, config_hash(cluster.compiled)};
  if (cluster.twin)
    input.netns_path = [id = cluster.id](const std::string& device) { return places(id, device).netns_path; };
  else
    input.unreachable = [&cluster](DeviceIndex device) {
      const DeviceSet& set = cluster.catalog.device_sets[cluster.compiled.topology.devices[device].set];
      return set.connect.value.local.value
                 ? std::string{}
                 : "benchmarks run only on this machine (`connect: {local: true}`) or in a twin (--twin)";
    };
  for (const ValidationSuite& suite : cluster.catalog.validation_suites)
    if (auto baseline = stored_baseline(blobs, suite.metadata.name.value); baseline && *baseline)
      input.baselines.emplace(suite.metadata.name.value, **std::move(baseline));
  return input;
}

std::set<DeviceIndex> in_maintenance(const OpenedCluster& cluster) {
  std::set<DeviceIndex> out;
  for (const auto& [device, why] : cluster.maintenance)
    if (const DeviceIndex index = cluster.compiled.topology.find_device(device); index != kNone)
      out.insert(index);
  return out;
}

GateMeasurement gate_measurement(const std::vector<SuiteOutcome>& outcomes) {
  GateMeasurement out;
  out.without_benchmark = without_benchmark(outcomes);
  out.sentence = verdict_sentence(outcomes);
  out.left_out = left_out_sentence(outcomes);
  for (const SuiteOutcome& suite : outcomes) {
    out.uncovered.insert(out.uncovered.end(), suite.gate.uncovered.begin(), suite.gate.uncovered.end());
    for (const BenchmarkOutcome& outcome : suite.benchmarks) {
      for (const bench::Measurement& one : outcome.measurements) {
        ++out.selected;
        using enum bench::Trouble;
        out.measured += one.trouble == none || one.trouble == path || one.trouble == wrong ? 1 : 0;
      }
      for (const Slo& slo : outcome.benchmark->slo)
        for (const bench::Measurement& one : outcome.measurements)
          if (one.metric == *slo.metric) {
            out.figures.push_back(figure_of(slo, one, subject_of(suite, outcome, slo, one)));
            out.figures.back().on_fail = on_violation(*suite.suite);
          }
    }
  }
  return out;
}

Result<FileLock> turn_to_measure(const std::string& directory, const std::string& command, const Call& call,
                                 const std::function<void(const Error& taken)>& waiting) {
  // flock(2) has no wait that a deadline or a stop could interrupt.
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

std::chrono::milliseconds time_to_measure(const Catalog& catalog) {
  Duration budgets{};
  for (const ValidationSuite& suite : catalog.validation_suites)
    budgets += suite.on_change.value.budget.or_else(kGateBudget);
  return std::chrono::duration_cast<std::chrono::milliseconds>(2 * budgets);
}

OnFail on_violation(const Catalog& catalog) {
  OnFail furthest = OnFail::alert;
  for (const ValidationSuite& suite : catalog.validation_suites)
    furthest = std::min(furthest, on_violation(suite));
  return furthest;
}

std::uint64_t flows_of_today(const OpenedCluster& cluster) {
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  return std::hash<std::string>()(fmt::format("{} {}", cluster.id, today.time_since_epoch().count()));
}

Result<GateMeasurement> SuiteGate::measure(const GateQuestion& question, const Call& call) {
  MeasureChoice choice;
  choice.flows = flows_;
  choice.gate = GateChoice{.affected = touched_by(question.affected),
                           .pending = touched_by(question.pending),
                           .whole = touched_by(question.whole),
                           .left_out = ran_jobs(),
                           .in_maintenance = in_maintenance(cluster_),
                           .also = named_by(question.also),
                           .pending_until = question.pending_until};
  if (!question.only.empty())  // of a benchmark with rings, all of them
    choice.among = [only = named_by(question.only)](const std::string& benchmark, const std::string& from,
                                                    const std::string& to) {
      return std::ranges::any_of(only, [&](const NamedPair& one) {
        return one.benchmark == benchmark && (one.from.empty() || (one.from == from && one.to == to));
      });
    };
  TRY(const FileLock turn, turn_to_measure(directory_, "the gate of a change", call, hooks_.waiting));
  Result<std::vector<SuiteOutcome>> outcomes = lockstep::measure(input_, choice, hooks_.progress, call.stop);
  Result<std::vector<SuiteOutcome>> beside = std::vector<SuiteOutcome>{};
  if (outcomes && question.when != GateQuestion::When::after) {
    choice.among = {};
    choice.gate->controls = kControls;
    beside = lockstep::measure(input_, choice, hooks_.progress, call.stop);
  }
  if (hooks_.ended) hooks_.ended();
  if (!outcomes) return std::move(outcomes.error());
  if (!beside) return std::move(beside.error());
  if (cut_short(*outcomes) || cut_short(*beside))
    return Error{ErrorKind::cancelled, "stopped while measuring"};
  if (taken_) taken_(question, *outcomes, *beside, turn);
  GateMeasurement result = gate_measurement(*outcomes);
  result.controls = gate_measurement(*beside).figures;
  if (question.when == GateQuestion::When::before) return result;
  const std::scoped_lock lock(mutex_);
  if (question.when == GateQuestion::When::confirm) {
    if (!gates_.empty()) count_round(gates_.back(), *outcomes);
    return result;
  }
  gates_.push_back(*std::move(outcomes));
  return result;
}

bool SuiteGate::crosses(const std::string& subject, const BlastRadius& changed) const {
  return subject.empty() ? !changed.empty() : paths_.cross(subject, changed);
}

// A run leaves the same hosts out from its first measurement to its last.
std::set<DeviceIndex> SuiteGate::ran_jobs() {
  const std::scoped_lock lock(mutex_);
  if (!ran_jobs_) {
    ran_jobs_.emplace();
    for (const auto& [host, why] : busy_hosts(input_)) ran_jobs_->insert(host);
  }
  return *ran_jobs_;
}

std::vector<std::vector<SuiteOutcome>> SuiteGate::gates() const {
  const std::scoped_lock lock(mutex_);
  return gates_;
}

}  // namespace lockstep
