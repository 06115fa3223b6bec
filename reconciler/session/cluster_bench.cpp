#include "reconciler/session/cluster_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

// How long traffic may go on once it is to end: probes are asked to stop, then killed.
constexpr std::chrono::seconds kToEnd{30};

std::size_t cut_off(const std::vector<SuiteOutcome>& outcomes) {
  std::size_t out = 0;
  for (const SuiteOutcome& suite : outcomes)
    for (const BenchmarkOutcome& benchmark : suite.benchmarks)
      out += static_cast<std::size_t>(std::ranges::count(benchmark.measurements, bench::Trouble::cancelled,
                                                         &bench::Measurement::trouble));
  return out;
}

bool breaks_an_slo(const ValidationSuite& suite, const bench::Measurement& one) {
  const auto benchmark = std::ranges::find(suite.benchmarks, one.benchmark,
                                           [](const Benchmark& each) { return each.name.value; });
  return benchmark != suite.benchmarks.end() && std::ranges::any_of(benchmark->slo, [&](const Slo& slo) {
           return slo.metric.value == one.metric && bench::rule(slo, one).verdict == bench::Verdict::fail;
         });
}

}  // namespace

// Of the worker thread, until the job is over.
struct ClusterBench::Taken {
  MeasureInput input;
  MeasureChoice choice;
  std::optional<FileLock> turn{};
  Result<std::vector<SuiteOutcome>> outcomes = std::vector<SuiteOutcome>();
  bool is_repeated = false;  // what broke an SLO was measured once more

  void run(const std::string& directory, const std::string& command, const Call& call) {
    // Its budget ends the wait, by the executor's clock.
    Result<FileLock> taken =
        turn_to_measure(directory, command, Call{.stop = call.stop, .wake_fd = call.wake_fd}, {});
    if (!taken) {
      outcomes = std::move(taken.error());
      return;
    }
    turn.emplace(*std::move(taken));
    outcomes = lockstep::measure(input, choice, {}, call.stop);
    if (!outcomes || call.stop.stop_requested()) return;
    const auto wants = [this](const bench::Measurement& one) {
      return std::ranges::any_of(
          *outcomes, [&one](const SuiteOutcome& each) { return breaks_an_slo(*each.suite, one); });
    };
    if (Result<Done> again = measure_once_more(input, choice, wants, {}, call.stop, *outcomes); !again)
      outcomes = std::move(again.error());
    is_repeated = !call.stop.stop_requested();
  }
};

ClusterBench::ClusterBench(BenchGround ground, ScheduledBench request)
    : ground_(std::move(ground)), request_(std::move(request)) {}

ClusterBench::~ClusterBench() {
  for (const std::uint64_t id : {job_, timer_})
    if (id != 0) ground_.executor.cancel(id);
}

void ClusterBench::start(std::function<void(Answer)> done) {
  done_ = std::move(done);
  timer_ = ground_.executor.at(ground_.executor.now() + request_.budget, callbacks_.bind([this] {
    timer_ = 0;
    out_of_time_ = true;
    stop();
  }));
  observe_ = ground_.observe();
  observe_->start([this](const std::vector<DeviceState>&) {
    ground_.executor.defer(callbacks_.bind([this] {
      observe_.reset();
      measure();
    }));
  });
}

void ClusterBench::stop() {
  stopped_ = true;
  if (observe_) observe_->stop();
  if (job_ != 0) ground_.executor.cancel(job_);
}

GateChoice ClusterBench::choice() const {
  GateChoice out;
  const Topology& topology = ground_.cluster.compiled.topology;
  for (const TopologyDevice& device : topology.devices) out.affected.devices.push_back(device.name);
  out.whole = out.affected;
  out.budget = request_.budget / 2;
  out.in_maintenance = in_maintenance(ground_.cluster);
  for (const std::string& device : request_.left_out)
    if (const DeviceIndex index = topology.find_device(device); index != kNone)
      out.in_maintenance.insert(index);
  return out;
}

void ClusterBench::measure() {
  if (stopped_) return answer(judged());
  Result<MeasureInput> input = ground_.input();
  if (!input) return answer(std::move(input.error()));
  MeasureChoice wanted;
  wanted.suite = request_.suite;
  wanted.gate = choice();
  if (request_.at_busy_hosts) input->busy = {};
  taken_ = std::make_shared<Taken>(Taken{*std::move(input), std::move(wanted)});
  job_ = ground_.executor.start(
      {.key = "the benchmarks",
       .lane = Lane::bench,
       .timeout = request_.budget + kToEnd,
       .run = [taken = taken_, directory = ground_.directory,
               command = request_.command](const Call& call) { taken->run(directory, command, call); },
       .done = callbacks_.bind([this](const Outcome& ended) { measured(ended); })});
}

void ClusterBench::measured(const Outcome& ended) {
  job_ = 0;
  if (ended != Outcome::returned) taken_.reset();  // its body may still run
  if (!taken_ && !stopped_)
    return answer(Error{ErrorKind::transient, ended.reason_or("the measurement did not end in time")});
  answer(judged());
}

namespace {

// When its time was over. `all`: measurements in `seen`.
std::string what_was_not_done(const std::vector<SuiteOutcome>* seen, std::size_t all) {
  if (all == 0) return "anything was measured";
  if (!cut_short(*seen)) return "what is broken was measured once more";
  return fmt::format("everything was measured: {} of {} pairs", all - cut_off(*seen), all);
}

}  // namespace

ClusterBench::Answer ClusterBench::judged() {
  const std::vector<SuiteOutcome>* const seen = taken_ && taken_->outcomes ? &*taken_->outcomes : nullptr;
  const std::size_t all = seen != nullptr ? measurements_in(*seen) : 0;
  const bool is_broken_once = all > 0 && verdict_of(*seen) == bench::Verdict::fail && !taken_->is_repeated;
  if (stopped_ && (all == 0 || cut_short(*seen) || is_broken_once)) {
    ScheduledRun out{.why_not = "it was stopped", .out_of_time = out_of_time_};
    if (out_of_time_) out.why_not = "its budget was over before " + what_was_not_done(seen, all);
    return out;
  }
  if (seen == nullptr) return taken_->outcomes.error();
  if (all == 0) {
    const std::string left_out = left_out_sentence(*seen);
    return ScheduledRun{.why_not = left_out.empty() ? "there is no pair to measure" : left_out};
  }
  ScheduledRun out{.outcomes = *std::move(taken_->outcomes)};
  out.recorded = ground_.record(out.outcomes, taken_->input.config_hash, *taken_->turn);
  return out;
}

void ClusterBench::answer(Answer answer) {
  if (timer_ != 0) ground_.executor.cancel(std::exchange(timer_, 0));
  taken_.reset();                      // and the turn to measure
  const auto done = std::move(done_);  // which may end this
  done(std::move(answer));
}

}  // namespace lockstep
