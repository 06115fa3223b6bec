#include "reconciler/session/cluster_session.hpp"

#include <algorithm>

#include "reconciler/engine/earlier_plan.hpp"
#include "reconciler/engine/refused_writes.hpp"
#include "reconciler/engine/windows.hpp"
#include "reconciler/session/accepted.hpp"
#include "reconciler/session/cluster_observe.hpp"
#include "reconciler/session/former_entries.hpp"
#include "reconciler/session/identity.hpp"
#include "reconciler/session/plan_file.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

std::vector<std::string> machines_of(const AttachedFleet& attached) {
  std::vector<std::string> all;
  for (const std::unique_ptr<Attached>& one : attached.drivers)
    if (!one->machine.empty()) all.push_back(one->machine);
  return all;
}

}  // namespace

ClusterSession::ClusterSession(OpenedCluster cluster, const SessionSeams& seams)
    : cluster_(std::move(cluster)),
      executor_(seams.executor),
      directory_(seams.directory),
      follows_identity_(seams.directory.empty()),
      stop_(seams.stop),
      measurer_(seams.measurer),
      version_(seams.version),
      traffic_(seams.traffic),
      by_itself_(seams.by_itself),
      leads_(seams.leads) {
  if (follows_identity_) directory_ = state_directory(cluster_);
}

Result<std::unique_ptr<ClusterSession>> ClusterSession::open(OpenedCluster cluster,
                                                             const SessionSeams& seams) {
  if (!cluster.valid()) return Error{ErrorKind::invalid_spec, "the specs have errors"};
  TRY_DONE(has_devices(cluster));
  std::unique_ptr<ClusterSession> session(new ClusterSession(std::move(cluster), seams));
  TRY_DONE(session->want_restored());
  TRY(session->attached_, attach_fleet(session->cluster_, seams.drivers, seams.first_hops, seams.epoch));
  session->machines_ = Machines(machines_of(session->attached_), seams.machines, !session->cluster_.twin);
  return session;
}

Result<Done> ClusterSession::choose(const std::vector<std::string>& names) {
  TRY(only_, chosen_devices(fleet(), names));
  return Done{};
}

std::string ClusterSession::why_apply_refused() const { return machines_.why_refused(user()); }

MachineUser ClusterSession::user() const {
  return {cluster_.name, cluster_.folder, directory_, cluster_.uuid()};
}

StoreOptions ClusterSession::store_options() const {
  return {.cluster = cluster_.state_name(),
          .now = [this] { return executor_.wall_time(); },
          .said_by = [this](const std::string& device, Path path) { return said_by(device, path); }};
}

SaidBy ClusterSession::said_by(const std::string& device, Path path) const {
  const auto index = fleet().find(device);
  const Entry* const want = index ? fleet()[*index].intent->want.find(path) : nullptr;
  if (want == nullptr) return {};
  const Origin& origin = origins()[want->origin];
  return {origin.object, origin.restore_on_delete};
}

Result<std::unique_ptr<Store>> ClusterSession::read_store() const {
  return open_store(directory_, store_options());
}

Result<Unjudged> ClusterSession::unjudged() const {
  TRY(const std::unique_ptr<Store> store, read_store());
  return lockstep::unjudged(cluster_, *store, {.only = choice().only});
}

Result<Done> ClusterSession::want_restored() {
  TRY(const std::unique_ptr<Store> store, read_store());
  TRY(written_, store->history().written());
  lockstep::want_restored(cluster_.compiled, written_);
  return Done{};
}

std::unique_ptr<ClusterObserve> ClusterSession::make_observe() {
  std::vector<std::size_t> read;
  if (!reads_all_) read = fleet().with_far_ends(only_);
  return std::make_unique<ClusterObserve>(
      attached_.fleet, executor_, std::move(read), store_ != nullptr,
      [this](const std::vector<DeviceState>& states) {
        learn_devices(fleet(), states, devices_);
        not_read_.clear();
        for (const DeviceState& state : states)
          if (!state.complete()) not_read_.insert(state.device);
      },
      [this] { return prove_leadership(); });
}

std::unique_ptr<ClusterWatch> ClusterSession::make_watch(WatchRequest request) {
  return std::make_unique<ClusterWatch>(
      WatchGround{attached_.fleet, executor_, origins(), sources(), policies(),
                  [this](const std::string& command) { return lead(command); },
                  [this] { return read_store(); }, [this] { return write_numbers(cluster_); },
                  *attached_.epoch},
      std::move(request));
}

PlanChoice ClusterSession::choice() const {
  PlanChoice choice;
  choice.person = !by_itself_;
  for (const std::size_t index : only_) choice.only.push_back(fleet()[index].name);
  return choice;
}

std::function<const Policy*(const FleetDevice&)> ClusterSession::policies() const {
  return [this](const FleetDevice& device) { return attached_.policy_for(device); };
}

std::vector<std::string> ClusterSession::not_converging() const {
  std::vector<std::string> left;
  for (const FleetDevice& device : fleet().devices())
    if (device.intent->conduct != Conduct::converge) left.push_back(device.name);
  return left;
}

Result<Plan> ClusterSession::plan(const std::vector<DeviceState>& states) const {
  TRY(const std::unique_ptr<Store> reading, read_store());
  TRY(const std::vector<OwedChange> open, open_changes(*reading));
  TRY(const std::vector<RefusedWrite> refused, reading->history().refused());
  PlanInput input = input_of(fleet(), states, origins(), sources(), policies(), choice(), open);
  input.undone_before = undone_before(refused, choice().person);
  TRY(Plan plan, make_plan(input));
  ApplyOptions rules;
  rules.policy_for = policies();
  rules.owed = open;
  rules.measure_timeout = std::max(rules.measure_timeout, time_to_measure(cluster_.catalog));
  return hold_for_windows(std::move(plan), fleet(), rules, !cluster_.catalog.validation_suites.empty(),
                          executor_.wall_time());
}

CheckedPlan ClusterSession::still_valid(const Plan& earlier, const std::vector<DeviceState>& states) const {
  Result<Plan> now = plan(states);
  if (!now) return {{}, {}, {}, std::move(now)};
  ApprovedPart part = approved_part(with_whole_file_names(earlier), with_whole_file_names(*std::move(now)),
                                    moved_ground(earlier, fleet(), states));
  CheckedPlan checked{std::move(part.refused), std::move(part.other_ends), std::move(part.unapproved),
                      std::move(part.plan)};
  if (checked.plan->empty() && !checked.whole())
    checked.plan = Error{ErrorKind::conflict, "nothing of this plan can run any more: plan again"};
  return checked;
}

std::set<std::string> CheckedPlan::devices_left_out(const Plan& earlier) const {
  std::set<std::string> out;
  for (const auto& [id, why] : refused) out.insert(earlier.steps[id - 1].device);
  for (const Step& step : unapproved) out.insert(step.device);
  return out;
}

bool CheckedPlan::only_unobserved() const {
  return unapproved.empty() && std::all_of(refused.begin(), refused.end(), [](const auto& one) {
           return one.second.ends_with(kNotObserved);
         });
}

DriftReport ClusterSession::differences(const std::vector<DeviceState>& states) const {
  return report_of(fleet(), states, only_, origins(), sources(), {});
}

DriftReport ClusterSession::unmended(DriftReport differences, const Plan& plan) {
  differences.problems.clear();
  std::erase_if(differences.items, [&](const DriftEntry& one) {
    if (one.state == DriftState::finding || one.state == DriftState::allowed) return false;
    return !one.by_hand && (one.state != DriftState::effect || !plan.empty());
  });
  return differences;
}

std::vector<NotObserved> ClusterSession::not_observed(const std::vector<DeviceState>& states) const {
  return lockstep::not_observed(fleet(), states, only_);
}

std::string ClusterSession::why_partial(const std::vector<DeviceState>& states) const {
  std::string out;
  for (const NotObserved& some : unreached(fleet(), states, only_))
    out += (out.empty() ? "" : "; ") + fold_hostlist(some.devices) + " could not be observed: " + some.why;
  return out;
}

bool ClusterSession::changes_any_in_service(const Plan& plan) const {
  return std::ranges::any_of(plan.steps, [this](const Step& step) {
    return fleet()[*fleet().find(step.device)].maintenance.empty();
  });
}

std::vector<InMaintenance> ClusterSession::in_maintenance() const {
  return lockstep::in_maintenance(fleet(), only_);
}

Result<ObservedDrift> ClusterSession::drift_of(std::vector<DeviceState> states, bool unmanaged) const {
  TRY(const std::unique_ptr<Store> store, read_store());
  TRY(const auto waits, waits_for_window(*this, store->blobs()));
  ObservedDrift observed{std::move(states), {}};
  observed.report = report_of(fleet(), observed.states, only_, origins(), sources(),
                              {.unmanaged = unmanaged, .overruled = true, .waits = waits});
  return observed;
}

}  // namespace lockstep
