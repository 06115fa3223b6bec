#include "drivers/sonic/driver.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "drivers/sonic/config_store.hpp"
#include "drivers/sonic/keyspace_watch.hpp"
#include "drivers/sonic/map.hpp"
#include "drivers/sonic/one_switch.hpp"
#include "drivers/sonic/plan_words.hpp"
#include "drivers/sonic/port_buffers.hpp"
#include "drivers/sonic/saved_config.hpp"
#include "drivers/sonic/taken_over.hpp"
#include "drivers/sonic/transactions.hpp"

namespace lockstep {
namespace sonic {
namespace {

std::string revision_of(const StoredConfig& stored, const std::string& effects) {
  std::string config = config_db_json(stored.config);
  for (const UnreadableRow& row : stored.unreadable) config += row.name + "\n";
  return revision_text(config, effects);
}

class SonicWatcher final : public Watcher {
 public:
  SonicWatcher(std::string device, KeyspaceWatch watch)
      : device_(std::move(device)), watch_(std::move(watch)) {}
  int descriptor() const override { return watch_.descriptor(); }
  Result<Woken> drain() override {
    TRY(const bool changed, watch_.drain());
    Woken out;
    if (changed) out.devices.push_back(device_);
    return out;
  }

 private:
  std::string device_;
  KeyspaceWatch watch_;
};

// Connections to the databases that it needs.
struct OpenDatabases {
  ConfigStore config;
  StateDatabase appl;
  StateDatabase state;
  std::optional<StateDatabase> counters;  // none: the file has no such database
  std::optional<StateDatabase> asic;
};

class SonicDriver final : public Driver, public Preview, public Recall, public Passing {
 public:
  explicit SonicDriver(SonicTarget target)
      : target_(std::move(target)),
        switch_(target_.device, target_.models),
        saved_(target_.saved_file, target_.checkpoints) {}

  Result<Traits> traits(const Call&) override {
    return Traits{.driver = "sonic", .reads = rows_read(), .writes = rows_written(), .orders_itself = true};
  }
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override;
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override;
  Result<Done> settle(std::string_view, Settlement settlement, const Call&) override {
    return switch_.settle(settlement);
  }
  std::vector<std::string> native(const ChangeSet& changes) const override;
  void recall(const Observation& observation, const Scope& scope) override;
  Result<ChangeSet> way_back(const ChangeSet& changes, const Call& call) override;

 private:
  Result<Done> open();
  Result<Done> check(const Guard& guard, const StoredConfig& stored);
  std::string why_unsaved(const ConfigDb& running, const Scope& scope, Observation& out);
  std::string why_not_taken_over(const ConfigDb& config, const SwitchState& state, Observation& out,
                                 const Call& call);
  Result<Done> write(const ConfigPlan& plan, const ConfigDb& from, const ChangeSet& changes, Receipt& receipt,
                     const Call& call);
  void save(const ChangeSet& changes, Receipt& receipt, const Call& call);
  void read_effects(const Scope& scope, const ConfigDb& config, SwitchState& state, Observation& out,
                    const Call& call);
  // After a failure: ports that these have shut down, and that are down now, come up; rows that were deleted
  // to be made again, and are not there, come back as they were. Else why not.
  std::optional<Error> put_right(const ConfigPlan& plan, const ConfigDb& from,
                                 std::span<const std::vector<RowWrite>> written);
  void judge(const ChangeSet& changes, const Error& why, bool wrote, Receipt& receipt, const Call& call);

  const SonicTarget target_;
  OneSwitch switch_;
  std::optional<OpenDatabases> databases_;
  SavedConfig saved_;
  struct Prepared {
    ConfigDb from;
    ChangeSet changes;
    ConfigPlan plan;
  };
  std::optional<Prepared> prepared_;  // by way_back()
  mutable std::mutex mutex_;          // guards what follows
  ConfigDb seen_;                     // of the last observation: for previews
};

void SonicDriver::read_effects(const Scope& scope, const ConfigDb& config, SwitchState& state,
                               Observation& out, const Call& call) {
  const auto note = [&out](const Result<Done>& done, std::vector<Unread> unread) {
    if (!done) out.unread.insert(out.unread.end(), unread.begin(), unread.end());
  };
  if (wants_ports(scope)) {
    const Result<Done> read = read_port_states(databases_->appl, state, call);
    note(read, read ? std::vector<Unread>() : unread_ports(scope, wrap("APPL_DB", read.error())));
  }
  if (wants_hash_seed(scope)) {
    const Result<Done> read = read_hash_seed(databases_->appl, state, call);
    note(read, read ? std::vector<Unread>() : unread_hash_seed(scope, wrap("APPL_DB", read.error())));
  }
  if (has_dynamic_buffers(config) && wants_computed(scope)) {
    const Result<Done> read = read_groups(databases_->appl, state, call);
    note(read, read ? std::vector<Unread>() : unread_computed(scope, wrap("APPL_DB", read.error())));
  }
  if (wants_capabilities(scope)) {
    const Result<Done> read = read_capabilities(databases_->state, state, call);
    note(read, read ? std::vector<Unread>() : unread_counters(scope, wrap("STATE_DB", read.error())));
  }
  if (wants_sessions(scope)) {
    const Result<Done> read = read_sessions(databases_->state, state, call);
    note(read, read ? std::vector<Unread>() : unread_sessions(scope, wrap("STATE_DB", read.error())));
  }
}

// SONiC may be writing its files just now.
Result<Done> not_yet(Result<Done> read) {
  if (read || read.error().kind == ErrorKind::unsupported) return read;
  Error out = read.error();
  out.kind = ErrorKind::transient;
  return out;
}

// Where the databases are is asked for once, when it can be told.
Result<Done> SonicDriver::open() {
  if (databases_) return Done{};
  DatabaseConfig databases = target_.databases;
  if (!target_.database_file.empty()) {
    TRY_DONE(not_yet(is_of_one_asic(target_.database_file)));
    Result<DatabaseConfig> read = read_database_config(target_.database_file);
    TRY_DONE(not_yet(read ? Result<Done>(Done{}) : Result<Done>(read.error())));
    databases = *std::move(read);
  }
  TRY(const SonicDatabase config, databases.find("CONFIG_DB"));
  TRY(const SonicDatabase appl, databases.find("APPL_DB"));
  TRY(const SonicDatabase state, databases.find("STATE_DB"));
  const auto opened = [&databases](const char* name) -> std::optional<StateDatabase> {
    const Result<SonicDatabase> found = databases.find(name);
    if (!found) return std::nullopt;
    return StateDatabase{RedisConnection(found->server, found->id), found->separator};
  };
  databases_.emplace(OpenDatabases{.config = ConfigStore(config.server, config.id),
                                   .appl = {RedisConnection(appl.server, appl.id), appl.separator},
                                   .state = {RedisConnection(state.server, state.id), state.separator},
                                   .counters = opened("COUNTERS_DB"),
                                   .asic = opened("ASIC_DB")});
  return Done{};
}

// What the next boot would load differently, as far as entries stand for it; empty: nothing.
std::string SonicDriver::why_unsaved(const ConfigDb& running, const Scope& scope, Observation& out) {
  if (target_.saved_file.empty()) {
    out.incapable.push_back(unsavable());
    return {};
  }
  const Result<ConfigDb>& saved = saved_.read();
  std::string why = saved ? first_difference(running, *saved, scope) : saved.error().text();
  if (!why.empty()) out.notes.push_back("not saved (" + target_.saved_file + "): " + why);
  return why;
}

// Into the observation: nothing, if it can't be told. Empty: they have.
std::string SonicDriver::why_not_taken_over(const ConfigDb& config, const SwitchState& state,
                                            Observation& out, const Call& call) {
  if (is_unread(out.unread, Path(taken_over_row(), {}))) return "unread";
  const auto of = [](std::optional<StateDatabase>& one) { return one ? &*one : nullptr; };
  const Result<TakenOver> there = read_taken_over(state.port_rows, databases_->appl, of(databases_->counters),
                                                  of(databases_->asic), call);
  if (!there) {
    out.unread.push_back({taken_over_row(), {}, wrap("APPL_DB", there.error())});
    return "unread";
  }
  if (!there->has_started()) {
    out.incapable.push_back(not_started());
    return "not started";
  }
  std::string why = not_taken_over(config, *there);
  if (!why.empty()) out.notes.push_back("not taken over by SONiC's daemons: " + why);
  return why;
}

Result<Observation> SonicDriver::observe(const Scope& scope, std::string_view if_not, const Call& call) {
  TRY(const auto alone, switch_.alone(call));
  TRY_DONE(open());
  Observation out;
  out.device = target_.device;
  TRY(StoredConfig stored, databases_->config.read(call));
  TRY(out.boot_id, redis_run_id(databases_->state.connection, call));
  SwitchState state;
  read_effects(scope, stored.config, state, out, call);
  out.when = std::chrono::steady_clock::now();
  bool lacks_rows = false;
  for (const UnreadableRow& row : stored.unreadable) {
    out.notes.push_back("CONFIG_DB: " + row.name + " " + row.why);
    if (lacks_rows || !row_of_redis_name(row.name)) continue;  // what is no row is nothing of ours
    lacks_rows = true;
    const Error why{ErrorKind::refused, out.notes.back()};
    for (Unread& unread : unread_config(scope, why)) out.unread.push_back(std::move(unread));
  }
  out.incapable = incapable_of(stored.config, state, scope);
  const std::string unsaved = scope.wants(saving_row()) ? why_unsaved(stored.config, scope, out) : "";
  const std::string behind =
      scope.wants(taken_over_row()) ? why_not_taken_over(stored.config, state, out, call) : "not asked";
  if (out.unread.empty())
    out.revision = revision_of(stored, unsaved + "\n" + behind + "\n" + state_text(state));
  if (out.revision.empty() || out.revision != if_not) {
    TreeBuilder tree;
    if (!lacks_rows) add_entries(stored.config, scope, tree);
    add_effects(state, scope, tree);
    add_computed(stored.config, state, scope, tree);
    if (behind.empty()) add_taken_over(tree);
    if (scope.wants(saving_row()) && unsaved.empty() && !target_.saved_file.empty()) add_saved(tree);
    out.have = tree.build();
  }
  out.facts = facts_of(stored.config);
  const std::scoped_lock lock(mutex_);
  seen_ = std::move(stored.config);
  return out;
}

Result<Done> SonicDriver::check(const Guard& guard, const StoredConfig& stored) {
  TRY_DONE(switch_.check(guard));
  if (!guard.revision.empty() && config_part(guard.revision) != config_part(revision_of(stored, {})))
    return switch_.changed("since it was observed");
  switch_.accept(guard);
  return Done{};
}

// In a time of its own: the call may have ended.
std::optional<Error> SonicDriver::put_right(const ConfigPlan& plan, const ConfigDb& from,
                                            std::span<const std::vector<RowWrite>> written) {
  constexpr std::chrono::seconds kTime{5};  // chosen: two round trips of a Redis that is busy
  const Call call{.deadline = std::chrono::steady_clock::now() + kTime, .stop = {}};
  std::set<std::string> lowered;
  for (const auto& rows : written)
    for (const RowWrite& row : rows)
      if (row.table == "PORT" && row.was && row.want && is_port_up(*row.was) && !is_port_up(*row.want))
        lowered.insert(row.key);
  if (lowered.empty() && plan.rebuilt.empty()) return std::nullopt;
  const Result<StoredConfig> now = databases_->config.read(call);
  if (!now) return wrap("what this change has shut down or deleted may still be so", now.error());
  std::vector<RowWrite> rows;
  for (const ConfigMove& one : plan.rebuilt)
    if (const ConfigRow* const was = from.find(one.table, one.key);
        was != nullptr && now->config.find(one.table, one.key) == nullptr)
      rows.push_back({one.table, one.key, std::nullopt, *was});
  for (const std::string& port : lowered) {
    const ConfigRow* const row = now->config.find("PORT", port);
    if (row == nullptr || is_port_up(*row)) continue;
    ConfigRow up = *row;
    up["admin_status"] = "up";
    rows.push_back({"PORT", port, *row, std::move(up)});
  }
  const Result<Done> done = databases_->config.write(rows, call);
  if (done) return std::nullopt;
  return wrap("what this change has shut down or deleted may still be so", done.error());
}

// After a failure, which changes are there all the same.
void SonicDriver::judge(const ChangeSet& changes, const Error& why, bool wrote, Receipt& receipt,
                        const Call& call) {
  Error error = why;
  if (wrote && error.kind == ErrorKind::transient) error.kind = ErrorKind::unknown_outcome;
  TreeBuilder tree;
  Scope scope;
  for (const Change& change : changes) scope.named.push_back(change.path);
  const Result<StoredConfig> now = databases_->config.read(call);
  if (now) add_entries(now->config, scope, tree);
  const Tree have = tree.build();
  for (std::size_t i = 0; i < changes.size(); ++i) {
    // Of a lost reply the engine makes its own observation.
    const bool is_there =
        now && why.kind != ErrorKind::unknown_outcome && have.value(changes[i].path) == changes[i].want;
    if (!receipt.outcomes[i].error && !is_there) receipt.outcomes[i].error = error;
  }
}

Result<Done> SonicDriver::write(const ConfigPlan& plan, const ConfigDb& from, const ChangeSet& changes,
                                Receipt& receipt, const Call& call) {
  const auto transactions = transactions_of(plan.moves, from);
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    const Result<Done> written = databases_->config.write(transactions[i], call);
    if (written) continue;
    if (i == 0 && written.error().kind != ErrorKind::unknown_outcome) return written.error();
    const std::optional<Error> left = put_right(plan, from, std::span(transactions).first(i + 1));
    judge(changes, written.error(), i != 0, receipt, call);
    // Not done, whatever of it is there.
    for (Receipt::Outcome& one : receipt.outcomes)
      if (left && !one.error) one.error = Error{ErrorKind::unknown_outcome, left->text()};
    break;
  }
  return Done{};
}

void SonicDriver::save(const ChangeSet& changes, Receipt& receipt, const Call& call) {
  const auto saving =
      std::ranges::find_if(changes, [](const Change& one) { return one.path.row() == saving_row(); });
  if (saving == changes.end()) return;
  std::optional<Error>& outcome = receipt.outcomes[static_cast<std::size_t>(saving - changes.begin())].error;
  if (outcome) return;
  if (std::ranges::any_of(receipt.outcomes,
                          [](const Receipt::Outcome& one) { return one.error.has_value(); })) {
    outcome = Error{ErrorKind::refused, "not saved, since not everything was written"};
    return;
  }
  const Result<StoredConfig> now = databases_->config.read(call);
  Result<Done> saved = now ? Result<Done>(Done{}) : now.error();
  if (now && !now->unreadable.empty())
    saved = Error{ErrorKind::refused, "not saved: " + now->unreadable.front().name + " " +
                                          now->unreadable.front().why + ", and would be lost"};
  if (saved) saved = saved_.save(now->config);
  if (!saved) outcome = saved.error();
}

Result<Receipt> SonicDriver::apply(const ChangeSet& changes, const Guard& guard, const Call& call) {
  TRY(const auto alone, switch_.alone(call));
  TRY_DONE(open());
  Receipt receipt;
  receipt.ticket = guard.ticket;
  for (const Change& change : changes) receipt.outcomes.push_back({change.path, std::nullopt});
  TRY_DONE(switch_.load_models());
  TRY(const StoredConfig stored, databases_->config.read(call));
  TRY_DONE(check(guard, stored));
  const std::optional<Prepared> prepared = std::exchange(prepared_, std::nullopt);
  const bool is_prepared = prepared && prepared->changes == changes;
  if (is_prepared && prepared->from != stored.config) return switch_.changed("while this was planned");
  Edited target = edited(stored.config, changes);
  for (std::size_t i = 0; i < changes.size(); ++i) receipt.outcomes[i].error = std::move(target.outcomes[i]);
  const Result<ConfigPlan> planned =
      is_prepared ? prepared->plan : switch_.plan(stored.config, target.config);
  if (!planned) {
    for (Receipt::Outcome& outcome : receipt.outcomes)
      if (!outcome.error) outcome.error = planned.error();
    return receipt;
  }
  note_interruptions(*planned, receipt);
  if (!switch_.has_models() && !planned->moves.empty())
    receipt.notes.emplace_back("each state was judged by built-in rules: SONiC's YANG models are not here");
  if (!planned->moves.empty() && !guard.transaction.empty()) {
    TRY_DONE(saved_.checkpoint(guard.transaction, stored.config));
    for (const UnreadableRow& row : stored.unreadable)
      receipt.notes.push_back("the checkpoint lacks " + row.name + ", which " + row.why);
  }
  TRY_DONE(write(*planned, stored.config, changes, receipt, call));
  save(changes, receipt, call);
  return receipt;
}

// Ports that the plan shuts down, and rows that it deletes to make them again. The apply that follows makes
// this plan, or none.
Result<ChangeSet> SonicDriver::way_back(const ChangeSet& changes, const Call& call) {
  TRY(const auto alone, switch_.alone(call));
  TRY_DONE(open());
  TRY_DONE(switch_.load_models());
  TRY(StoredConfig stored, databases_->config.read(call));
  const Edited target = edited(stored.config, changes);
  Result<ConfigPlan> planned = switch_.plan(stored.config, target.config);
  if (!planned) return ChangeSet();
  ConfigDb without = stored.config;
  for (const ConfigMove& one : planned->rebuilt) make_move({one.table, one.key, std::nullopt}, without);
  ChangeSet out = lost_settings(stored.config, without, changes);
  for (const std::string& port : planned->ports_down) out.push_back(coming_up(port));
  prepared_ = Prepared{std::move(stored.config), changes, *std::move(planned)};
  return out;
}

// Of a switch that somebody else observes, only the entries are known: rows are those that would stand for
// them.
void SonicDriver::recall(const Observation& observation, const Scope&) {
  const ChangeSet all = settings_of(observation.have);
  ConfigDb config = edited(bare_config(all), all).config;
  const std::scoped_lock lock(mutex_);
  seen_ = std::move(config);
}

std::vector<std::string> SonicDriver::native(const ChangeSet& changes) const {
  const std::scoped_lock lock(mutex_);
  return native_lines(seen_.tables.empty() ? bare_config(changes) : seen_, changes);
}

}  // namespace

}  // namespace sonic

Attached make_sonic_driver(SonicTarget target) {
  const auto keyspace = [device = target.device, databases = target.databases,
                         file = target.database_file]() -> Result<std::shared_ptr<Watcher>> {
    constexpr std::chrono::seconds kTime{5};  // to connect and subscribe
    const Call call{.deadline = std::chrono::steady_clock::now() + kTime, .stop = {}};
    TRY(const sonic::DatabaseConfig read,
        file.empty() ? Result<sonic::DatabaseConfig>(databases) : sonic::read_database_config(file));
    TRY(const sonic::SonicDatabase config, read.find("CONFIG_DB"));
    TRY(sonic::KeyspaceWatch watch, sonic::KeyspaceWatch::open(config.server, config.id, {}, call));
    return std::shared_ptr<Watcher>(std::make_shared<sonic::SonicWatcher>(device, std::move(watch)));
  };
  auto driver = std::make_unique<sonic::SonicDriver>(std::move(target));
  Attached out;
  out.preview = driver.get();
  out.recall = driver.get();
  out.passing = driver.get();
  out.driver = std::move(driver);
  out.watch = keyspace;
  return out;
}

// sonic-swss-common 85a39d80, common/database_config.json.
sonic::DatabaseConfig usual_databases(const sonic::RedisServer& server) {
  sonic::DatabaseConfig out;
  out.file = server.name();
  const auto add = [&](const char* name, int id, const char* separator) {
    out.databases[name] = {.id = id, .separator = separator, .instance = "redis", .server = server};
  };
  add("APPL_DB", 0, ":");
  add("ASIC_DB", 1, ":");
  add("COUNTERS_DB", 2, ":");
  add("CONFIG_DB", 4, "|");
  add("STATE_DB", 6, "|");
  return out;
}

}  // namespace lockstep
