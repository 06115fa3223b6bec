// Converts what was observed, and a plan that is to be rolled back, into the planner's input.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reconciler/engine/columns.hpp"
#include "reconciler/engine/fleet.hpp"
#include "reconciler/engine/plan.hpp"
#include "specs/language/cluster.hpp"
#include "specs/model/mtu_lock.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

// The first driver that has one.
template <class Ask>
std::optional<std::pair<std::string, Remedy::Offer>> first_offer(const Carriers& carriers,
                                                                 const std::vector<Attached*>& drivers,
                                                                 const Ask& ask) {
  for (std::size_t d = 0; d < drivers.size(); ++d) {
    const Traits* const known = carriers.traits(d);
    if (drivers[d]->remedy == nullptr || known == nullptr) continue;
    if (std::optional<Remedy::Offer> offer = ask(*drivers[d]->remedy))
      return std::pair{known->driver, std::move(*offer)};
  }
  return std::nullopt;
}

DeviceInput device_input(const Fleet& fleet, std::size_t index, const DeviceState& state) {
  const FleetDevice& device = fleet[index];
  const Carriers* const carriers = &fleet.carriers(index);
  DeviceInput input;
  input.name = device.name;
  input.role = device.role;
  input.intent = device.intent;
  if (state.reachable) input.observation = &state.observation;  // otherwise nothing is known about it
  input.unread = why_unread(state);
  input.maintenance = device.maintenance;
  input.not_applied = state.not_applied.size();
  input.carrier = [carriers](RowId row) {
    const int writer = carriers->writer(row);
    return writer < 0 ? std::string() : carriers->traits(static_cast<std::size_t>(writer))->driver;
  };
  input.undoes_itself = [carriers](const std::string& driver) {
    const auto known = carriers->find(driver);
    return known && carriers->traits(*known)->undoes_itself;
  };
  const std::vector<Attached*> drivers = device.drivers;
  const bool policed = std::ranges::any_of(drivers, [](Attached* one) { return one->permission != nullptr; });
  if (policed)
    input.permission = [carriers, drivers](const std::string& driver) -> const Permission* {
      const auto known = carriers->find(driver);
      return known ? drivers[*known]->permission : nullptr;
    };
  input.remedy = [carriers,
                  drivers](const Change& effect) -> std::optional<std::pair<std::string, Remedy::Offer>> {
    return first_offer(*carriers, drivers, [&effect](const Remedy& remedy) { return remedy.offer(effect); });
  };
  return input;
}

// A plan that rolls a change back has none of these: they were not approved, and it does not wait.
void stand_by(const Fleet& fleet, std::size_t index, DeviceInput& input) {
  input.stands_by = [carriers = &fleet.carriers(index),
                     drivers = fleet[index].drivers](const Change& effect) {
    return first_offer(*carriers, drivers,
                       [&effect](const Remedy& remedy) { return remedy.stands_by(effect); });
  };
  input.tells_use = [drivers = fleet[index].drivers](Path entry) {
    return std::ranges::any_of(
        drivers, [entry](const Attached* one) { return one->usage != nullptr && one->usage->knows(entry); });
  };
}

// The previous value, as far as it can be written: a lock of only some of a pool's routes can't be written,
// and is removed; such a lock is left by an interrupted write.
Value writable(RowId row, Value was) {
  return row == schema_columns().mtu_rows().lock && !mtu_locked_to(was) ? Value{} : was;
}

}  // namespace

std::string PlanChoice::why_not(const FleetDevice& device) const {
  const Intent& intent = *device.intent;
  if (intent.conduct == Conduct::suspended)
    return device.name + " is suspended (`suspend: true` in its specs): lift that first";
  if (!intent.apply_allowed)
    return device.name +
           " is only observed (`mode: observe` in its specs): put it under `mode: converge` first";
  if (!person && intent.conduct != Conduct::converge)
    return device.name + " is not under `mode: converge`: `lockstep apply` changes both ends";
  if (!person && !device.maintenance.empty())
    return device.name + " is in maintenance " + device.maintenance + ": `lockstep apply` changes both ends";
  if (only.empty() || std::find(only.begin(), only.end(), device.name) != only.end()) return "";
  return person ? "--only leaves " + device.name + " out: name it there too"
                : device.name + " is not repaired in this turn";
}

PlanInput input_of(const Fleet& fleet, const std::vector<DeviceState>& states, const Origins& origins,
                   const Sources& sources, const std::function<const Policy*(const FleetDevice&)>& policy_for,
                   const PlanChoice& choice, const std::vector<OwedChange>& open) {
  PlanInput input;
  input.wiring = &fleet.wiring();
  input.out_of_service = out_of_service(fleet, states, open);
  input.origins = &origins;
  input.sources = &sources;
  for (std::size_t i = 0; i < fleet.size() && i < states.size(); ++i) {
    const FleetDevice& device = fleet[i];
    DeviceInput one = device_input(fleet, i, states[i]);
    stand_by(fleet, i, one);
    if (policy_for) one.policy = policy_for(device);
    one.left_alone = choice.why_not(device);
    if (states[i].reachable && !one.left_alone.empty()) one.withheld = &states[i].difference.changes;
    if (states[i].reachable && one.left_alone.empty()) {
      one.changes = states[i].difference.changes;
      for (const Change& effect : states[i].difference.effects)  // maintenance needs no remedy
        if (maintenance_of(fleet, i, states[i], effect).empty()) one.effects.push_back(effect);
    }
    input.devices.push_back(std::move(one));
  }
  return input;
}

UndoInput undo_of(const Plan& plan, const Fleet& fleet, const std::vector<DeviceState>& now,
                  const std::function<const Policy*(const FleetDevice&)>& policy_for) {
  UndoInput out;
  out.input.wiring = &fleet.wiring();
  out.input.undoes = true;
  std::unordered_map<std::string_view, std::vector<const Step*>> writes;  // by device, in order
  for (const Step& step : plan.steps)
    if (step.remedy.empty()) writes[step.device].push_back(&step);
  for (std::size_t i = 0; i < fleet.size() && i < now.size(); ++i) {
    DeviceInput one = device_input(fleet, i, now[i]);
    if (policy_for) one.policy = policy_for(fleet[i]);
    struct Ours {
      Value was;                // before the plan
      std::vector<Value> made;  // all values that the plan gave it, in order
      bool holds(Path path, Value have) const {
        return have == was || writable(path.row(), have) != have ||
               std::any_of(made.begin(), made.end(),
                           [&](Value one) { return have == one || satisfies(path.row(), one, have); });
      }
    };
    std::map<Path, Ours> ours;
    if (const auto found = writes.find(one.name); found != writes.end())
      for (const Step* const step : found->second)
        for (const PlannedChange& change : step->changes)
          ours.try_emplace(change.path, Ours{change.was, {}}).first->second.made.push_back(change.want);
    for (const auto& [path, entry] : ours) {
      // Nothing restores "unsaved": what is put back is saved, as make_plan() requires.
      if (!schema_row(path.row()).saves.empty()) continue;
      const Value have = now[i].observation.have.value(path);
      const std::string what = one.name + ": " + path.text() + " is not put back to " + entry.was.to_string();
      if (!now[i].reachable || is_unread(now[i].observation.unread, path))
        out.left_out.push_back({one.name, path, what + ": it could not be read"});
      else if (!entry.holds(path, have))
        out.left_out.push_back({one.name, path, what + ": it is " + have.to_string() + ", by another hand"});
      else if (const Value back = writable(path.row(), entry.was); have != back)
        one.changes.push_back({path, have, back, 0});
    }
    out.input.devices.push_back(std::move(one));
  }
  return out;
}

Result<ChangeSet> undo_of_step(const Step& step, const Fleet& fleet, std::size_t device, const Tree& before) {
  std::vector<DeviceState> states(fleet.size());
  states[device].reachable = true;
  Tree& after = states[device].observation.have;
  after = before;
  for (const PlannedChange& change : step.changes) {
    if (change.want)
      after.set(change.path, change.want);
    else
      after.erase(change.path);
  }
  Plan forward;
  forward.steps = {step};
  const UndoInput back = undo_of(forward, fleet, states);
  TRY(const Plan plan, make_plan(back.input));
  ChangeSet out;
  for (const Step& one : plan.steps)
    for (const PlannedChange& change : one.changes) out.push_back({change.path, change.was, change.want, 0});
  return out;
}

Policy policy_of(const RolloutPolicy& policy) {
  Policy out;
  out.name = *policy.metadata.name;
  out.by_group = *policy.unit == RolloutUnit::redundancy_group;
  for (const auto& wave : policy.waves)
    out.waves.push_back(wave->share ? Policy::Share{true, wave->ratio.fraction()}
                                    : Policy::Share{false, static_cast<double>(wave->count)});
  out.gate_at_end = policy.gate.said && *policy.gate == RolloutGate::end;
  if (policy.min_capacity.said) {
    const MinCapacity& least = *policy.min_capacity;
    if (least.host.said) out.min_capacity["host"] = least.host->fraction();
    if (least.leaf.said) out.min_capacity["leaf"] = least.leaf->fraction();
    if (least.spine.said) out.min_capacity["spine"] = least.spine->fraction();
    if (least.superspine.said) out.min_capacity["superspine"] = least.superspine->fraction();
  }
  if (policy.approval.said) {
    const Approvals& approval = *policy.approval;
    const auto manual = [](const Said<Approval>& one) { return one.said && *one == Approval::manual; };
    out.needs_approval[Disruption::none] = manual(approval.none);
    out.needs_approval[Disruption::traffic] = manual(approval.traffic);
    out.needs_approval[Disruption::reset] = manual(approval.reset);
    out.needs_approval[Disruption::reboot] = manual(approval.reboot);
  }
  for (const Window& window : policy.windows)
    out.windows.push_back({window.days.said ? window.days->bits : PolicyWindow{}.days, window.from->minutes,
                           window.to->minutes, *window.timezone});
  if (policy.drain.said) {
    out.drains_hosts = policy.drain->host.said && *policy.drain->host == HostDrain::scheduler;
    out.drains_switches =
        policy.drain->switches.said && *policy.drain->switches == SwitchDrain::bgp_graceful_shutdown;
    out.on_timeout = static_cast<Policy::Undrained>(*policy.drain->on_timeout);
    if (policy.drain->timeout.said)
      out.drain_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(*policy.drain->timeout);
  }
  if (policy.max_delete.said) out.max_delete = policy.max_delete->fraction();
  return out;
}

}  // namespace lockstep
