#include "bench/verbs/rounds.hpp"

#include <poll.h>

#include <algorithm>
#include <memory>

#include "bench/tcp/cpu.hpp"
#include "bench/verbs/pair_run.hpp"
#include "drivers/posix/wake_descriptor.hpp"

namespace lockstep::bench::verbs {
namespace {

// 0.54 s without an acknowledgement, seven times: an end that is alive on a machine without a spare CPU
// exceeds the default of 67 ms, and data that was not lost is then sent again.
constexpr std::uint8_t patient = 17;
// RC has no slow start: one signalled list, so that caches and neighbours are warm.
constexpr std::uint32_t signal_every = 16;  // 1 MiB: a slow path still shows progress
constexpr std::uint32_t depth = 64;         // 4 MiB in flight: 80 us at 400 Gb/s
constexpr std::uint64_t warm_up_trips = 50;

class Rounds {
 public:
  Rounds(const RoundsGround& ground, const ProgressSink& progress, std::stop_token stop)
      : ground_(ground), sink_(progress), stop_(std::move(stop)) {
    at_.rounds = ground.plan.rounds.size();
    for (const auto& round : ground.plan.rounds) at_.total += round.size();
    ground_.started = [this](std::size_t endpoint, int pid) {
      Progress step = at_;
      step.endpoint = endpoint;
      step.pid = pid;
      report(Progress::What::probe_started, step);
    };
  }

  std::vector<Measurement> run() {
    for (const auto& round : ground_.plan.rounds) {
      report(Progress::What::round_started, at_);
      go(round);
      report(Progress::What::round_done, at_);
      ++at_.round;
    }
    return std::move(made_);
  }

 private:
  void report(Progress::What what, Progress step) const {
    step.what = what;
    if (sink_) sink_(step);
  }

  void go(const std::vector<Pair>& round) {
    std::vector<std::unique_ptr<PairRun>> runs;
    for (const Pair& pair : round) runs.push_back(std::make_unique<PairRun>(ground_, pair));
    for (const auto& run : runs) stop_.stop_requested() ? run->stop() : run->begin();
    std::vector<bool> told(runs.size(), false);
    while (tell(runs, told)) {
      wait(runs);
      const std::uint64_t now = now_ns();
      for (const auto& run : runs) stop_.stop_requested() ? run->stop() : run->check(now);
    }
    for (const auto& run : runs) made_.push_back(std::move(run->measurement()));
  }

  // Reports finished pairs, each once; false: all have finished.
  bool tell(const std::vector<std::unique_ptr<PairRun>>& runs, std::vector<bool>& told) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (told[i] || !runs[i]->done()) continue;
      told[i] = true;
      ++at_.done;
      Progress step = at_;
      step.measurement = &runs[i]->measurement();
      report(Progress::What::pair_done, step);
    }
    return std::find(told.begin(), told.end(), false) != told.end();
  }

  void wait(const std::vector<std::unique_ptr<PairRun>>& runs) {
    const std::stop_callback wake(stop_, [this] { wake_.signal(); });
    std::vector<pollfd> waits{{wake_.number(), POLLIN, 0}};
    std::uint64_t until = ~std::uint64_t{0};
    for (const auto& run : runs) {
      if (run->done()) continue;
      until = std::min(until, run->wake_at());
      for (const int one : run->descriptors()) waits.push_back({one, POLLIN, 0});
    }
    (void)poll(waits.data(), waits.size(), poll_ms(until));
  }

  RoundsGround ground_;
  const ProgressSink& sink_;
  std::stop_token stop_;
  WakeDescriptor wake_;
  Progress at_{};
  std::vector<Measurement> made_;
};

Result<Done> check(const VerbsPlan& plan, std::size_t endpoints, std::size_t ends) {
  const auto wrong = [](const char* what) { return Error{ErrorKind::invalid_spec, what, nullptr}; };
  TRY_DONE(check_rounds(plan.rounds, endpoints));
  if (ends != endpoints) return wrong("each endpoint needs its RDMA end");
  if (plan.repeats == 0) return wrong("a plan needs a repeat");
  return Done{};
}

}  // namespace

std::optional<Workload> traffic_of(lockstep::Workload asked) {
  Workload out;
  out.timeout = patient;
  out.depth = depth;
  out.signal_every = signal_every;
  out.warm_up = signal_every;
  switch (asked) {
    case lockstep::Workload::write_bandwidth: return out;
    case lockstep::Workload::read_bandwidth: out.operation = Operation::read; return out;
    case lockstep::Workload::stream: out.operation = Operation::send; return out;
    case lockstep::Workload::write_latency: break;
    case lockstep::Workload::request_response: out.operation = Operation::send; break;
    default: return std::nullopt;
  }
  out.measure = Measure::latency;
  out.bytes = 8;
  out.warm_up = warm_up_trips;
  return out;
}

VerbsPlan plan_verbs(const TcpPlan& plan) {
  VerbsPlan out;
  out.benchmark = plan.benchmark;
  out.workload = plan.workload;
  out.rounds = plan.rounds;
  out.repeats = plan.repeats;
  out.flows = plan.flows;
  out.timing.window = plan.timing.window;
  out.config_hash = plan.config_hash;
  out.executable = plan.executable;
  return out;
}

Result<std::vector<Measurement>> run_rounds(const VerbsPlan& plan,
                                            const std::vector<ProbeEndpoint>& endpoints,
                                            const std::vector<RdmaEnd>& ends, const ProgressSink& progress,
                                            std::stop_token stop) {
  TRY_DONE(check(plan, endpoints.size(), ends.size()));
  const auto traffic = traffic_of(plan.workload);
  if (!traffic)
    return Error{ErrorKind::invalid_spec, std::string(to_string(plan.workload)) + " does not run over RDMA"};
  return Rounds({plan, *traffic, endpoints, ends, {}}, progress, std::move(stop)).run();
}

}  // namespace lockstep::bench::verbs
