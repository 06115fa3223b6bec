#include <gtest/gtest.h>

#include <set>

#include "metric_samples.hpp"
#include "reconciler/metrics/service_metrics.hpp"
#include "tests/unit/api/sample_status.hpp"

namespace lockstep {
namespace {

using Samples = std::map<std::string, double>;

std::shared_ptr<const ServiceStatus> shared(ServiceStatus status) {
  return std::make_shared<const ServiceStatus>(std::move(status));
}

double sum_of(const Samples& samples, const std::string& family) {
  double out = 0;
  for (const auto& [name, value] : samples)
    if (name.starts_with(family + "{")) out += value;
  return out;
}

class Metrics : public testing::Test {
 protected:
  Samples samples(ServiceStatus status) { return samples_of(metrics_.text(shared(std::move(status)))); }
  void happens(ServiceEvent::Kind kind, int second) {
    metrics_.happened({kind, api::at_second(second), "Revision/3f2a", "so it is"});
  }

  using Kind = ServiceEvent::Kind;
  ServiceMetrics metrics_{"1.2.3", "abc"};
};

TEST_F(Metrics, SayWhatTheStatusSays) {
  const Samples quiet = samples(api::quiet_status());
  const Samples full = samples(api::full_status());
  for (const char* const name :
       {"lockstep_suspended", "lockstep_circuit_breaker_open", "lockstep_record_failing",
        "lockstep_source_failing", "lockstep_revision_invalid", "lockstep_change_running"}) {
    EXPECT_EQ(quiet.at(name), 0) << name;
    EXPECT_EQ(full.at(name), 1) << name;
  }
  EXPECT_EQ(quiet.at("lockstep_leading"), 1);
  EXPECT_EQ(quiet.at("lockstep_cluster_info{cluster=\"pod1\",twin=\"no\"}"), 1);
  EXPECT_EQ(quiet.at("lockstep_build_info{commit=\"abc\",version=\"1.2.3\"}"), 1);
  EXPECT_EQ(quiet.at("lockstep_source_last_success_timestamp_seconds"), 1'795'000'000);
  EXPECT_EQ(quiet.at("lockstep_newest_revision_state{state=\"kept\"}"), 1);
  EXPECT_EQ(full.at("lockstep_newest_revision_state{state=\"waiting\"}"), 1);
  EXPECT_EQ(sum_of(full, "lockstep_newest_revision_state"), 1);
  EXPECT_EQ(full.at("lockstep_revision_info{role=\"newest\",revision=\"9c01ff\"}"), 1);
  EXPECT_EQ(full.at("lockstep_revision_info{role=\"last_good\",revision=\"3f2a41\"}"), 1);
  EXPECT_EQ(quiet.at("lockstep_approvals_waiting"), 0);
  EXPECT_EQ(full.at("lockstep_approvals_waiting"), 1);
  EXPECT_EQ(full.at("lockstep_change_steps"), 5);
  EXPECT_EQ(full.at("lockstep_change_steps_over"), 3);
}

TEST_F(Metrics, PutEachDeviceInOneCondition) {
  ServiceStatus status = api::full_status();
  const Samples full = samples(status);
  for (const char* const is : {"in_sync", "drifted", "unreachable", "not_observed"})
    EXPECT_EQ(full.at(std::string("lockstep_devices{condition=\"") + is + "\"}"), 1) << is;
  EXPECT_EQ(sum_of(full, "lockstep_devices"), static_cast<double>(status.devices->devices.size()));
  EXPECT_EQ(full.at("lockstep_device_drifted{device=\"gpu2\"}"), 1);
  EXPECT_EQ(full.at("lockstep_device_drifted{device=\"gpu1\"}"), 0);
  EXPECT_EQ(full.at("lockstep_device_in_maintenance{device=\"gpu2\"}"), 1);
  EXPECT_EQ(full.at("lockstep_device_reachable{device=\"leaf0\"}"), 0);
  EXPECT_EQ(full.at("lockstep_device_observed_timestamp_seconds{device=\"gpu1\"}"), 1'795'000'005);
  EXPECT_FALSE(full.contains("lockstep_device_drifted{device=\"gpu3\"}")) << "it was never observed";
  EXPECT_EQ(full.at("lockstep_devices_cordoned"), 1);
}

TEST_F(Metrics, TellOfSuitesThatWereMeasured) {
  ServiceStatus status = api::quiet_status();
  status.schedules = {
      {.schedule = {.suite = "slo"}, .last = SuiteResult{api::at_second(9), bench::Verdict::fail, "", 7}},
      {.schedule = {.suite = "latency"},
       .last = SuiteResult{api::at_second(8), bench::Verdict::unknown, "", 8}},
      {.schedule = {.suite = "new"}}};
  const Samples all = samples(status);
  EXPECT_EQ(all.at("lockstep_suite_slo_broken{suite=\"slo\"}"), 1);
  EXPECT_EQ(all.at("lockstep_suite_slo_broken{suite=\"latency\"}"), 0);
  EXPECT_FALSE(all.contains("lockstep_suite_slo_broken{suite=\"new\"}"));
  EXPECT_EQ(all.at("lockstep_suite_measured_timestamp_seconds{suite=\"slo\"}"), 1'795'000'009);
}

// A change stops the watch; what was known of the devices does not disappear meanwhile.
TEST_F(Metrics, KeepDevicesWhileNothingIsWatched) {
  ServiceStatus status = api::drifted_status(2, 7);
  ASSERT_EQ(samples(status).at("lockstep_device_drifted{device=\"gpu1\"}"), 1);
  status.devices = nullptr;
  EXPECT_EQ(samples(status).at("lockstep_device_drifted{device=\"gpu1\"}"), 1);
  EXPECT_EQ(samples(api::quiet_status()).at("lockstep_device_drifted{device=\"gpu1\"}"), 0);
  ServiceMetrics fresh{"1", "c"};
  EXPECT_EQ(sum_of(samples_of(fresh.text(shared(status))), "lockstep_devices"), 0);
}

TEST_F(Metrics, CountChangesThatBeganAndHowLongTheyTook) {
  const auto outcome = [&](const char* is) {
    return samples({}).at(std::string("lockstep_changes_total{outcome=\"") + is + "\"}");
  };
  for (const char* const is : {"kept", "refused", "superseded", "failed"}) EXPECT_EQ(outcome(is), 0) << is;
  happens(Kind::change_kept, 1);  // there was nothing to do
  EXPECT_EQ(outcome("kept"), 0);
  happens(Kind::change_began, 10);
  happens(Kind::drift, 11);
  happens(Kind::change_kept, 17);
  happens(Kind::change_began, 20);
  happens(Kind::change_refused, 100);
  happens(Kind::change_began, 200);
  happens(Kind::change_failed, 190);  // the clock was set back
  EXPECT_EQ(outcome("kept"), 1);
  EXPECT_EQ(outcome("refused"), 1);
  EXPECT_EQ(outcome("superseded"), 0);
  EXPECT_EQ(outcome("failed"), 1);
  const Samples all = samples({});
  EXPECT_EQ(all.at("lockstep_change_duration_seconds_count"), 3);
  EXPECT_EQ(all.at("lockstep_change_duration_seconds_sum"), 7 + 80 + 0);
  EXPECT_EQ(all.at("lockstep_change_duration_seconds_bucket{le=\"15\"}"), 2);
  EXPECT_EQ(all.at("lockstep_change_duration_seconds_bucket{le=\"+Inf\"}"), 3);
  EXPECT_EQ(all.at("lockstep_events_total{reason=\"ChangeKept\"}"), 2);
  EXPECT_EQ(all.at("lockstep_events_total{reason=\"Drift\"}"), 1);
}

TEST_F(Metrics, CountGatesHealsRequestsAndNotifications) {
  ServiceStatus status = api::quiet_status();
  status.counts.gates = {3, 1, 0, 2};
  status.counts.healed = 5;
  status.counts.heals_failed = 4;
  metrics_.answered("GET", 200);
  metrics_.answered("GET", 200);
  metrics_.answered("BREW", 405);
  metrics_.answered("", 431);
  metrics_.answered("POST", 405);
  metrics_.watchers(1);
  metrics_.watchers(1);
  metrics_.watchers(-1);
  metrics_.notified("webhook", Delivery::failed);
  metrics_.notifications_dropped("webhook", 7);
  metrics_.engine_was_late(std::chrono::milliseconds(20));
  metrics_.engine_was_late(std::chrono::milliseconds(-5));
  const Samples all = samples(status);
  EXPECT_EQ(all.at("lockstep_gates_total{verdict=\"pass\"}"), 3);
  EXPECT_EQ(all.at("lockstep_gates_total{verdict=\"fail\"}"), 1);
  EXPECT_EQ(sum_of(all, "lockstep_gates_total"), 6);
  EXPECT_EQ(all.at("lockstep_heals_total{outcome=\"healed\"}"), 5);
  EXPECT_EQ(all.at("lockstep_heals_total{outcome=\"failed\"}"), 4);
  EXPECT_EQ(sum_of(all, "lockstep_api_requests_total"), 5);
  EXPECT_EQ(all.at("lockstep_api_requests_total{code=\"200\",verb=\"GET\"}"), 2);
  EXPECT_EQ(all.at("lockstep_api_watchers"), 1);
  EXPECT_EQ(all.at("lockstep_notification_events_dropped_total{receiver=\"webhook\"}"), 7);
  EXPECT_EQ(all.at("lockstep_engine_lag_seconds_count"), 2);
  EXPECT_EQ(all.at("lockstep_engine_lag_seconds_bucket{le=\"0.01\"}"), 1);
}

// Whatever clients, devices and authors write, the number of series is bounded by the number of devices.
TEST_F(Metrics, HaveFewSeries) {
  ServiceStatus status = api::full_status();
  const std::size_t before = samples(status).size();
  for (int i = 0; i < 100; ++i) {
    metrics_.answered("M" + std::to_string(i), 405);
    metrics_.happened({Kind::drift, api::at_second(i), "Device/" + std::to_string(i), std::to_string(i)});
    status.revisions.insert(status.revisions.begin(),
                            api::revision_status(std::to_string(i), "sha256:aa", RevisionState::superseded));
  }
  EXPECT_LE(samples(status).size(), before + 1);
}

TEST_F(Metrics, TellOfTheProcess) {
  const Samples all = samples({});
  EXPECT_GT(all.at("process_cpu_seconds_total"), 0);
  EXPECT_GT(all.at("process_resident_memory_bytes"), 1e6);
  EXPECT_GE(all.at("process_virtual_memory_bytes"), all.at("process_resident_memory_bytes"));
  EXPECT_GE(all.at("process_open_fds"), 3);
  EXPECT_GT(all.at("process_max_fds"), all.at("process_open_fds"));
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_LE(all.at("process_start_time_seconds"), now);
  EXPECT_GT(all.at("process_start_time_seconds"), now - 3600);
}

}  // namespace
}  // namespace lockstep
