#include "reconciler/engine/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <thread>
#include <unordered_map>

#include "reconciler/engine/digest.hpp"
#include "reconciler/engine/far_ends.hpp"
#include "reconciler/engine/quiet.hpp"
#include "reconciler/engine/remedies.hpp"
#include "reconciler/engine/route_locks.hpp"
#include "reconciler/engine/steps.hpp"

namespace lockstep {
namespace {

// Converts each origin once.
class OriginTable {
 public:
  OriginTable(const PlanInput& input, std::vector<PlanOrigin>& out) : input_(input), out_(out) {}
  std::uint32_t operator()(OriginId id) {
    if (id == 0 || input_.origins == nullptr || id >= input_.origins->all.size()) return 0;
    const auto [found, is_new] = known_.try_emplace(id, static_cast<std::uint32_t>(out_.size()));
    if (is_new) out_.push_back(plan_origin((*input_.origins)[id], input_.sources));
    return found->second;
  }

 private:
  const PlanInput& input_;
  std::vector<PlanOrigin>& out_;
  std::unordered_map<OriginId, std::uint32_t> known_;
};

// Whether a step disturbs all of these ports of its device.
bool disturbs_all(const std::vector<std::string>& ports, const Step& step) {
  return std::ranges::all_of(ports, [&step](const std::string& port) {
    return std::ranges::any_of(step.changes, [&port](const PlannedChange& change) {
      return change.path.key_count() > 0 && change.path.key(0) == port;
    });
  });
}

// A device that rolls back by itself does so with every step that nobody settles: a controller that ends, or
// loses its path to the device, then leaves nothing half done.
void arm(const PlanInput& input, const DeviceInput& device, Step& step) {
  if (step.remedy.empty() && device.undoes_itself && device.undoes_itself(step.driver))
    step.undo_after = input.dead_man;
}

// Holds a step that disturbs all ports, declared or observed, through which the reconciler reaches the
// device.
void protect_management(const PlanInput& input, const DeviceInput& device, Step& step) {
  if (input.wiring == nullptr || step.disruption < Disruption::traffic) return;
  const auto is_cut = [&](const std::map<std::string, std::vector<std::string>>& ports) {
    const auto those = ports.find(device.name);
    return those != ports.end() && !those->second.empty() && disturbs_all(those->second, step);
  };
  if (!is_cut(input.wiring->management_ports) && !is_cut(input.wiring->own_path.entered_by)) return;
  if (step.undo_after) {
    step.notes.push_back("touches the last path to the device: it rolls back by itself unless confirmed");
    return;
  }
  step.holds.push_back({Hold::Kind::management, "would cut the last path to " + device.name +
                                                    ", and the device can't roll back by itself"});
}

// Adds a note on why a step comes late (waves.hpp).
void note_own_path(const PlanInput& input, Step& step) {
  if (input.wiring == nullptr || !step.remedy.empty()) return;
  const auto found = input.wiring->own_path.places.find(step.device);
  if (found == input.wiring->own_path.places.end()) return;
  const auto& [rank, to] = found->second;
  step.notes.push_back(fmt::format("{}: {}, as far as its order allows",
                                   to.empty() ? "this machine" : "on the own path to " + to,
                                   rank == OwnRank::nearest ? "last" : "late"));
}

// A traffic disruption is not one where there is no traffic.
void ask_approval(const DeviceInput& device, Step& step) {
  if (device.policy == nullptr || (step.disruption == Disruption::traffic && !step.live)) return;
  const auto needed = device.policy->needs_approval.find(step.disruption);
  if (needed != device.policy->needs_approval.end() && needed->second)
    step.holds.push_back({Hold::Kind::approval, fmt::format("the policy requires approval for disruption {}",
                                                            to_string(step.disruption))});
}

void ask_person(const DeviceInput& device, Step& step) {
  if (!device.permission || step.disruption < Disruption::traffic) return;
  const Permission* const permission = device.permission(step.driver);
  if (permission == nullptr) return;
  if (auto why = permission->why_not_unasked()) step.holds.push_back({Hold::Kind::in_person, *why});
}

// Work is moved away before live traffic is disturbed. No driver supports drains: the policy's onTimeout
// decides, as for a drain that does not complete.
void ask_drain(const DeviceInput& device, Step& step) {
  if (device.policy == nullptr || !step.live || step.disruption < Disruption::traffic) return;
  const bool host = device.role == "host";
  if (host ? !device.policy->drains_hosts : !device.policy->drains_switches) return;
  const std::string what =
      host ? "no driver supports the scheduler's drain yet: jobs are not moved away first"
           : "no driver supports a drain by bgp-graceful-shutdown yet: traffic is not moved away first";
  if (device.policy->on_timeout == Policy::Undrained::proceed)
    step.notes.push_back(what + "; onTimeout: proceed goes on all the same");
  else
    step.holds.push_back(
        {Hold::Kind::drain,
         fmt::format("{}; onTimeout: {} needs approval", what,
                     device.policy->on_timeout == Policy::Undrained::stop ? "stop" : "skip")});
}

// onTimeout: stop. Steps in later waves don't run either.
void stop_after_drains(const std::unordered_map<std::string_view, const DeviceInput*>& devices, Plan& plan) {
  std::uint32_t stops = plan.waves();
  for (const Step& step : plan.steps) {
    const Policy* const policy = devices.at(step.device)->policy;
    if (policy == nullptr || policy->on_timeout != Policy::Undrained::stop) continue;
    if (!step.remedy.empty()) continue;  // it may not be needed
    for (const Hold& hold : step.holds)
      if (hold.kind == Hold::Kind::drain) stops = std::min(stops, step.wave);
  }
  for (Step& step : plan.steps)
    if (step.wave > stops)
      step.holds.push_back({Hold::Kind::drain, fmt::format("a drain of wave {} stops the rollout", stops)});
}

// The writes of a wave are measured before the next wave begins, unless all its devices' policies gate at the
// end.
std::vector<std::uint32_t> ungated_waves(
    const std::unordered_map<std::string_view, const DeviceInput*>& devices, const Plan& plan) {
  std::set<std::uint32_t> waves;
  for (std::uint32_t wave = 1; wave < plan.waves(); ++wave) waves.insert(wave);
  for (const Step& step : plan.steps) {
    const Policy* const policy = devices.at(step.device)->policy;
    if (policy == nullptr || !policy->gate_at_end) waves.erase(step.wave);
  }
  return {waves.begin(), waves.end()};
}

// An atom is refused whole, as it must not be split. Refused atoms are in steps of their own.
void ask_permission(const DeviceInput& device, std::span<Atom> atoms) {
  if (!device.permission) return;
  for (Atom& atom : atoms) {
    const Permission* const permission = device.permission(atom.driver);
    if (permission == nullptr) continue;
    ChangeSet asked = atom.examples;
    for (const AtomChange& change : atom.changes)
      asked.push_back({change.path, change.was, change.want, change.origin});
    for (const Change& change : asked)
      if (auto why = permission->why_not(change)) atom.refused.push_back(change.path.text() + ": " + *why);
  }
}

// Atoms with a write that a gate rolled back before are held whole, too.
void hold_undone(const PlanInput& input, const DeviceInput& device, DeviceAtoms& atoms) {
  if (input.undone_before.empty()) return;
  for (Atom& atom : atoms.atoms) {
    if (!atom.remedy.empty()) continue;
    for (const std::string& digest : write_digests(device.name, atom.changes)) {
      const auto undone = input.undone_before.find(digest);
      if (undone == input.undone_before.end()) continue;
      auto& list = undone->second.offered ? atom.notes : atom.undone;
      if (std::ranges::find(list, undone->second.why) == list.end()) list.push_back(undone->second.why);
    }
  }
}

std::vector<DeviceAtoms> all_atoms(const PlanInput& input, const Columns& columns) {
  std::vector<DeviceAtoms> atoms(input.devices.size());
  for (std::size_t d = 0; d < input.devices.size(); ++d)
    if (!input.devices[d].changes.empty()) atoms[d] = make_atoms(input.devices[d], columns);
  add_remedies(input, columns, atoms);
  for (std::size_t d = 0; d < input.devices.size(); ++d) {
    ask_permission(input.devices[d], atoms[d].atoms);
    hold_undone(input, input.devices[d], atoms[d]);
  }
  hold_for_far_ends(input, columns, atoms);
  std::vector<std::size_t> known;
  for (const DeviceAtoms& one : atoms) known.push_back(one.atoms.size());
  add_route_locks(input, columns, atoms);
  wait_for_quiet(input, columns, atoms);
  for (std::size_t d = 0; d < input.devices.size(); ++d)
    ask_permission(input.devices[d], std::span(atoms[d].atoms).subspan(known[d]));
  return atoms;
}

void guard_deletions(const PlanInput& input, Plan& plan) {
  double allowed = 1.0;
  std::size_t deleted = 0;
  std::size_t wanted = 0;
  for (const DeviceInput& device : input.devices) {
    if (device.policy != nullptr) allowed = std::min(allowed, device.policy->max_delete);
    if (device.intent != nullptr) wanted += device.intent->want.size();
    for (const Change& change : device.changes)  // a route lock is temporary
      deleted += change.want || change.path.row() == schema_columns().mtu_rows().lock ? 0 : 1;
  }
  const double share =
      deleted == 0 ? 0 : static_cast<double>(deleted) / static_cast<double>(deleted + wanted);
  if (share > allowed)
    plan.refusals.push_back(fmt::format(
        "it deletes {} of {} owned settings ({:.0f}%); the policy allows {:.0f}% without approval", deleted,
        deleted + wanted, share * 100, allowed * 100));
}

void digest_devices(const PlanInput& input, const std::vector<DeviceAtoms>& atoms, Plan& plan) {
  std::vector<std::uint32_t> of;  // place among the input's devices
  for (std::uint32_t d = 0; d < input.devices.size(); ++d) {
    const DeviceInput& device = input.devices[d];
    if (atoms[d].atoms.empty() || device.intent == nullptr || device.observation == nullptr) continue;
    PlanDevice& one =
        plan.devices.emplace_back(PlanDevice{device.name, "", device.observation->boot_id, atoms[d].read});
    for (const Change& change : device.changes) one.read.emplace_back(change.path, change.was);
    of.push_back(d);
  }
  // Below this many devices a thread costs more than it saves.
  constexpr std::size_t kDevicesPerThread = 256;
  const std::size_t threads =
      std::clamp<std::size_t>(of.size() / kDevicesPerThread, 1, std::max(input.threads, 1U));
  const auto work = [&](std::size_t part) {
    for (std::size_t i = part; i < of.size(); i += threads) {
      const DeviceInput& device = input.devices[of[i]];
      plan.devices[i].digest = device_digest(*device.intent, *device.observation, plan.devices[i].read);
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t part = 1; part < threads; ++part) others.emplace_back(work, part);
    work(0);
  }
  std::sort(plan.devices.begin(), plan.devices.end(),
            [](const PlanDevice& a, const PlanDevice& b) { return a.name < b.name; });
}

}  // namespace

Result<Plan> make_plan(const PlanInput& input) {
  const std::optional<Columns> own =
      input.row != nullptr ? std::optional<Columns>(std::in_place, input.row) : std::nullopt;
  const Columns& columns = own ? *own : schema_columns();
  const std::vector<DeviceAtoms> atoms = all_atoms(input, columns);
  TRY(const OrderGraph order, make_order(input, atoms, columns));
  OrderedDrafts drafts = gather_steps(input, atoms, order);
  lay_budgets(input, drafts);

  Plan plan;
  OriginTable origin(input, plan.origins);
  std::unordered_map<std::string_view, const DeviceInput*> by_name;
  for (const DeviceInput& device : input.devices) {
    by_name.emplace(device.name, &device);
    plan.not_applicable += device.not_applied;
  }
  plan.devices_observed = input.devices.size();
  plan.barriers = std::move(drafts.barriers);
  for (StepDraft& draft : drafts.steps) {
    const DeviceInput& device = *by_name.at(draft.step.device);
    for (PlannedChange& change : draft.step.changes) change.origin = origin(change.origin);
    if (!device.maintenance.empty()) draft.step.notes.push_back("in maintenance " + device.maintenance);
    note_own_path(input, draft.step);
    arm(input, device, draft.step);
    protect_management(input, device, draft.step);
    ask_approval(device, draft.step);
    ask_person(device, draft.step);
    ask_drain(device, draft.step);
    plan.steps.push_back(std::move(draft.step));
  }
  if (!plan.steps.empty())
    plan.steps.front().notes.insert(plan.steps.front().notes.end(), order.notes.begin(), order.notes.end());
  plan.ungated = ungated_waves(by_name, plan);
  stop_after_drains(by_name, plan);
  if (input.wiring != nullptr) hold_route_locks(columns, *input.wiring, plan);
  guard_deletions(input, plan);
  digest_devices(input, atoms, plan);
  plan.digest = plan_digest(plan);
  return plan;
}

std::uint32_t Plan::waves() const {
  std::uint32_t last = 0;
  for (const Step& step : steps) last = std::max(last, step.wave);
  return last;
}

bool Plan::refused_by_host() const {
  return std::ranges::any_of(steps, [](const Step& step) {
    return std::ranges::any_of(step.holds,
                               [](const Hold& hold) { return hold.kind == Hold::Kind::host_policy; });
  });
}

bool Plan::is_gated(std::uint32_t wave) const {
  return wave >= waves() || std::find(ungated.begin(), ungated.end(), wave) == ungated.end();
}

std::size_t Plan::remedies() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(steps, [](const Step& step) { return !step.remedy.empty(); }));
}

std::size_t Plan::changes() const {
  std::size_t count = 0;
  for (const Step& step : steps)
    if (step.remedy.empty())
      for (const PlannedChange& change : step.changes) count += change.transient ? 0 : 1;
  return count;
}

}  // namespace lockstep
