#include "drivers/sonic/driver.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "drivers/sonic/config_plan.hpp"
#include "drivers/sonic/config_store.hpp"
#include "drivers/sonic/keyspace_watch.hpp"
#include "drivers/sonic/map.hpp"
#include "drivers/sonic/transactions.hpp"
#include "drivers/sonic/yang_models.hpp"
#include "specs/model/fnv.hpp"
#include "specs/model/printable.hpp"

namespace lockstep {
namespace sonic {
namespace {

// "config.effects": a guard compares the configuration only, since a flapping port does not change it.
std::string revision_of(const StoredConfig& stored, const SwitchState& state) {
  std::string effects;
  for (const auto& [port, seen] : state.ports)
    effects += port + (seen.is_up ? *seen.is_up ? "+" : "-" : "?") + seen.peer + "\n";
  for (const auto& [neighbor, session] : state.sessions) effects += neighbor + "=" + session + "\n";
  if (state.hash_seed) effects += "seed=" + std::to_string(*state.hash_seed) + "\n";
  ConfigDb computed;
  for (const auto& [port, groups] : state.groups)
    for (const auto& [group, profile] : groups) computed.tables[port][std::to_string(group)] = profile;
  effects += config_db_json(computed);
  std::string config = config_db_json(stored.config);
  for (const UnreadableRow& row : stored.unreadable) config += row.name + "\n";
  return Fnv().add(config).text() + "." + Fnv().add(effects).text();
}
std::string_view config_part(std::string_view revision) { return revision.substr(0, revision.find('.')); }

std::string quoted_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// As an operator would do it on the switch: what a write would send (row_write.hpp).
std::vector<std::string> native_of(const ConfigMove& move, const ConfigRow* before) {
  const RowWrite one{move.table, move.key, std::nullopt, move.row};
  const Result<std::vector<StoredRowWrite>> stored = stored_writes(std::span(&one, 1));
  if (!stored) return {"# " + stored.error().text()};
  const Result<RedisHash> was = before == nullptr ? RedisHash() : redis_hash(*before);
  if (!was) return {"# " + was.error().text()};
  std::vector<std::string> out;
  for (const RedisCommand& command : row_commands(stored->front(), *was)) {
    std::string line = "sonic-db-cli CONFIG_DB " + command.front();
    for (const std::string& word : std::span(command).subspan(1)) line += " " + quoted_word(word);
    out.push_back(std::move(line));
  }
  return out;
}

// What a change interrupts beyond its own rows.
void note_interruptions(const ConfigPlan& plan, Receipt& receipt) {
  const auto list = [&receipt](const char* what, const std::vector<std::string>& names) {
    constexpr std::size_t kShown = 8;
    if (names.empty()) return;
    std::string out = what;
    for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i)
      out += (i == 0 ? "" : ", ") + printable(names[i]);
    if (names.size() > kShown) out += " and " + std::to_string(names.size() - kShown) + " more";
    receipt.notes.push_back(std::move(out));
  };
  list("shut down meanwhile: ", plan.ports_down);
  std::vector<std::string> rows;
  for (const ConfigMove& row : plan.rebuilt) rows.push_back(redis_name(row.table, row.key));
  list("deleted and made again: ", rows);
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

class SonicDriver final : public Driver, public Preview {
 public:
  SonicDriver(SonicTarget target, const SonicDatabase& config, const SonicDatabase& appl,
              const SonicDatabase& state)
      : target_(std::move(target)),
        store_(config.server, config.id),
        appl_{RedisConnection(appl.server, appl.id), appl.separator},
        state_{RedisConnection(state.server, state.id), state.separator} {}

  Result<Traits> traits(const Call&) override {
    return Traits{.driver = "sonic", .reads = rows_read(), .writes = rows_written()};
  }
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override;
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override;
  Result<Done> settle(std::string_view, Settlement settlement, const Call&) override {
    if (settlement == Settlement::undo)
      return Error{ErrorKind::unsupported, target_.device + ": SONiC can't roll back by itself"};
    return Done{};
  }
  std::vector<std::string> native(const ChangeSet& changes) const override;

 private:
  using Alone = std::unique_lock<std::timed_mutex>;
  Result<Alone> alone_on_device(const Call& call) {
    Alone lock(device_, call.deadline);
    if (!lock) return Error{ErrorKind::transient, target_.device + ": another call to it has not ended"};
    return lock;
  }
  Result<Done> check(const Guard& guard, const StoredConfig& stored);
  Result<Done> load_models();
  void read_effects(const Scope& scope, const ConfigDb& config, SwitchState& state, Observation& out,
                    const Call& call);
  // Ports that these have shut down, and that are down now, come up.
  void raise_ports(std::span<const std::vector<RowWrite>> written, Receipt& receipt, const Call& call);
  void judge(const ChangeSet& changes, const Error& why, bool wrote, Receipt& receipt, const Call& call);

  const SonicTarget target_;
  std::timed_mutex device_;  // one call at a time
  ConfigStore store_;
  StateDatabase appl_;
  StateDatabase state_;
  std::optional<YangModels> models_;
  std::uint64_t epoch_ = 0;
  mutable std::mutex mutex_;  // guards what follows
  ConfigDb seen_;             // of the last observation: for previews
};

void SonicDriver::read_effects(const Scope& scope, const ConfigDb& config, SwitchState& state,
                               Observation& out, const Call& call) {
  const auto note = [&out](const Result<Done>& done, std::vector<Unread> unread) {
    if (!done) out.unread.insert(out.unread.end(), unread.begin(), unread.end());
  };
  if (wants_ports(scope)) {
    const Result<Done> read = read_port_states(appl_, state, call);
    note(read, read ? std::vector<Unread>() : unread_ports(scope, wrap("APPL_DB", read.error())));
  }
  if (wants_hash_seed(scope)) {
    const Result<Done> read = read_hash_seed(appl_, state, call);
    note(read, read ? std::vector<Unread>() : unread_hash_seed(scope, wrap("APPL_DB", read.error())));
  }
  if (wants_computed(config, scope)) {
    const Result<Done> read = read_groups(appl_, state, call);
    note(read, read ? std::vector<Unread>() : unread_computed(scope, wrap("APPL_DB", read.error())));
  }
  if (wants_capabilities(scope)) {
    const Result<Done> read = read_capabilities(state_, state, call);
    note(read, read ? std::vector<Unread>() : unread_counters(scope, wrap("STATE_DB", read.error())));
  }
  if (wants_sessions(scope)) {
    const Result<Done> read = read_sessions(state_, state, call);
    note(read, read ? std::vector<Unread>() : unread_sessions(scope, wrap("STATE_DB", read.error())));
  }
}

Result<Observation> SonicDriver::observe(const Scope& scope, std::string_view if_not, const Call& call) {
  TRY(const auto alone, alone_on_device(call));
  Observation out;
  out.device = target_.device;
  TRY(StoredConfig stored, store_.read(call));
  TRY(out.boot_id, redis_run_id(state_.connection, call));
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
  if (out.unread.empty()) out.revision = revision_of(stored, state);
  out.incapable = incapable_of(stored.config, state, scope);
  if (out.revision.empty() || out.revision != if_not) {
    TreeBuilder tree;
    if (!lacks_rows) add_entries(stored.config, scope, tree);
    add_effects(state, scope, tree);
    add_computed(stored.config, state, scope, tree);
    out.have = tree.build();
  }
  if (const ConfigRow* const metadata = stored.config.find("DEVICE_METADATA", "localhost"))
    for (const auto& [field, fact] : {std::pair{"hwsku", "model"}, {"platform", "platform"}})
      if (const auto found = metadata->find(std::string_view(field)); found != metadata->end())
        if (const auto* const text = std::get_if<std::string>(&found->second)) out.facts[fact] = *text;
  const std::scoped_lock lock(mutex_);
  seen_ = std::move(stored.config);
  return out;
}

Result<Done> SonicDriver::check(const Guard& guard, const StoredConfig& stored) {
  if (guard.undo_after)
    return Error{ErrorKind::unsupported, target_.device + ": SONiC has no timer that could undo a change"};
  if (guard.epoch < epoch_)
    return Error{ErrorKind::denied, target_.device + ": epoch " + std::to_string(guard.epoch) +
                                        " is older than " + std::to_string(epoch_)};
  if (!guard.revision.empty() && config_part(guard.revision) != config_part(revision_of(stored, {})))
    return Error{ErrorKind::conflict, target_.device + ": CONFIG_DB has changed since it was observed"};
  epoch_ = guard.epoch;
  return Done{};
}

Result<Done> SonicDriver::load_models() {
  if (target_.models.empty() || models_) return Done{};
  TRY(models_, YangModels::load(target_.models));
  return Done{};
}

void SonicDriver::raise_ports(std::span<const std::vector<RowWrite>> written, Receipt& receipt,
                              const Call& call) {
  std::set<std::string> lowered;
  for (const auto& rows : written)
    for (const RowWrite& row : rows)
      if (row.table == "PORT" && row.was && row.want && is_port_up(*row.was) && !is_port_up(*row.want))
        lowered.insert(row.key);
  const Result<StoredConfig> now = store_.read(call);
  std::vector<RowWrite> rows;
  for (const std::string& port : lowered) {
    const ConfigRow* const row = now ? now->config.find("PORT", port) : nullptr;
    if (row == nullptr || is_port_up(*row)) continue;
    ConfigRow up = *row;
    up["admin_status"] = "up";
    rows.push_back({"PORT", port, *row, std::move(up)});
  }
  const Result<Done> raised = now ? store_.write(rows, call) : Result<Done>(now.error());
  if (!raised && !lowered.empty())
    receipt.notes.push_back("ports that this change has shut down may still be down: " +
                            raised.error().text());
}

// After a failure, which changes are there all the same.
void SonicDriver::judge(const ChangeSet& changes, const Error& why, bool wrote, Receipt& receipt,
                        const Call& call) {
  Error error = why;
  if (wrote && error.kind == ErrorKind::transient) error.kind = ErrorKind::unknown_outcome;
  TreeBuilder tree;
  Scope scope;
  for (const Change& change : changes) scope.named.push_back(change.path);
  const Result<StoredConfig> now = store_.read(call);
  if (now) add_entries(now->config, scope, tree);
  const Tree have = tree.build();
  for (std::size_t i = 0; i < changes.size(); ++i) {
    // Of a lost reply the engine makes its own observation.
    const bool is_there =
        now && why.kind != ErrorKind::unknown_outcome && have.value(changes[i].path) == changes[i].want;
    if (!receipt.outcomes[i].error && !is_there) receipt.outcomes[i].error = error;
  }
}

Result<Receipt> SonicDriver::apply(const ChangeSet& changes, const Guard& guard, const Call& call) {
  TRY(const auto alone, alone_on_device(call));
  Receipt receipt;
  receipt.ticket = guard.ticket;
  for (const Change& change : changes) receipt.outcomes.push_back({change.path, std::nullopt});
  TRY_DONE(load_models());
  TRY(const StoredConfig stored, store_.read(call));
  TRY_DONE(check(guard, stored));
  Edited target = edited(stored.config, changes);
  for (std::size_t i = 0; i < changes.size(); ++i) receipt.outcomes[i].error = std::move(target.outcomes[i]);
  const Result<ConfigPlan> plan =
      plan_config(models_ ? &*models_ : nullptr, stored.config, target.config, KnownFaults::stay);
  if (!plan) {
    for (Receipt::Outcome& outcome : receipt.outcomes)
      if (!outcome.error) outcome.error = plan.error();
    return receipt;
  }
  note_interruptions(*plan, receipt);
  const auto transactions = transactions_of(plan->moves, stored.config);
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    const Result<Done> written = store_.write(transactions[i], call);
    if (written) continue;
    if (i == 0 && written.error().kind != ErrorKind::unknown_outcome) return written.error();
    raise_ports(std::span(transactions).first(i + 1), receipt, call);
    judge(changes, written.error(), i != 0, receipt, call);
    break;
  }
  return receipt;
}

std::vector<std::string> SonicDriver::native(const ChangeSet& changes) const {
  const std::scoped_lock lock(mutex_);
  ConfigDb config = seen_.tables.empty() ? bare_config(changes) : seen_;
  const Edited target = edited(config, changes);
  std::vector<std::string> out;
  const Result<ConfigPlan> plan = plan_config(nullptr, config, target.config, KnownFaults::stay);
  if (!plan) out.push_back("# " + plan.error().text());
  if (plan)
    for (const ConfigMove& move : plan->moves) {
      for (std::string& line : native_of(move, config.find(move.table, move.key)))
        out.push_back(std::move(line));
      make_move(move, config);
    }
  for (const auto& error : target.outcomes)
    if (error) out.push_back("# " + error->text());
  return out;
}

}  // namespace

}  // namespace sonic

Attached make_sonic_driver(SonicTarget target) {
  const sonic::DatabaseConfig databases = target.databases;
  const auto database = [&databases](std::string_view name) {
    const Result<sonic::SonicDatabase> found = databases.find(name);
    if (!found) throw std::invalid_argument(found.error().text());
    return *found;
  };
  const sonic::SonicDatabase config = database("CONFIG_DB");
  const std::string device = target.device;
  auto driver = std::make_unique<sonic::SonicDriver>(std::move(target), config, database("APPL_DB"),
                                                     database("STATE_DB"));
  Attached out;
  out.preview = driver.get();
  out.driver = std::move(driver);
  out.watch = [device, config]() -> Result<std::shared_ptr<Watcher>> {
    constexpr std::chrono::seconds kTime{5};  // to connect and subscribe
    const Call call{.deadline = std::chrono::steady_clock::now() + kTime, .stop = {}};
    TRY(sonic::KeyspaceWatch watch, sonic::KeyspaceWatch::open(config.server, config.id, {}, call));
    return std::shared_ptr<Watcher>(std::make_shared<sonic::SonicWatcher>(device, std::move(watch)));
  };
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
