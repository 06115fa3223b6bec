// FakeTraffic replaces the probes. Each pair of a plan has round trips around 10 us or bandwidth around 390
// Gbit/s, with a noise of up to 1 % from a seed, modified per device by the test. No packet is sent.
#pragma once

#include <functional>
#include <set>

#include "drivers/runtime/random.hpp"
#include "reconciler/measure/measure.hpp"

namespace lockstep {

class FakeTraffic {
 public:
  explicit FakeTraffic(std::uint64_t seed) : random_(seed) {}

  Result<std::vector<bench::Measurement>> measure(const bench::TcpPlan& plan,
                                                  const std::vector<bench::ProbeEndpoint>& ends) {
    ++plans;
    std::vector<bench::Measurement> out;
    for (const std::vector<bench::Pair>& round : plan.rounds)
      for (const bench::Pair& pair : round)
        out.push_back(of_pair(plan, ends[pair.from].endpoint, ends[pair.to].endpoint));
    return out;
  }

  // The factor by which the slowest 2 % of the round trips of this device's pairs are longer.
  std::function<double(const std::string& device)> tail = [](const std::string&) { return 1.0; };
  std::set<std::string> unreachable;  // devices
  std::size_t plans = 0;

 private:
  double noise() { return 1 + 0.02 * (random_.unit() - 0.5); }

  bench::Measurement of_pair(const bench::TcpPlan& plan, const bench::Endpoint& from,
                             const bench::Endpoint& to) {
    bench::Measurement one;
    one.benchmark = plan.benchmark;
    one.workload = plan.workload;
    one.config_hash = plan.config_hash;
    one.from = from.name();
    one.to = to.name();
    if (unreachable.contains(from.device) || unreachable.contains(to.device)) {
      one.trouble = bench::Trouble::path;
      one.error = to.name() + ": connect timed out";
    }
    if (plan.workload == Workload::request_response) {
      one.metric = Metric::latency;
      one.unit = "s";
      if (one.ok()) one.seen = round_trips(std::max(tail(from.device), tail(to.device)));
    } else if (one.ok()) {
      one.nominal = 392e9;
      for (int i = 0; i < 3; ++i) one.seen.samples.push_back(390e9 * noise());
    }
    one.value = bench::figure(one.seen, Statistic::median).value.value_or(0);
    return one;
  }

  bench::Distribution round_trips(double slowest) {
    constexpr std::uint64_t kNanoseconds = 10'000;
    bench::Distribution out;
    out.scale = 1e-9;
    bench::Histogram& seen = out.histogram.emplace();
    for (int i = 0; i < 1000; ++i)
      seen.record(static_cast<std::uint64_t>(kNanoseconds * noise() * (i % 50 == 0 ? 2 * slowest : 1)));
    return out;
  }

  Random random_;
};

}  // namespace lockstep
