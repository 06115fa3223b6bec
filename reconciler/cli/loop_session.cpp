#include "reconciler/cli/loop_session.hpp"

#include <algorithm>
#include <map>

#include "reconciler/cli/former_leaves.hpp"
#include "reconciler/cli/reach.hpp"
#include "reconciler/engine/windows.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {

// Ctrl-C wakes the loop once, so that it sees at once that it was asked to stop; what is under way is
// finished.
LoopSession::LoopSession(OpenedCluster cluster, const Console& console)
    : cluster_(std::move(cluster)), stop_(console.stop) {
  if (console.stop_fd >= 0)
    executor_.watch(console.stop_fd, [this, fd = console.stop_fd] { executor_.forget(fd); });
}

std::unique_ptr<LoopSession> LoopSession::open(const Aim& aim, const Console& console,
                                               const std::string& only) {
  std::optional<OpenedCluster> cluster = open_cluster(aim, console);
  if (!cluster) return nullptr;
  std::unique_ptr<LoopSession> session(new LoopSession(*std::move(cluster), console));
  if (Result<Done> any = has_devices(session->cluster_); !any) {
    console.fail(any.error());
    return nullptr;
  }
  if (Result<Done> restored = session->want_restored(); !restored) {
    console.fail(restored.error());
    return nullptr;
  }
  Result<AttachedFleet> attached = attach_fleet(session->cluster_);
  if (!attached) {
    console.fail(attached.error());
    return nullptr;
  }
  session->attached_ = *std::move(attached);
  Result<std::vector<std::size_t>> chosen = chosen_devices(session->fleet(), only);
  if (!chosen) {
    console.fail_usage(chosen.error().text());
    return nullptr;
  }
  session->only_ = *std::move(chosen);
  return session;
}

Result<std::unique_ptr<Journal>> LoopSession::read_journal() const {
  return Journal::open(state_directory(cluster_), {.command = "", .read_only = true});
}

Result<Done> LoopSession::want_restored() {
  TRY(const std::unique_ptr<Journal> journal, read_journal());
  TRY(written_, journal->written());
  lockstep::want_restored(cluster_.compiled, written_);
  return Done{};
}

std::vector<DeviceState> LoopSession::look() {
  ObserveOptions options;
  options.only = only_;
  std::vector<DeviceState> states = observe(attached_.fleet, executor_, options, stop_);
  mark_unreached(attached_.fleet, states);
  return states;
}

PlanChoice LoopSession::choice() const {
  PlanChoice choice;
  for (const std::size_t index : only_) choice.only.push_back(attached_.fleet[index].name);
  return choice;
}

std::function<const Policy*(const FleetDevice&)> LoopSession::policies() const {
  return [this](const FleetDevice& device) { return attached_.policy_for(device); };
}

Result<Plan> LoopSession::plan(const std::vector<DeviceState>& states) {
  TRY(Plan plan, make_plan(input_of(attached_.fleet, states, origins(), sources(), policies(), choice())));
  ApplyOptions rules;
  rules.policy_for = policies();
  return hold_for_windows(std::move(plan), attached_.fleet, rules,
                          !cluster_.catalog.validation_suites.empty(), executor_.wall_time());
}

DriftReport LoopSession::unmended(const std::vector<DeviceState>& states, const Plan& plan) const {
  DriftReport out = report_of(attached_.fleet, states, only_, origins(), sources(), {});
  std::erase_if(out.items, [&](const DriftEntry& one) {
    return !one.by_hand && (one.state != DriftState::effect || !plan.empty());
  });
  return out;
}

int LoopSession::tell_unread(const std::vector<DeviceState>& states, const Console& console) const {
  std::vector<std::string> reasons;
  std::map<std::string, std::vector<std::string>> devices;  // by reason: many have one in common
  for (std::size_t i = 0; i < states.size(); ++i) {
    const DeviceState& state = states[i];
    const bool chosen = only_.empty() || std::find(only_.begin(), only_.end(), i) != only_.end();
    if (!chosen || state.complete()) continue;
    std::string why = state.why_incomplete();
    if (why.empty()) why = state.reachable ? "some of it was not read" : "nothing here reaches it";
    const auto [at, is_new] = devices.try_emplace(why);
    if (is_new) reasons.push_back(why);
    at->second.push_back(state.device);
  }
  for (const std::string& why : reasons)
    console.note(console.progress().paint(Ink::yellow, "not observed: ") + fold_hostlist(devices[why]) +
                 ": " + why);
  return reasons.empty() ? kExitInSync : kExitIncomplete;
}

}  // namespace lockstep
