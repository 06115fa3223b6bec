#include "bench/tcp/run.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>

#include "bench/tcp/controller.hpp"
#include "bench/tcp/probe_plan.hpp"

namespace lockstep::bench {
namespace {

bool carried(Workload workload) {
  return workload == Workload::stream || workload == Workload::write_bandwidth ||
         workload == Workload::read_bandwidth || workload == Workload::request_response ||
         workload == Workload::ring_allreduce;
}

Result<Done> check(const TcpPlan& plan, std::size_t endpoints) {
  const auto wrong = [](const char* what) { return Error{ErrorKind::invalid_spec, what, nullptr}; };
  TRY_DONE(check_rounds(plan.rounds, endpoints));
  for (const auto& round : plan.group_rounds)
    for (const Group& group : round) {
      std::vector<std::size_t> ranks = group.ranks;
      std::sort(ranks.begin(), ranks.end());
      if (ranks.size() < 2) return wrong("a group needs two ranks");
      if (ranks.back() >= endpoints) return wrong("the plan names an endpoint that is not there");
      if (std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end())
        return wrong("a group has an endpoint twice");
    }
  if (plan.repeats == 0 || plan.iterations == 0) return wrong("a plan needs a repeat and an iteration");
  if (collective(plan.workload) && plan.sizes.empty()) return wrong("a collective needs a size");
  return Done{};
}

// Adds every pair (or group and size) for which this workload cannot run, with the reason.
void refuse_all(RunState& state) {
  const auto add = [&](Measurement blank) {
    blank.trouble = Trouble::transport;
    blank.error = state.plan.not_to_be_had;
    if (blank.error.empty())
      blank.error = std::string(to_string(state.plan.workload)) + " does not run over TCP here";
    state.made.push_back(std::move(blank));
  };
  const bool latency =
      state.plan.workload == Workload::write_latency || state.plan.workload == Workload::request_response;
  const Metric metric = latency ? Metric::latency : Metric::bandwidth;
  for (const auto& round : state.plan.rounds)
    for (const Pair& pair : round) {
      Measurement blank = state.blank(metric);
      blank.from = state.endpoints[pair.from].endpoint.name();
      blank.to = state.endpoints[pair.to].endpoint.name();
      add(std::move(blank));
    }
  for (const std::uint64_t bytes : state.plan.sizes)
    for (const auto& round : state.plan.group_rounds)
      for (const Group& group : round)
        for (const Metric one : {Metric::busbw, Metric::step_skew}) {
          Measurement blank = state.blank(one);
          blank.group = group.name;
          blank.bytes = bytes;
          add(std::move(blank));
        }
}

// Rounds not begun when the run was stopped still have their measurements, as cancelled.
template <class Round>
void each_round(RunState& state, Round round) {
  state.report(Progress::What::round_started);
  round();
  state.report(Progress::What::round_done);
  ++state.round;
}

}  // namespace

void RunState::report(Progress::What what, const Measurement* measurement) {
  if (!progress) return;
  Progress step{what, round, rounds, done, total, 0, -1, measurement};
  progress(step);
}

void RunState::start_probes(const std::vector<std::size_t>& wanted) {
  fleet.ensure(wanted, [&](std::size_t endpoint, pid_t pid) {
    if (!progress) return;
    Progress step{Progress::What::probe_started, round, rounds, done, total, endpoint, pid, nullptr};
    progress(step);
  });
}

// From the range that Linux uses by default (ip-sysctl, ip_local_port_range), which firewalls expect.
std::uint16_t RunState::flow_port(Side side, std::size_t own, std::size_t peer, std::uint64_t which) const {
  constexpr std::size_t kFirst = 32768;
  constexpr std::size_t kLast = 60999;
  if (!plan.flows) return 0;
  const std::uint64_t flow =
      flow_number(*plan.flows, plan.benchmark, endpoints[own].endpoint, endpoints[peer].endpoint,
                  2 * which + (side == Side::listens ? 1 : 0));
  return static_cast<std::uint16_t>(kFirst + flow % (kLast - kFirst + 1));
}

Json RunState::order(const char* op, std::uint64_t job, std::size_t own, std::size_t peer) const {
  const auto ns = [](std::chrono::milliseconds time) {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
  };
  Json json = {{"op", op},
               {"job", job},
               {"token", job},
               {"own", endpoints[own].endpoint.address},
               {"peer", endpoints[peer].endpoint.address},
               {"connectNs", ns(plan.timing.connect)},
               {"stallNs", ns(plan.timing.stall)},
               {"congestion", plan.congestion}};
  return json;
}

Measurement RunState::blank(Metric metric) const {
  Measurement one;
  one.benchmark = plan.benchmark;
  one.workload = plan.workload;
  one.metric = metric;
  one.unit = metric == Metric::latency ? "s" : metric == Metric::step_skew ? "" : "bit/s";
  one.transport = "tcp";
  one.config_hash = plan.config_hash;
  return one;
}

std::uint64_t flow_number(std::uint64_t flows, const std::string& benchmark, const Endpoint& own,
                          const Endpoint& peer, std::uint64_t which) {
  const std::string flow = std::to_string(flows) + " " + benchmark + " " + own.name() + " " + peer.name() +
                           " " + std::to_string(which);
  return std::max(std::uint64_t{std::hash<std::string>()(flow)}, std::uint64_t{1});
}

void mark_cpu(Measurement& measurement, double busiest, const std::string& endpoint, double machine_idle,
              double reached) {
  measurement.cpu_busiest = busiest;
  measurement.cpu_idle = machine_idle;
  // Within 5 % of the link's capacity, the link set the limit, however busy the CPU.
  if (reached >= 0.95) return;
  std::array<char, 160> text{};
  if (busiest >= busy_endpoint)
    (void)std::snprintf(text.data(), text.size(),
                        "%s ran or waited for a CPU %.0f%% of the window (limit %.0f%%)", endpoint.c_str(),
                        busiest * 100, busy_endpoint * 100);
  else if (machine_idle <= idle_machine)
    (void)std::snprintf(text.data(), text.size(),
                        "the machine's CPUs were idle %.1f%% of the time (limit %.0f%%)", machine_idle * 100,
                        idle_machine * 100);
  if (text[0] == 0) return;
  measurement.cpu_limited = true;
  measurement.cpu_reason = text.data();
}

Result<std::vector<Measurement>> run(const TcpPlan& plan, const std::vector<ProbeEndpoint>& endpoints,
                                     const ProgressSink& progress, std::stop_token stop) {
  TRY_DONE(check(plan, endpoints.size()));
  RunState state{plan, endpoints, progress, ProbeFleet(plan.executable, endpoints, std::move(stop))};
  if (!plan.not_to_be_had.empty() || !carried(plan.workload)) {
    refuse_all(state);
    return std::move(state.made);
  }
  if (!collective(plan.workload)) {
    state.rounds = plan.rounds.size();
    for (const auto& round : plan.rounds) state.total += round.size();
    for (const auto& round : plan.rounds) each_round(state, [&] { run_pair_round(state, round); });
    return std::move(state.made);
  }
  state.rounds = plan.group_rounds.size() * plan.sizes.size();
  for (const auto& round : plan.group_rounds) state.total += round.size() * plan.sizes.size();
  for (const std::uint64_t bytes : plan.sizes)
    for (const auto& round : plan.group_rounds)
      each_round(state, [&] { run_group_round(state, round, bytes); });
  return std::move(state.made);
}

}  // namespace lockstep::bench
