#include "reconciler/session/spec_diff.hpp"

#include <utility>

#include "reconciler/engine/digest.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

class Comparison {
 public:
  Comparison(const OpenedCluster& was, const OpenedCluster& now) : was_(was), now_(now) {
    for (const RolloutPolicy& policy : now.catalog.rollout_policies) policies_.push_back(policy_of(policy));
  }

  SpecDiff run() {
    out_.was = was_.name;
    out_.now = now_.name;
    out_.devices = now_.compiled.topology.devices.size();
    add_origins(now_);
    origins_of_was_ = static_cast<OriginId>(out_.origins.size());
    add_origins(was_);
    for (DeviceIndex i = 0; i < now_.compiled.intents.size(); ++i) compare_with_was(i);
    for (DeviceIndex i = 0; i < was_.compiled.intents.size(); ++i) add_if_removed(i);
    return std::move(out_);
  }

 private:
  void add_origins(const OpenedCluster& cluster) {
    for (const Origin& one : cluster.compiled.origins.all)
      out_.origins.push_back(plan_origin(one, &cluster.catalog.sources));
  }

  void compare_with_was(DeviceIndex index) {
    const Intent& intent = now_.compiled.intents[index];
    const std::string& name = now_.compiled.topology.devices[index].name;
    const DeviceIndex before = was_.compiled.topology.find_device(name);
    const bool added = before == kNone;
    const Tree none;
    const ChangeSet changes = changes_between(added ? none : was_.compiled.intents[before].want, intent.want);
    if (changes.empty() && !added) return;
    DeviceDiff device{name, added ? DeviceDiff::Kind::added : DeviceDiff::Kind::changed, {}};
    for (const Change& change : changes)
      device.entries.push_back({numbered(change), disruption_of(change, intent)});
    if (!added) device.approvals = approvals_of(index, device.entries);
    out_.differ.push_back(std::move(device));
  }

  // No plan touches such a device.
  void add_if_removed(DeviceIndex index) {
    const std::string& name = was_.compiled.topology.devices[index].name;
    if (now_.compiled.topology.find_device(name) != kNone) return;
    DeviceDiff device{name, DeviceDiff::Kind::removed, {}};
    for (const Change& change : changes_between(was_.compiled.intents[index].want, {}))
      device.entries.push_back({numbered(change), Disruption::none});
    out_.differ.push_back(std::move(device));
  }

  std::set<Disruption> approvals_of(DeviceIndex index, const std::vector<EntryDiff>& entries) const {
    std::set<Disruption> out;
    const std::uint32_t policy = now_.compiled.rollout[index];
    if (policy == kNone) return out;
    for (const EntryDiff& one : entries) {
      const auto found = policies_[policy].needs_approval.find(one.disruption);
      if (found != policies_[policy].needs_approval.end() && found->second) out.insert(one.disruption);
    }
    return out;
  }

  // A removed entry is set by a line of the older specs alone.
  Change numbered(Change change) const {
    if (!change.want) change.origin += origins_of_was_;
    return change;
  }

  Disruption disruption_of(const Change& change, const Intent& intent) const {
    const bool left = !change.want && claim_of(intent, change.path) == nullptr &&
                      !was_.compiled.origins[change.origin].restore_on_delete;
    return left ? Disruption::none : schema_row(change.path.row()).disruption;
  }

  const OpenedCluster& was_;
  const OpenedCluster& now_;
  std::vector<Policy> policies_;  // of the newer specs, in order
  OriginId origins_of_was_ = 0;
  SpecDiff out_;
};

}  // namespace

SpecDiff compare_specs(const OpenedCluster& was, const OpenedCluster& now) {
  return Comparison(was, now).run();
}

}  // namespace lockstep
