#include "reconciler/session/suites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

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

// The spread of what was sampled; a histogram's is in its percentile already.
double noise_of(const bench::Distribution& seen) {
  const std::optional<double> middle = bench::median(seen.samples);
  if (!middle || *middle <= 0) return 0;
  const auto [least, most] = std::minmax_element(seen.samples.begin(), seen.samples.end());
  return (*most - *least) / *middle;
}

// In figures that don't depend on the bound: before and after are compared whatever it is.
GateFigure figure_of(const Slo& slo, const bench::Measurement& one, std::string subject) {
  const bench::Ruling ruling = bench::rule(slo, one);
  GateFigure out;
  out.subject = std::move(subject);
  out.state = ruling.verdict == bench::Verdict::pass   ? SloState::holds
              : ruling.verdict == bench::Verdict::fail ? SloState::broken
                                                       : SloState::unknown;
  const std::optional<double> seen = bench::figure(one.seen, *slo.statistic).value;
  if (one.ok() && seen && *seen > 0) out.figure = bench::at_least(slo) ? *seen : 1 / *seen;
  if (one.trouble == bench::Trouble::path || one.trouble == bench::Trouble::wrong) out.figure = 0;
  out.noise = noise_of(one.seen);
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

std::string subject_of(const SuiteOutcome& suite, const BenchmarkOutcome& outcome, const Slo& slo,
                       const bench::Measurement& one) {
  return fmt::format("{}/{} {} {}, {}", suite.suite->metadata.name.value, outcome.benchmark->name.value,
                     to_string(*slo.metric), to_string(*slo.statistic), one.subject());
}

// Empty: each SLO holds on each pair, or wants but a baseline.
std::string why_not_accept(const std::vector<SuiteOutcome>& outcomes) {
  std::string first;
  std::size_t more = 0;
  std::size_t measured = 0;
  for (const SuiteOutcome& suite : outcomes)
    for (const BenchmarkOutcome& outcome : suite.benchmarks) {
      measured += outcome.measurements.size();
      for (const Slo& slo : outcome.benchmark->slo)
        for (const bench::Measurement& one : outcome.measurements) {
          if (one.metric != *slo.metric) continue;
          const bench::Ruling ruling = bench::rule(slo, one);
          if (ruling.verdict == bench::Verdict::pass || ruling.wants_baseline) continue;
          const std::string have = bench::told(slo, ruling);
          if (first.empty())
            first = subject_of(suite, outcome, slo, one) + " is " + std::string(to_string(ruling.verdict)) +
                    (have.empty() ? "" : ": " + have) + (ruling.reason.empty() ? "" : ": " + ruling.reason);
          else
            ++more;
        }
    }
  if (measured == 0) return "nothing was measured";
  return more == 0 ? first : first + fmt::format(" (and {} more)", more);
}

// Of a benchmark that is asked for again: its pairs of these subjects; of one with rings all of them.
bool is_among(const std::set<std::string>& subjects, const std::string& benchmark, const std::string& from,
              const std::string& to) {
  const std::string of = "/" + benchmark + " ";
  const std::string pair = ", " + from + " -> " + to;
  return std::any_of(subjects.begin(), subjects.end(), [&](const std::string& one) {
    return one.find(of) != one.npos && (one.ends_with(pair) || one.find(" -> ") == one.npos);
  });
}

// The first pairs that cross nothing of what may be written: the same ones each time.
MeasureChoice controls_of(const GateQuestion& question) {
  MeasureChoice choice;
  choice.pending = [&question](const Crossed& crossed) {
    return question.whole.touches_path(crossed.devices, crossed.links);
  };
  choice.affected = [&question, left = kControls](const Crossed& crossed) mutable {
    return !question.whole.touches_path(crossed.devices, crossed.links) && left > 0 && left-- > 0;
  };
  return choice;
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
  if (const std::string why = why_not_accept(outcomes); !why.empty())
    return Error{ErrorKind::refused, "not accepted as the baseline: " + why};
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

GateMeasurement gate_measurement(const std::vector<SuiteOutcome>& outcomes) {
  GateMeasurement out;
  out.sentence = verdict_sentence(outcomes);
  for (const SuiteOutcome& suite : outcomes)
    for (const BenchmarkOutcome& outcome : suite.benchmarks) {
      for (const bench::Measurement& one : outcome.measurements) {
        ++out.selected;
        using enum bench::Trouble;
        out.measured += one.trouble == none || one.trouble == path || one.trouble == wrong ? 1 : 0;
      }
      for (const Slo& slo : outcome.benchmark->slo)
        for (const bench::Measurement& one : outcome.measurements)
          if (one.metric == *slo.metric)
            out.figures.push_back(figure_of(slo, one, subject_of(suite, outcome, slo, one)));
    }
  return out;
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

Result<GateMeasurement> SuiteGate::measure(const GateQuestion& question, const Call& call) {
  MeasureChoice choice;
  bool all = false;
  for (const ValidationSuite& suite : cluster_.catalog.validation_suites)
    all = all || suite.on_change.value.scope.value == RerunScope::all;
  choice.affected = [&question, all](const Crossed& crossed) {
    return all || question.affected.touches_path(crossed.devices, crossed.links);
  };
  choice.pending = [&question](const Crossed& crossed) {
    return question.pending.touches_path(crossed.devices, crossed.links);
  };
  if (!question.only.empty())
    choice.among = [&question](const std::string& benchmark, const std::string& from, const std::string& to) {
      return is_among(question.only, benchmark, from, to);
    };
  TRY(const FileLock turn, turn_to_measure(directory_, "the gate of a change", call, hooks_.waiting));
  Result<std::vector<SuiteOutcome>> outcomes = lockstep::measure(input_, choice, hooks_.progress, call.stop);
  Result<std::vector<SuiteOutcome>> beside = std::vector<SuiteOutcome>{};
  if (outcomes && question.when != GateQuestion::When::after)
    beside = lockstep::measure(input_, controls_of(question), hooks_.progress, call.stop);
  if (hooks_.ended) hooks_.ended();
  if (!outcomes) return std::move(outcomes.error());
  if (!beside) return std::move(beside.error());
  if (cut_short(*outcomes) || cut_short(*beside))
    return Error{ErrorKind::cancelled, "stopped while measuring"};
  GateMeasurement result = gate_measurement(*outcomes);
  result.controls = gate_measurement(*beside).figures;
  if (question.when == GateQuestion::When::before || question.when == GateQuestion::When::confirm)
    return result;
  const std::scoped_lock lock(mutex_);
  gates_.push_back(*std::move(outcomes));
  return result;
}

std::vector<std::vector<SuiteOutcome>> SuiteGate::gates() const {
  const std::scoped_lock lock(mutex_);
  return gates_;
}

}  // namespace lockstep
