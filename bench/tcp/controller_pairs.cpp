// Pairs of one round: each goes through its repeats on its own clock, so that a stuck one delays no other.
#include <algorithm>

#include "bench/ideal.hpp"
#include "bench/tcp/controller.hpp"

namespace lockstep::bench {
namespace {

std::uint64_t ns(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

struct PairRun {
  std::size_t measurement = 0;  // index into RunState::made
  std::size_t active = 0;       // connects: sends the stream, or pings
  std::size_t passive = 0;      // listens
  std::uint32_t repeat = 0;
  std::uint64_t job = 0;
  std::uint64_t deadline = 0;
  std::uint64_t ended_by = 0;  // the result is available; how long to wait for the source's own report
  bool done = false;
  std::optional<Json> result;
  std::optional<Json> ending;
  MachineCpu machine;
  double busiest = 0;
  double ran = 0;
  std::size_t busiest_end = 0;
  double least_idle = 1;
  Histogram merged;
};

class PairRound {
 public:
  PairRound(RunState& state, const std::vector<Pair>& pairs) : state_(state) {
    latency_ = state.plan.workload == Workload::request_response;
    for (const Pair& pair : pairs) add(pair);
  }

  void go() {
    std::vector<std::size_t> wanted;
    for (const PairRun& run : runs_) wanted.insert(wanted.end(), {run.active, run.passive});
    if (state_.fleet.stopping()) return stop();
    state_.start_probes(wanted);
    if (state_.fleet.stopping()) return stop();
    for (PairRun& run : runs_) begin(run);
    while (!all_done()) {
      for (ProbeFleet::Event& event : state_.fleet.wait(next_deadline())) take(event);
      if (state_.fleet.stopping()) return stop();
      const std::uint64_t now = now_ns();
      for (PairRun& run : runs_) expire(run, now);
    }
  }

 private:
  Measurement& of(const PairRun& run) { return state_.made[run.measurement]; }
  const Endpoint& endpoint(std::size_t index) const { return state_.endpoints[index].endpoint; }

  void add(const Pair& pair) {
    PairRun run;
    run.measurement = state_.made.size();
    // Reading is a stream in the other direction: data flows from the far end to `from`.
    const bool read = state_.plan.workload == Workload::read_bandwidth;
    run.active = read ? pair.to : pair.from;
    run.passive = read ? pair.from : pair.to;
    Measurement blank = state_.blank(latency_ ? Metric::latency : Metric::bandwidth);
    blank.from = endpoint(pair.from).name();
    blank.to = endpoint(pair.to).name();
    if (!latency_) blank.nominal = nominal(pair);
    state_.made.push_back(std::move(blank));
    runs_.push_back(std::move(run));
  }

  std::optional<double> nominal(const Pair& pair) const {
    const ProbeEndpoint& a = state_.endpoints[pair.from];
    const ProbeEndpoint& b = state_.endpoints[pair.to];
    if (a.link_rate == 0 || b.link_rate == 0) return std::nullopt;
    const bool ipv6 = a.endpoint.address.find(':') != std::string::npos;
    const std::uint32_t mtu = std::min(a.mtu, b.mtu);
    return std::min(nominal_goodput(a.link_rate, mtu, Framing{a.frame_bytes}, ipv6),
                    nominal_goodput(b.link_rate, mtu, Framing{b.frame_bytes}, ipv6));
  }

  void begin(PairRun& run) {
    for (const std::size_t end : {run.passive, run.active})
      if (!state_.fleet.alive(end))
        return fail(run, endpoint(end).name() + ": " + state_.fleet.trouble(end), Trouble::tool);
    const Timing& timing = state_.plan.timing;
    run.job = state_.next_job++;
    run.result.reset();
    run.ending.reset();
    run.ended_by = 0;
    // Connecting and the stall each have their own limit in the probes; this one is for probes that hang.
    run.deadline = now_ns() + ns(timing.connect) + ns(timing.warm_up) + ns(timing.window) + ns(timing.stall) +
                   ns(timing.slack);
    run.machine = machine_cpu();
    Json order = state_.order(latency_ ? "echo" : "sink", run.job, run.passive, run.active);
    order["ownPort"] = state_.flow_port(RunState::Side::listens, run.passive, run.active, run.repeat);
    order["warmUpNs"] = ns(timing.warm_up);
    order["windowNs"] = ns(timing.window);
    // The listener must outlast the connect, so that the connecting side reports the stage.
    order["connectNs"] = ns(timing.connect) + ns(timing.slack) / 2;
    state_.fleet.send(run.passive, order);
  }

  void connect(PairRun& run, const Json& listening) {
    const Timing& timing = state_.plan.timing;
    Json order = state_.order(latency_ ? "ping" : "source", run.job, run.active, run.passive);
    order["ownPort"] = state_.flow_port(RunState::Side::connects, run.active, run.passive, run.repeat);
    order["port"] = number_of(listening, "port");
    order["windowNs"] = ns(timing.window);
    order["warmUp"] = std::uint64_t{100} * state_.plan.warm_up_iterations;
    order["messageBytes"] = state_.plan.message_bytes;
    state_.fleet.send(run.active, order);
  }

  void take(const ProbeFleet::Event& event) {
    if (event.died) {
      for (PairRun& run : runs_)
        if (!run.done && (run.active == event.endpoint || run.passive == event.endpoint))
          fail(run, endpoint(event.endpoint).name() + ": " + event.why, Trouble::tool);
      return;
    }
    const std::uint64_t job = number_of(event.message, "job");
    for (PairRun& run : runs_)
      if (!run.done && run.job == job) return hear(run, event);
  }

  void hear(PairRun& run, const ProbeFleet::Event& event) {
    const std::string what = text_of(event.message, "event");
    if (what == "listening") return connect(run, event.message);
    if (what == "failed") {
      const std::string trouble = text_of(event.message, "trouble");
      if (trouble == "stall")  // the path works, but time passed: a starved machine causes that too
        mark_cpu(of(run), run.busiest, endpoint(run.busiest_end).name(),
                 std::min(run.least_idle, idle_share(run.machine, machine_cpu())), 0);
      return fail(run, endpoint(event.endpoint).name() + ": " + text_of(event.message, "text"),
                  trouble == "tool" ? Trouble::tool : Trouble::path);
    }
    if (what == "result") {
      run.result = event.message;
      charge(run, event);
      // The source learns of the end from a reset, one trip later; a lost reset costs this much and a note.
      run.ended_by = now_ns() + 200'000'000;
    }
    if (what == "ended") {
      // The sink may have failed and reports that itself: its message may come after this one.
      run.ending = event.message;
      charge(run, event);
    }
    if (run.result && (run.ending || latency_)) finish_repeat(run);
  }

  void charge(PairRun& run, const ProbeFleet::Event& event) {
    run.ran = std::max(run.ran, real_of(event.message, "ran"));
    const double busy = real_of(event.message, "busy");
    if (busy <= run.busiest) return;
    run.busiest = busy;
    run.busiest_end = event.endpoint;
  }

  void finish_repeat(PairRun& run) {
    Measurement& measurement = of(run);
    run.least_idle = std::min(run.least_idle, idle_share(run.machine, machine_cpu()));
    if (latency_) {
      run.merged.merge(histogram_of(*run.result));
    } else {
      const double seconds = static_cast<double>(number_of(*run.result, "elapsedNs")) / 1e9;
      if (!(seconds > 0)) return fail(run, "the probe reported no time", Trouble::tool);
      measurement.seen.samples.push_back(static_cast<double>(number_of(*run.result, "bytes")) * 8 / seconds);
      if (run.ending) note_mtu(run, measurement);
    }
    state_.fleet.send(run.active, {{"op", "cancel"}, {"job", run.job}});
    if (++run.repeat < state_.plan.repeats) return begin(run);
    finish(run);
  }

  void note_mtu(const PairRun& run, Measurement& measurement) const {
    const std::uint64_t path = number_of(*run.ending, "pathMtu");
    const std::uint32_t own = state_.endpoints[run.active].mtu;
    if (path != 0 && path < own)
      measurement.note = "path MTU " + std::to_string(path) + " below the port's " + std::to_string(own);
  }

  void finish(PairRun& run) {
    Measurement& measurement = of(run);
    if (latency_) {
      measurement.seen.scale = 0.5e-9;  // round trips in ns -> one way in s
      measurement.value = run.merged.median().value_or(0) * measurement.seen.scale;
      measurement.seen.histogram = std::move(run.merged);
    } else {
      measurement.value = median(measurement.seen.samples).value_or(0);
    }
    measurement.cpu_ran = run.ran;
    const double nominal = measurement.nominal.value_or(0);
    const double lowest =
        measurement.seen.samples.empty()
            ? 0
            : *std::min_element(measurement.seen.samples.begin(), measurement.seen.samples.end());
    mark_cpu(measurement, run.busiest, endpoint(run.busiest_end).name(), run.least_idle,
             nominal > 0 ? lowest / nominal : 0);
    conclude(run);
  }

  void fail(PairRun& run, const std::string& why, Trouble trouble) {
    Measurement& measurement = of(run);
    measurement.trouble = trouble;
    measurement.error = why;
    if (run.repeat > 0) measurement.error += " (repeat " + std::to_string(run.repeat + 1) + ")";
    measurement.seen = {};
    for (const std::size_t end : {run.active, run.passive})
      state_.fleet.send(end, {{"op", "cancel"}, {"job", run.job}});
    conclude(run);
  }

  void conclude(PairRun& run) {
    run.done = true;
    ++state_.done;
    state_.report(Progress::What::pair_done, &of(run));
  }

  void expire(PairRun& run, std::uint64_t now) {
    if (run.done) return;
    if (run.ended_by != 0 && now >= run.ended_by) return finish_repeat(run);
    if (now >= run.deadline) fail(run, "timed out: a probe did not answer", Trouble::tool);
  }

  std::uint64_t next_deadline() const {
    std::uint64_t next = ~std::uint64_t{0};
    for (const PairRun& run : runs_) {
      if (run.done) continue;
      next = std::min(next, run.deadline);
      if (run.ended_by != 0) next = std::min(next, run.ended_by);
    }
    return next;
  }

  bool all_done() const {
    return std::all_of(runs_.begin(), runs_.end(), [](const PairRun& run) { return run.done; });
  }

  void stop() {
    for (PairRun& run : runs_)
      if (!run.done) fail(run, "stopped", Trouble::cancelled);
  }

  RunState& state_;
  bool latency_ = false;
  std::vector<PairRun> runs_;
};

}  // namespace

void run_pair_round(RunState& state, const std::vector<Pair>& pairs) { PairRound(state, pairs).go(); }

}  // namespace lockstep::bench
