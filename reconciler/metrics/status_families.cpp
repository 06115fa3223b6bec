#include "reconciler/metrics/status_families.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace lockstep {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<std::pair<const char*, std::string>>;

class Families {
 public:
  void begin(const char* name, const char* help, MetricType type = MetricType::Gauge) {
    all_.push_back({name, help, type, {}});
  }
  void add(double value, const Labels& labels = {}) {
    ClientMetric metric;
    for (const auto& [name, label] : labels) metric.label.push_back({name, label});
    if (all_.back().type == MetricType::Counter)
      metric.counter.value = value;
    else
      metric.gauge.value = value;
    all_.back().metric.push_back(std::move(metric));
  }
  void gauge(const char* name, const char* help, double value) {
    begin(name, help);
    add(value);
  }
  void whether(const char* name, const char* help, bool is) { gauge(name, help, is ? 1 : 0); }
  std::vector<MetricFamily> take() { return std::move(all_); }

 private:
  std::vector<MetricFamily> all_;
};

double seconds(WallTime at) { return std::chrono::duration<double>(at.time_since_epoch()).count(); }

void add_service(Families& out, const ServiceStatus& status) {
  out.begin("lockstep_cluster_info", "The cluster that is served, and whether it is a twin.");
  if (!status.cluster.empty())
    out.add(1, {{"cluster", status.state_name}, {"twin", status.twin ? "yes" : "no"}});
  out.whether("lockstep_leading", "1: this service leads the cluster, and may write.", status.leads);
  out.whether("lockstep_suspended", "1: somebody has suspended it, and nothing is written.",
              status.suspended.has_value());
  out.whether("lockstep_circuit_breaker_open", "1: so much has drifted that nothing is healed by itself.",
              !status.breaker.empty());
  out.whether("lockstep_record_failing", "1: what it decided last could not be stored.",
              !status.record_trouble.empty());
}

void add_source(Families& out, const ServiceStatus& status) {
  out.whether("lockstep_source_failing", "1: the last fetch of the specs failed.",
              status.source.trouble.has_value());
  out.begin("lockstep_source_last_success_timestamp_seconds",
            "When the source of the specs answered last, since the service was started.");
  if (status.source.fetched) out.add(seconds(*status.source.fetched));
}

void add_revisions(Families& out, const ServiceStatus& status) {
  out.whether("lockstep_revision_invalid", "1: the newest revision is invalid, and an older one is in force.",
              status.invalid.has_value());
  out.begin("lockstep_revision_info", "The revision of the source in each of these roles.");
  if (!status.revisions.empty())
    out.add(1, {{"role", "newest"}, {"revision", status.revisions.front().shown.revision.source}});
  if (status.last_good) out.add(1, {{"role", "last_good"}, {"revision", status.last_good->source}});
  if (status.watched) out.add(1, {{"role", "watched"}, {"revision", status.watched->source}});
  std::optional<RevisionState> newest;
  if (!status.revisions.empty()) newest = status.revisions.front().shown.state;
  out.begin("lockstep_newest_revision_state", "1 for the state that the newest valid revision is in.");
  const auto states = words(RevisionState{});
  for (std::size_t i = 0; i < states.size(); ++i)
    out.add(newest == static_cast<RevisionState>(i) ? 1 : 0, {{"state", std::string(states[i])}});
  std::size_t waiting = 0;
  for (const RevisionStatus& one : status.revisions)
    if (one.shown.asks()) waiting += one.shown.waits.size();
  out.gauge("lockstep_approvals_waiting", "Steps that wait for somebody's approval.",
            static_cast<double>(waiting));
}

void add_change(Families& out, const ServiceStatus& status) {
  out.whether("lockstep_change_running", "1: a change is under way.", status.run.has_value());
  out.gauge("lockstep_change_steps", "Steps of the change that is under way.",
            status.run ? static_cast<double>(status.run->steps) : 0);
  out.gauge("lockstep_change_steps_over", "Steps of the change that is under way that are over.",
            status.run ? static_cast<double>(status.run->over) : 0);
  out.begin("lockstep_gates_total", "Decisions of gates on changes, by their verdict.", MetricType::Counter);
  const ServiceCounts& counts = status.counts;
  for (std::size_t i = 0; i < counts.gates.size(); ++i)
    out.add(static_cast<double>(counts.gates[i]),
            {{"verdict", std::string(to_string(static_cast<GateVerdict>(i)))}});
  out.begin("lockstep_heals_total", "Corrections of drift by itself, by their outcome.", MetricType::Counter);
  out.add(static_cast<double>(counts.healed), {{"outcome", "healed"}});
  out.add(static_cast<double>(counts.heals_failed), {{"outcome", "failed"}});
}

void add_suites(Families& out, const ServiceStatus& status) {
  out.begin("lockstep_suite_slo_broken", "1: the suite's last run by the clock found that an SLO is broken.");
  for (const ScheduleStatus& one : status.schedules)
    if (one.last) out.add(one.last->verdict == bench::Verdict::fail ? 1 : 0, {{"suite", one.schedule.suite}});
  out.begin("lockstep_suite_measured_timestamp_seconds", "When the suite was last measured by the clock.");
  for (const ScheduleStatus& one : status.schedules)
    if (one.last) out.add(seconds(one.last->at), {{"suite", one.schedule.suite}});
}

enum class DeviceIs : std::uint8_t { in_sync, drifted, incomplete, unreachable, not_observed };
constexpr std::array<const char*, 5> kDeviceIs{"in_sync", "drifted", "incomplete", "unreachable",
                                               "not_observed"};

DeviceIs condition_of(const DeviceStatus* device) {
  if (device == nullptr) return DeviceIs::not_observed;
  if (!device->reachable) return DeviceIs::unreachable;
  if (device->differences > 0) return DeviceIs::drifted;
  return device->complete ? DeviceIs::in_sync : DeviceIs::incomplete;
}

void add_device_counts(Families& out, const ServiceStatus& status, const Snapshot* devices) {
  std::array<std::size_t, kDeviceIs.size()> counts{};
  if (devices != nullptr)
    for (const auto& one : devices->devices) ++counts[static_cast<std::size_t>(condition_of(one.get()))];
  out.begin("lockstep_devices", "Devices of the cluster by their condition, as of their last observation.");
  for (std::size_t i = 0; i < counts.size(); ++i)
    out.add(static_cast<double>(counts[i]), {{"condition", kDeviceIs[i]}});
  out.gauge("lockstep_devices_cordoned", "Devices on which nothing is written, as somebody asked for.",
            static_cast<double>(status.cordoned.size()));
}

// Of the devices that were observed.
template <class Of>
void add_each_device(Families& out, const Snapshot* devices, const char* name, const char* help, Of of) {
  out.begin(name, help);
  if (devices == nullptr) return;
  for (const auto& one : devices->devices)
    if (one) out.add(of(*one), {{"device", one->device}});
}

// `in_force`: they are compared with specs that they may be at.
void add_devices(Families& out, const Snapshot* devices, bool in_force) {
  using Device = const DeviceStatus&;
  add_each_device(out, in_force ? devices : nullptr, "lockstep_device_drifted",
                  "1: the device differs from the specs in force.",
                  [](Device device) { return condition_of(&device) == DeviceIs::drifted ? 1.0 : 0.0; });
  add_each_device(out, devices, "lockstep_device_reachable", "1: the device answered when it was last asked.",
                  [](Device device) { return device.reachable ? 1.0 : 0.0; });
  add_each_device(out, devices, "lockstep_device_in_maintenance", "1: its maintenance excuses the device.",
                  [](Device device) { return device.maintenance.empty() ? 0.0 : 1.0; });
  add_each_device(out, devices, "lockstep_device_observed_timestamp_seconds",
                  "When the device was last observed, or asked in vain.",
                  [](Device device) { return seconds(device.observed); });
}

}  // namespace

std::vector<MetricFamily> status_families(const ServiceStatus& status, const Snapshot* devices) {
  Families out;
  add_service(out, status);
  add_source(out, status);
  add_revisions(out, status);
  add_change(out, status);
  add_suites(out, status);
  add_device_counts(out, status, devices);
  add_devices(out, devices, status.in_force);
  return out.take();
}

}  // namespace lockstep
