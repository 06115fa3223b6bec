#include "reconciler/engine/status.hpp"

#include <algorithm>

#include "reconciler/engine/causes.hpp"
#include "reconciler/engine/digest.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

class StatusWriter {
 public:
  StatusWriter(const Origins& origins, const Sources& sources, const ReportChoice& choice)
      : origins_(origins), sources_(sources), choice_(choice) {}

  void add(const Fleet& fleet, std::size_t index, const DeviceState& state) {
    const FleetDevice& device = fleet[index];
    ++report_.devices;
    const std::size_t first = report_.unobserved.size();
    for (const Error& error : state.errors) add_unobserved(device, "", error.text());
    if (!state.reachable && state.errors.empty()) add_unobserved(device, "", "not observed");
    for (std::size_t i = first; i < report_.unobserved.size(); ++i)
      report_.unobserved[i].whole = !state.reachable;
    for (const Entry& entry : state.difference.unobserved)
      if (state.errors.empty()) add_unobserved(device, entry.path.text(), state.why_unread(entry.path));
    if (state.claims_unread && state.errors.empty())
      add_unobserved(device, "", "a collection that is owned whole could not be read");
    if (state.complete()) ++report_.observed;
    const bool serves = device.maintenance.empty();
    if (!serves) ++report_.in_maintenance;
    if (!serves && !state.complete()) ++report_.excused;
    if (!state.reachable) return;
    const std::string waits = choice_.waits ? choice_.waits(device) : std::string();
    for (const Change& change : state.difference.changes) {
      add(device, change, waits.empty() ? DriftState::drifted : DriftState::not_applied);
      const Permission* const permission = fleet.permission(index, change.path.row());
      const auto refused = permission == nullptr ? std::nullopt : permission->why_not(change);
      report_.items.back().reason = refused ? *refused : waits;
    }
    bool stays = false;
    bool explained = false;
    for (const Change& change : state.difference.effects) {
      add(device, change, DriftState::effect);
      report_.items.back().maintenance = maintenance_of(fleet, index, state, change);
      (report_.items.back().maintenance.empty() ? stays : explained) = true;
    }
    for (const NotApplied& one : state.not_applied) {
      add(device, Change{one.path, state.observation.have.value(one.path), one.want, one.origin},
          DriftState::not_applied);
      report_.items.back().reason = one.reason;
      report_.items.back().by_hand = one.by_hand;
    }
    if (choice_.overruled)
      for (const Overruled& one : device.intent->overruled) {
        add(device, Change{one.path, state.observation.have.value(one.path), one.want, one.origin},
            DriftState::overruled);
        const PlanOrigin by = origin(one.by);
        report_.items.back().reason =
            "overruled by " + by.object + " at " + by.file + ":" + std::to_string(by.line);
      }
    add_findings(device, state);
    add_allowed(device, state);
    if (choice_.unmanaged) add_unmanaged(device, state);
    stays =
        stays || std::ranges::any_of(state.not_applied, [](const NotApplied& one) { return one.by_hand; });
    const bool differs = !state.difference.changes.empty() || stays;
    const bool drifted = differs && (waits.empty() || stays);
    if (serves && drifted) ++report_.drifted;
    if (serves && differs && !drifted) ++report_.waiting;
    if (!differs && !explained && state.complete()) ++report_.in_sync;
  }

  DriftReport take() { return std::move(report_); }

 private:
  PlanOrigin origin(OriginId id) const {
    return id < origins_.all.size() ? plan_origin(origins_[id], &sources_) : PlanOrigin{};
  }

  void add_unobserved(const FleetDevice& device, const std::string& path, const std::string& why) {
    report_.unobserved.push_back({device.name, path, why, {}, device.maintenance});
  }

  void add(const FleetDevice& device, const Change& change, DriftState state) {
    DriftEntry entry;
    entry.device = device.name;
    entry.maintenance = device.maintenance;
    entry.path = change.path;
    entry.want = change.want;
    entry.have = change.was;
    entry.state = state;
    entry.disruption = schema_row(change.path.row()).disruption;
    entry.origin = origin(change.origin);
    report_.items.push_back(std::move(entry));
  }

  // Entries that exist besides the desired ones, in rows where that is no difference.
  void add_findings(const FleetDevice& device, const DeviceState& state) {
    for (std::size_t row = 0; row < kSchema.size(); ++row) {
      if (kSchema[row].compare != Compare::noted) continue;
      for (const Entry& entry : device.intent->want.of_row(static_cast<RowId>(row)))
        if (auto found = beyond(entry.value, state.observation.have.value(entry.path)); !found.empty()) {
          add(device, Change{entry.path, Value::set(std::move(found)), entry.value, entry.origin},
              DriftState::finding);
        }
    }
  }

  // Entries that specs allow, or have allowed: they are listed because they exist.
  void add_allowed(const FleetDevice& device, const DeviceState& state) {
    if (device.intent->allowed == nullptr) return;
    for (const Allowed& one : *device.intent->allowed) {
      const Value have = state.observation.have.value(one.path);
      if (have.kind() != Value::Kind::list || std::ranges::count(have.as_list(), one.what) == 0) continue;
      const Value what = Value::set({one.what});
      add(device, Change{one.path, what, one.ended ? Value::set({}) : what, one.origin}, DriftState::allowed);
      report_.items.back().reason = one.ended ? "has ended, and it counts again: " + one.why : one.why;
    }
  }

  void add_unmanaged(const FleetDevice& device, const DeviceState& state) {
    const auto is_claimed = [&](Path path) {
      return std::any_of(state.difference.changes.begin(), state.difference.changes.end(),
                         [path](const Change& change) { return change.path == path; });
    };
    for (const Entry& entry : state.observation.have.entries()) {
      const Row& row = schema_row(entry.path.row());
      if (row.facet != Facet::config || row.takes == Takes::read_only) continue;
      if (device.intent->want.find(entry.path) != nullptr || is_claimed(entry.path)) continue;
      add(device, Change{entry.path, entry.value, Value{}, 0}, DriftState::unmanaged);
    }
  }

  const Origins& origins_;
  const Sources& sources_;
  const ReportChoice& choice_;
  DriftReport report_;
};

}  // namespace

DriftReport drift_report(const Fleet& fleet, const std::vector<DeviceState>& states, const Origins& origins,
                         const Sources& sources, const ReportChoice& choice) {
  StatusWriter reporter(origins, sources, choice);
  for (std::size_t i = 0; i < fleet.size() && i < states.size(); ++i) reporter.add(fleet, i, states[i]);
  DriftReport report = reporter.take();
  report.problems = problems_of(report, fleet.wiring());
  return report;
}

DriftReport device_report(const Fleet& fleet, std::size_t device, const DeviceState& state,
                          const Origins& origins, const Sources& sources, const ReportChoice& choice) {
  StatusWriter reporter(origins, sources, choice);
  reporter.add(fleet, device, state);
  return reporter.take();
}

std::size_t DriftReport::count(DriftState state) const {
  return static_cast<std::size_t>(std::count_if(
      items.begin(), items.end(), [state](const DriftEntry& one) { return one.state == state; }));
}

std::size_t DriftReport::differences() const {
  return static_cast<std::size_t>(std::ranges::count_if(items, &DriftEntry::is_difference));
}

// Drift outranks incompleteness: a script that heals has something to do. In sync requires that everything
// was observed.
int DriftReport::exit_code() const {
  if (drifted > 0 || waiting > 0) return 2;
  const bool unread = std::ranges::any_of(unobserved, &std::string::empty, &Unobserved::maintenance);
  return observed + excused < devices || unread ? 3 : 0;
}

}  // namespace lockstep
