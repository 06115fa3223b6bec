#include "drivers/sonic/patch_driver.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "drivers/sonic/config_patch.hpp"
#include "drivers/sonic/map.hpp"
#include "drivers/sonic/one_switch.hpp"
#include "drivers/sonic/patch_limits.hpp"
#include "drivers/sonic/patch_switch.hpp"
#include "drivers/sonic/plan_words.hpp"
#include "drivers/sonic/port_buffers.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace sonic {
namespace {

std::string reading_revision(const PatchReading& reading, const std::string& behind) {
  return revision_text(config_db_json(reading.config), behind + "\n" + state_text(reading.state));
}

Tree entries_in(const ConfigDb& config, const ChangeSet& changes) {
  TreeBuilder tree;
  Scope scope;
  for (const Change& change : changes) scope.named.push_back(change.path);
  add_entries(config, scope, tree);
  return tree.build();
}

// Takes out of `target` what config apply-patch would refuse, and gives the reason at the changes that asked
// for it: at those that the target had before, and has no more.
void leave_out_refused(const ConfigDb& now, const PatchPorts& ports, const ChangeSet& changes,
                       ConfigDb& target, Receipt& receipt) {
  for (;;) {
    const std::vector<PatchOperation> patch = patch_of(now, target);
    const std::vector<PatchRefusal> refused = refused_operations(patch, ports, may_be_chassis(now));
    if (refused.empty()) return;
    Tree had = entries_in(target, changes);
    for (std::size_t i = 0; i < refused.size();) {
      // The operations of a row together: so many fewer trees.
      const std::string place = place_text(patch[refused[i].operation]);
      const std::string why = refused[i].why;
      for (; i < refused.size() && place_text(patch[refused[i].operation]) == place; ++i)
        revert(patch[refused[i].operation], target);
      Tree has = entries_in(target, changes);
      for (std::size_t at = 0; at < changes.size(); ++at) {
        const Path path = changes[at].path;
        if (!receipt.outcomes[at].error && had.value(path) == changes[at].want &&
            has.value(path) != changes[at].want)
          receipt.outcomes[at].error = Error{ErrorKind::refused, why};
      }
      had = std::move(has);
    }
  }
}

class SonicPatchDriver final : public Driver, public Preview {
 public:
  explicit SonicPatchDriver(SonicPatchTarget target)
      : target_(std::move(target)),
        kept_(target_.device, target_.models),
        switch_(SshCommand(target_.server, target_.ssh_program), target_.checkpoints) {}

  Result<Traits> traits(const Call&) override {
    return Traits{.driver = "sonic", .reads = rows_read(), .writes = rows_written()};
  }
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override;
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override;
  Result<Done> settle(std::string_view, Settlement settlement, const Call&) override {
    return kept_.settle(settlement);
  }
  std::vector<std::string> native(const ChangeSet& changes) const override;

 private:
  Result<Done> send(const ConfigDb& target, const PatchReading& before, const ConfigPlan& plan,
                    const ChangeSet& changes, const Guard& guard, Receipt& receipt, const Call& call);
  void judge(const ChangeSet& changes, const std::optional<PatchSwitch::Failure>& failure,
             const PatchReading& before, const ConfigDb& target, Receipt& receipt, const Call& call);
  void raise(const ConfigDb& before, const ConfigDb& target, const ConfigDb& now, Receipt& receipt,
             const Call& call);

  const SonicPatchTarget target_;
  OneSwitch kept_;
  const PatchSwitch switch_;
  std::string checkpointed_;  // the transaction before which the last checkpoint was taken
  mutable std::mutex mutex_;  // guards what follows
  ConfigDb seen_;             // of the last observation: for previews
};

Result<Observation> SonicPatchDriver::observe(const Scope& scope, std::string_view if_not, const Call& call) {
  TRY(const auto alone, kept_.alone(call));
  Observation out;
  out.device = target_.device;
  TRY(PatchReading reading, switch_.read({.ports = wants_ports(scope),
                                          .sessions = wants_sessions(scope),
                                          .hash_seed = wants_hash_seed(scope),
                                          .groups = wants_computed(scope),
                                          .capabilities = wants_capabilities(scope),
                                          .taken_over = scope.wants(taken_over_row())},
                                         call));
  out.boot_id = reading.boot_id;
  out.when = std::chrono::steady_clock::now();
  const auto note = [&](const std::optional<Error>& why,
                        std::vector<Unread> (*unread)(const Scope&, const Error&)) {
    if (!why) return;
    for (Unread& one : unread(scope, *why)) out.unread.push_back(std::move(one));
  };
  note(reading.ports_unread, unread_ports);
  note(reading.sessions_unread, unread_sessions);
  note(reading.hash_seed_unread, unread_hash_seed);
  if (has_dynamic_buffers(reading.config))
    note(reading.groups_unread, unread_computed);
  else
    reading.state.groups.clear();
  note(reading.capabilities_unread, unread_counters);
  std::string behind = "not asked";
  if (reading.taken_over_unread) out.unread.push_back({taken_over_row(), {}, *reading.taken_over_unread});
  const bool can_tell = scope.wants(taken_over_row()) && !is_unread(out.unread, Path(taken_over_row(), {}));
  if (can_tell && !reading.taken_over.has_started()) {
    behind = "not started";
  } else if (can_tell) {
    behind = not_taken_over(reading.config, reading.taken_over);
    if (!behind.empty()) out.notes.push_back("not taken over by SONiC's daemons: " + behind);
  }
  if (out.unread.empty()) out.revision = reading_revision(reading, behind);
  out.incapable = incapable_of(reading.config, reading.state, scope);
  if (scope.wants(saving_row())) out.incapable.push_back(unsavable());
  if (can_tell && !reading.taken_over.has_started()) out.incapable.push_back(not_started());
  if (out.revision.empty() || out.revision != if_not) {
    TreeBuilder tree;
    add_entries(reading.config, scope, tree);
    add_effects(reading.state, scope, tree);
    add_computed(reading.config, reading.state, scope, tree);
    if (behind.empty()) add_taken_over(tree);
    out.have = tree.build();
  }
  out.facts = facts_of(reading.config);
  const std::scoped_lock guarded(mutex_);
  seen_ = std::move(reading.config);
  return out;
}

// SONiC shuts ports down and brings them up as changes of their own (patch_sorter.py,
// PortCriticalMoveValidator): where it stopped in between, they are down.
void SonicPatchDriver::raise(const ConfigDb& before, const ConfigDb& target, const ConfigDb& now,
                             Receipt& receipt, const Call& call) {
  std::vector<std::string> down;
  if (const auto ports = now.tables.find("PORT"); ports != now.tables.end())
    for (const auto& [port, row] : ports->second) {
      const ConfigRow* const was = before.find("PORT", port);
      const ConfigRow* const want = target.find("PORT", port);
      if (!is_port_up(row) && was != nullptr && is_port_up(*was) && want != nullptr && is_port_up(*want))
        down.push_back(port);
    }
  if (down.empty()) return;
  const Result<Done> raised = switch_.raise_ports(down, call);
  receipt.notes.push_back(
      raised ? "were left down by a failed config apply-patch, and brought up again: " + listed_names(down)
             : "may still be down after a failed config apply-patch: " + listed_names(down) + ": " +
                   raised.error().text());
}

// Which changes are there, by what is read back.
void SonicPatchDriver::judge(const ChangeSet& changes, const std::optional<PatchSwitch::Failure>& failure,
                             const PatchReading& before, const ConfigDb& target, Receipt& receipt,
                             const Call& call) {
  const auto fail_all = [&receipt](const Error& error) {
    for (Receipt::Outcome& one : receipt.outcomes)
      if (!one.error) one.error = error;
  };
  // SONiC may still be at it: the engine makes its own observation, which waits for that.
  if (failure && failure->error.kind == ErrorKind::unknown_outcome) return fail_all(failure->error);
  const Result<PatchReading> now = switch_.read({}, call);
  if (!now) {
    Error unknown = wrap("what config apply-patch did can't be read", now.error());
    unknown.kind = ErrorKind::unknown_outcome;
    return fail_all(unknown);
  }
  const Tree have = entries_in(now->config, changes);
  const Error missing = failure ? failure->error
                                : Error{ErrorKind::refused, target_.device +
                                                                ": config apply-patch succeeded, and "
                                                                "CONFIG_DB does not have it"};
  for (std::size_t i = 0; i < changes.size(); ++i)
    if (!receipt.outcomes[i].error && have.value(changes[i].path) != changes[i].want)
      receipt.outcomes[i].error = missing;
  if (failure) raise(before.config, target, now->config, receipt, call);
}

Result<Done> SonicPatchDriver::send(const ConfigDb& target, const PatchReading& before,
                                    const ConfigPlan& plan, const ChangeSet& changes, const Guard& guard,
                                    Receipt& receipt, const Call& call) {
  const std::vector<PatchOperation> operations = patch_of(before.config, target);
  if (operations.empty()) return Done{};
  TRY(const std::string patch, patch_json(operations, before.config_text));
  const Result<Done> tried = switch_.try_patch(patch, call);
  if (!tried && tried.error().kind != ErrorKind::refused) return tried.error();
  if (!tried) {
    for (Receipt::Outcome& one : receipt.outcomes)
      if (!one.error) one.error = tried.error();
    return Done{};
  }
  std::string transaction = guard.transaction.empty() ? guard.ticket : guard.transaction;
  if (transaction.empty()) transaction = "change";
  const auto failure = switch_.apply_patch(patch, transaction == checkpointed_ ? "" : transaction, call);
  if (failure && !failure->begun) return failure->error;
  checkpointed_ = std::move(transaction);
  if (!plan.ports_down.empty())
    receipt.notes.push_back("shut down meanwhile, by SONiC: " + listed_names(plan.ports_down));
  judge(changes, failure, before, target, receipt, call);
  return Done{};
}

Result<Receipt> SonicPatchDriver::apply(const ChangeSet& changes, const Guard& guard, const Call& call) {
  TRY(const auto alone, kept_.alone(call));
  TRY_DONE(kept_.check(guard));
  Receipt receipt;
  receipt.ticket = guard.ticket;
  for (const Change& change : changes) receipt.outcomes.push_back({change.path, std::nullopt});
  TRY_DONE(kept_.load_models());
  TRY(const PatchReading before, switch_.read({.supported = true}, call));
  if (!guard.revision.empty() && config_part(guard.revision) != config_part(reading_revision(before, {})))
    return kept_.changed("since it was observed");
  kept_.accept(guard);
  Edited target = edited(before.config, changes);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    receipt.outcomes[i].error = std::move(target.outcomes[i]);
    if (changes[i].path.row() == saving_row())
      receipt.outcomes[i].error = Error{ErrorKind::unsupported, target_.device + ": " + unsavable().reason};
  }
  leave_out_refused(before.config, before.supported, changes, target.config, receipt);
  const Result<ConfigPlan> plan = kept_.plan(before.config, target.config);
  if (!plan) {
    for (Receipt::Outcome& one : receipt.outcomes)
      if (!one.error) one.error = plan.error();
    return receipt;
  }
  TRY_DONE(send(target.config, before, *plan, changes, guard, receipt, call));
  return receipt;
}

std::vector<std::string> SonicPatchDriver::native(const ChangeSet& changes) const {
  const std::scoped_lock lock(mutex_);
  const ConfigDb now = seen_.tables.empty() ? bare_config(changes) : seen_;
  const Edited target = edited(now, changes);
  std::vector<std::string> out;
  for (const PatchOperation& one : patch_of(now, target.config)) out.push_back(operation_json(one));
  for (const auto& error : target.outcomes)
    if (error) out.push_back("# " + error->text());
  return out;
}

}  // namespace
}  // namespace sonic

Attached make_sonic_patch_driver(SonicPatchTarget target) {
  Attached out;
  out.address = IpAddress::parse(target.server.host);
  auto driver = std::make_unique<sonic::SonicPatchDriver>(std::move(target));
  out.preview = driver.get();
  out.driver = std::move(driver);
  return out;
}

}  // namespace lockstep
