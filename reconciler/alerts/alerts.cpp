#include "reconciler/alerts/alerts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "reconciler/engine/digest.hpp"

namespace lockstep {
namespace {

struct KindWords {
  std::string_view name;
  std::string_view word;  // of the cause
};
constexpr std::array<KindWords, 5> kKinds{{{"LockstepDeviceDrifted", "drift"},
                                           {"LockstepGateRefused", "gate"},
                                           {"LockstepApprovalWaiting", "approval"},
                                           {"LockstepSloBroken", "slo"},
                                           {"LockstepStalled", "stalled"}}};

const KindWords& spelling_of(AlertKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

constexpr std::string_view kNotLeading = "NotLeading";
constexpr std::string_view kSourceTrouble = "SourceTrouble";
constexpr std::string_view kInvalidRevision = "InvalidRevision";

// What is so now, as one status says.
class Causes {
 public:
  Causes(const ServiceStatus& status, WallTime now)
      : status_(status), now_(now), cluster_(status.state_name.empty() ? "unnamed" : status.state_name) {
    find_stalled();
    find_revisions();
    find_broken_slos();
    find_drift();
  }

  const std::map<std::string, Alert>& all() const { return all_; }
  // Whether nothing is known of what this alert is of.
  bool is_unknown(const Alert& alert) const {
    const bool may_be = alert.kind == AlertKind::drift || alert.kind == AlertKind::slo_broken;
    const bool is_compared = status_.devices && (status_.in_force || alert.kind != AlertKind::drift);
    return may_be && alert.cluster == cluster_ && (!is_compared || unknown_.contains(alert.object));
  }

 private:
  void add(AlertKind kind, std::string object, std::string_view reason, std::string message,
           std::optional<WallTime> since = {}) {
    Alert alert{
        kind, cluster_, std::move(object), std::string(reason), std::move(message), since.value_or(now_)};
    alert.since = std::min(alert.since, now_);
    std::string cause = alert.cause();
    all_.insert_or_assign(std::move(cause), std::move(alert));
  }
  void stalled(std::string_view reason, const std::string& message, std::optional<WallTime> since = {}) {
    const std::string& name = status_.cluster.empty() ? cluster_ : status_.cluster;
    add(AlertKind::stalled, "Cluster/" + name, reason, message, since);
  }

  void find_stalled() {
    if (!status_.record_trouble.empty()) stalled("RecordTrouble", status_.record_trouble);
    if (!status_.breaker.empty()) stalled("BreakerOpen", status_.breaker);
    if (!status_.leads && !status_.suspended) stalled(kNotLeading, status_.why_not_leads);
    if (status_.invalid) stalled(kInvalidRevision, status_.invalid->why, status_.invalid->since);
    if (status_.source.trouble)
      stalled(kSourceTrouble, fmt::format("{}: {}", to_string(*status_.source.trouble), status_.source.why));
  }

  // Of the revisions that a gate refused, only the newest one is asked for by the source.
  void find_revisions() {
    for (std::size_t i = 0; i < status_.revisions.size(); ++i) {
      const Revisions::Shown& shown = status_.revisions[i].shown;
      const std::string object = "Revision/" + shown.revision.source;
      if (shown.asks()) add(AlertKind::approval_waiting, object, "", shown.why_waits, shown.since);
      if (i == 0 && shown.state == RevisionState::refused)
        add(AlertKind::gate_refused, object, "", shown.why, shown.since);
    }
  }

  void find_broken_slos() {
    for (const ScheduleStatus& one : status_.schedules) {
      const std::string object = "ValidationSuite/" + one.schedule.suite;
      if (!one.last || one.last->verdict == bench::Verdict::unknown)
        unknown_.insert(object);
      else if (one.last->verdict == bench::Verdict::fail)
        add(AlertKind::slo_broken, object, "", one.last->message, one.last->at);
    }
  }

  void find_drift() {
    if (!status_.devices || !status_.in_force) return;
    for (std::size_t i = 0; i < status_.devices->devices.size(); ++i) {
      const DeviceStatus* const device = status_.devices->devices[i].get();
      if (device == nullptr) {
        if (status_.devices->named) unknown_.insert("Device/" + (*status_.devices->named)[i].name);
        continue;
      }
      const std::string object = "Device/" + device->device;
      if (!device->maintenance.empty()) continue;
      if (device->reachable && device->differences > 0)
        add(AlertKind::drift, object, "",
            fmt::format("{} entries differ from the specs", device->differences), device->observed);
      else if (!device->complete)
        unknown_.insert(object);
    }
  }

  const ServiceStatus& status_;
  const WallTime now_;
  const std::string cluster_;
  std::map<std::string, Alert> all_;
  std::set<std::string> unknown_;  // objects
};

bool may_pass(const Alert& alert) {
  return alert.kind == AlertKind::drift || alert.reason == kNotLeading || alert.reason == kSourceTrouble;
}

}  // namespace

std::string_view Alert::name() const { return spelling_of(kind).name; }

std::string_view Alert::severity() const {
  const bool goes_on = reason.empty() || reason == kSourceTrouble || reason == kInvalidRevision;
  return goes_on ? "warning" : "critical";
}

std::string Alert::cause() const {
  return fmt::format("{}/{}/{}/{}", cluster, spelling_of(kind).word, object, reason);
}

std::string Alert::id() const {
  Digest digest;
  digest.add(cause());
  digest.add(std::to_string(std::chrono::floor<std::chrono::milliseconds>(since.time_since_epoch()).count()));
  return digest.finish().substr(7, 32);  // without "sha256:"; 128 bits
}

AlertBook next_alerts(const AlertBook& before, const ServiceStatus& status, WallTime now,
                      std::chrono::seconds after) {
  const Causes causes(status, now);
  AlertBook out;
  for (auto [cause, alert] : causes.all()) {
    const auto open = before.open.find(cause);
    const auto begun = before.begun.find(cause);
    const bool is_open = open != before.open.end();
    if (is_open || begun != before.begun.end()) alert.since = (is_open ? open : begun)->second.since;
    // A clock that was set back begins anew what has not lasted yet.
    if (!is_open) alert.since = std::min(alert.since, now);
    const bool lasts = is_open || !may_pass(alert) || now - alert.since >= after;
    (lasts ? out.open : out.begun).emplace(cause, std::move(alert));
  }
  for (const auto& [cause, alert] : before.open)
    if (causes.is_unknown(alert)) out.open.emplace(cause, alert);
  for (const auto& [cause, alert] : before.begun)
    if (causes.is_unknown(alert)) out.begun.emplace(cause, alert);
  return out;
}

std::vector<AlertChange> changes_between(const AlertBook& before, const AlertBook& next, WallTime now) {
  std::vector<AlertChange> out;
  for (const auto& [cause, alert] : before.open)
    if (!next.open.contains(cause)) out.push_back({false, alert, now});
  for (const auto& [cause, alert] : next.open)
    if (!before.open.contains(cause)) out.push_back({true, alert, now});
  std::ranges::stable_sort(out, {}, [](const AlertChange& one) { return one.alert.cause(); });
  return out;
}

}  // namespace lockstep
