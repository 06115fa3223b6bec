#include "reconciler/metrics/service_metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "reconciler/metrics/process_families.hpp"
#include "reconciler/metrics/status_families.hpp"
#include "specs/language/said.hpp"

namespace lockstep {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::MetricFamily;

// A change without a gate takes seconds, one with a drain hours. Choices.
const prometheus::Histogram::BucketBoundaries kChangeSeconds{1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400};
// Callbacks take milliseconds; systemd's watchdog ends the service after a minute.
const prometheus::Histogram::BucketBoundaries kLateSeconds{0.001, 0.01, 0.1, 0.5, 1, 5, 30};

// How a change ends that has begun; empty: the event is not its end.
std::string_view outcome_of(ServiceEvent::Kind kind) {
  switch (kind) {
    case ServiceEvent::Kind::change_kept: return "kept";
    case ServiceEvent::Kind::change_refused: return "refused";
    case ServiceEvent::Kind::change_superseded: return "superseded";
    case ServiceEvent::Kind::change_failed: return "failed";
    default: return "";
  }
}

}  // namespace

struct ServiceMetrics::Counted {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& events =
      BuildCounter()
          .Name("lockstep_events_total")
          .Help("What the service did or found, by the reason of its events.")
          .Register(registry);
  prometheus::Family<prometheus::Counter>& changes =
      BuildCounter()
          .Name("lockstep_changes_total")
          .Help("Changes that were begun and have ended, by their outcome.")
          .Register(registry);
  prometheus::Histogram& change_seconds = BuildHistogram()
                                              .Name("lockstep_change_duration_seconds")
                                              .Help("From a change's first write to its end.")
                                              .Register(registry)
                                              .Add({}, kChangeSeconds);
  prometheus::Histogram& late_seconds =
      BuildHistogram()
          .Name("lockstep_engine_lag_seconds")
          .Help("How much later than it was due the thread of all decisions began something.")
          .Register(registry)
          .Add({}, kLateSeconds);
  prometheus::Family<prometheus::Counter>& requests = BuildCounter()
                                                          .Name("lockstep_api_requests_total")
                                                          .Help("Requests of the API that were answered.")
                                                          .Register(registry);
  prometheus::Gauge& watchers = BuildGauge()
                                    .Name("lockstep_api_watchers")
                                    .Help("Streams of changes that clients read now.")
                                    .Register(registry)
                                    .Add({});
  prometheus::Gauge& alerts = BuildGauge()
                                  .Name("lockstep_alerts_open")
                                  .Help("Alerts that the service itself has open.")
                                  .Register(registry)
                                  .Add({});
  prometheus::Family<prometheus::Counter>& notifications =
      BuildCounter()
          .Name("lockstep_notifications_total")
          .Help("Messages to receivers of alerts: delivered, failed (to be tried again) or refused for good.")
          .Register(registry);
  prometheus::Family<prometheus::Counter>& dropped =
      BuildCounter()
          .Name("lockstep_notification_events_dropped_total")
          .Help("Openings and ends of alerts that a receiver was never told, as too many waited.")
          .Register(registry);
};

ServiceMetrics::ServiceMetrics(const std::string& version, const std::string& commit)
    : counted_(std::make_unique<Counted>()) {
  BuildGauge()
      .Name("lockstep_build_info")
      .Help("The program's version, and the commit that it was built from.")
      .Register(counted_->registry)
      .Add({{"version", version}, {"commit", commit}})
      .Set(1);
  // From the start, so that the first one is an increase.
  for (const std::string_view reason : words(ServiceEvent::Kind{}))
    counted_->events.Add({{"reason", std::string(reason)}});
  for (const char* const outcome : {"kept", "refused", "superseded", "failed"})
    counted_->changes.Add({{"outcome", outcome}});
}

ServiceMetrics::~ServiceMetrics() = default;

void ServiceMetrics::happened(const ServiceEvent& event) {
  counted_->events.Add({{"reason", std::string(to_string(event.kind))}}).Increment();
  const std::scoped_lock lock(mutex_);
  if (event.kind == ServiceEvent::Kind::change_began) change_began_ = event.at;
  const std::string_view outcome = outcome_of(event.kind);
  if (outcome.empty() || !change_began_) return;
  const WallTime began = *std::exchange(change_began_, std::nullopt);
  counted_->changes.Add({{"outcome", std::string(outcome)}}).Increment();
  // A clock that was set back makes no change shorter than nothing.
  counted_->change_seconds.Observe(std::max(0.0, std::chrono::duration<double>(event.at - began).count()));
}

void ServiceMetrics::engine_was_late(std::chrono::nanoseconds by) {
  counted_->late_seconds.Observe(std::max(0.0, std::chrono::duration<double>(by).count()));
}

void ServiceMetrics::answered(std::string_view method, int code) {
  constexpr std::array<std::string_view, 5> kKnown{"GET", "HEAD", "POST", "OPTIONS", "WATCH"};
  const bool known = std::ranges::find(kKnown, method) != kKnown.end();
  counted_->requests
      .Add({{"verb", known ? std::string(method) : std::string("other")}, {"code", std::to_string(code)}})
      .Increment();
}

void ServiceMetrics::watchers(int more) { counted_->watchers.Increment(more); }

void ServiceMetrics::notified(const std::string& receiver, Delivery outcome) {
  counted_->notifications.Add({{"receiver", receiver}, {"outcome", std::string(to_string(outcome))}})
      .Increment();
}

void ServiceMetrics::notifications_dropped(const std::string& receiver, std::size_t count) {
  counted_->dropped.Add({{"receiver", receiver}}).Increment(static_cast<double>(count));
}

void ServiceMetrics::alerts_open(std::size_t count) { counted_->alerts.Set(static_cast<double>(count)); }

std::string ServiceMetrics::text(const std::shared_ptr<const ServiceStatus>& status) {
  std::shared_ptr<const Snapshot> devices;
  {
    const std::scoped_lock lock(mutex_);
    if (status->devices) devices_ = status->devices;
    devices = devices_;
  }
  std::vector<MetricFamily> all = counted_->registry.Collect();
  for (auto more : {status_families(*status, devices.get()), process_families()})
    std::ranges::move(more, std::back_inserter(all));
  // A family without metrics would be a name and a help without a meaning.
  std::erase_if(all, [](const MetricFamily& one) { return one.metric.empty(); });
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace lockstep
