// print_metrics: /metrics of a service that has something of everything, for promtool.
#include <iostream>
#include <memory>

#include "reconciler/metrics/service_metrics.hpp"
#include "tests/unit/api/sample_status.hpp"

int main() {
  using namespace lockstep;
  ServiceMetrics metrics("1.2.3", "3670c56a1b2c");
  const WallTime begun = api::at_second(0);
  metrics.happened({ServiceEvent::Kind::change_began, begun, "Revision/3f2a", "5 steps"});
  metrics.happened({ServiceEvent::Kind::change_kept, begun + std::chrono::seconds(7), "Revision/3f2a", ""});
  metrics.engine_was_late(std::chrono::milliseconds(3));
  metrics.answered("GET", 200);
  metrics.watchers(1);
  metrics.alerts_open(2);
  metrics.notified("webhook", Delivery::failed);
  metrics.notifications_dropped("webhook", 3);
  ServiceStatus status = api::full_status();
  status.counts.gates[static_cast<std::size_t>(GateVerdict::pass)] = 2;
  status.schedules = {
      {.schedule = {.suite = "slo"}, .last = SuiteResult{begun, bench::Verdict::fail, "", 7}}};
  std::cout << metrics.text(std::make_shared<const ServiceStatus>(std::move(status)));
}
