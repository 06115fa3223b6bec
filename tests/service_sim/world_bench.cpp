// What is measured in a World by the clock (`onSchedule`): the traffic is replaced, the rest is real.
#include "tests/unit/session/fake_traffic.hpp"
#include "world.hpp"

namespace lockstep::service_simulation {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// Between the begin of a run and its traffic: the devices are observed.
constexpr seconds kObserves{60};
// The interval, its jitter, another try, and a change that goes first.
constexpr minutes kMeasuredWithin{60};

}  // namespace

// Nothing reaches a host with a harmful value.
Result<std::vector<bench::Measurement>> World::traffic(const bench::TcpPlan& plan,
                                                       const std::vector<bench::ProbeEndpoint>& ends) {
  may_be_killed(kill_chance_ > 0 ? 0.05 : 0);
  count("measurements by the clock");
  FakeTraffic fake(random_.next());
  for (const std::string& host : all_hosts())
    if (is_broken(host)) fake.unreachable.insert(host);
  Result<std::vector<bench::Measurement>> out = fake.measure(plan, ends);
  const bool is_again = measured_.is_under_way && now() == measured_.traffic;
  measured_.traffic = now();
  measured_.is_broken = std::ranges::any_of(*out, [](const auto& one) { return !one.ok(); });
  if (is_again) return out;
  const auto since = facts_.suspended_since();
  if (since && now() > *since) violation("it measures while it is suspended");
  for (const auto& [device, at] : facts_.cordons())
    for (const bench::Measurement& one : *out)
      if (now() > at && (one.from.starts_with(device + ":") || one.to.starts_with(device + ":")))
        violation("it measures at " + device + ", which is cordoned");
  const bool may_repeat = measured_.clock_jumps != clock_jumps_ || measured_.unstored != unstored_ ||
                          measured_.starts != result_.counts["starts"];
  if (measured_.judged && !may_repeat && now() - *measured_.judged < kMeasuredEvery - kObserves)
    violation("it measures again within the interval");
  measured_.is_under_way = true;
  record(std::string("measures by the clock") + (measured_.is_broken ? ", and it is broken" : ""));
  return out;
}

void World::measurement_told(ServiceEvent::Kind kind) {
  using Kind = ServiceEvent::Kind;
  if (kind != Kind::measured && kind != Kind::slo_broken && kind != Kind::not_measured) return;
  measured_.is_under_way = false;
  if (kind == Kind::not_measured) return count("suites that could not be measured");
  if ((kind == Kind::slo_broken) != measured_.is_broken)
    violation("the suite was measured, and it says the opposite");
  count(measured_.is_broken ? "SLOs broken by the clock" : "suites measured by the clock");
  measured_.judged = measured_.traffic;
  measured_.clock_jumps = clock_jumps_;
  measured_.unstored = unstored_;
  measured_.starts = result_.counts["starts"];
}

// At rest, with specs that are in force. (After several good revisions were rejected, the files of the one
// before them may be gone.)
void World::check_measured() {
  if (!process_->service->status()->in_force || now() - process_begun_ < kMeasuredWithin) return;
  if (!measured_.judged || now() - *measured_.judged > kMeasuredWithin + kObserves)
    violation("quiet, and the suite was not measured for an hour");
}

}  // namespace lockstep::service_simulation
