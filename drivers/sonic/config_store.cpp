#include "drivers/sonic/config_store.hpp"

#include <algorithm>
#include <utility>

#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

constexpr std::string_view kInitialised = "CONFIG_DB_INITIALIZED";
constexpr std::size_t kRowNameBytes = 80;  // of a name in an error

std::string row_named(std::string_view name) { return "row '" + printable(name, kRowNameBytes) + "'"; }

Error not_redis(const std::string& what) {
  return Error{ErrorKind::transient, what + ": not the reply of Redis to this command"};
}

Result<Done> check_initialised(const RedisReply& flag) {
  if (auto error = redis_error("CONFIG_DB_INITIALIZED", flag)) return *std::move(error);
  if (flag.kind == RedisReply::Kind::text && !flag.text.empty() && flag.text != "0") return Done{};
  return Error{ErrorKind::transient,
               "CONFIG_DB is not initialised yet: SONiC is starting, or is loading its configuration"};
}

bool is_wrong_type(const RedisReply& reply) {
  return reply.is_error() && reply.text.starts_with("WRONGTYPE");
}

// None: there is no such row.
Result<std::optional<ConfigRow>> stored_row(const RedisHash& hash) {
  if (hash.empty()) return std::optional<ConfigRow>();
  TRY(ConfigRow row, row_of_redis_hash(hash));
  return std::optional<ConfigRow>(std::move(row));
}

// Sent, with the row of each command.
struct Transaction {
  std::vector<RedisCommand> commands;
  std::vector<std::string> rows;
};

Error after_exec(std::string what) { return Error{ErrorKind::unknown_outcome, std::move(what)}; }

// `replies`: to MULTI, to each command, to EXEC.
Result<Done> outcome_of(const Transaction& sent, const std::vector<RedisReply>& replies) {
  const RedisReply& exec = replies.back();
  if (exec.kind == RedisReply::Kind::nil)
    return Error{
        ErrorKind::conflict,
        "another program changed one of the rows while they were being written; nothing was written"};
  if (exec.is_error()) {
    for (std::size_t i = 0; i < sent.rows.size(); ++i)
      if (auto error = redis_error("write of " + row_named(sent.rows[i]), replies[i + 1]))
        return *std::move(error);
    return *redis_error("write of " + std::to_string(sent.rows.size()) + " changes", exec);
  }
  if (exec.kind != RedisReply::Kind::array || exec.elements.size() != sent.rows.size())
    return after_exec("EXEC: not the reply of Redis to this command");
  for (std::size_t i = 0; i < sent.rows.size(); ++i) {
    auto error = redis_error("write of " + row_named(sent.rows[i]), exec.elements[i]);
    if (error) return after_exec(error->what + "; the other changes of this step were written");
  }
  return Done{};
}

Transaction transaction_of(std::span<const StoredRowWrite> writes, const std::vector<RedisHash>& rows) {
  Transaction out;
  out.commands.push_back({"MULTI"});
  for (std::size_t i = 0; i < writes.size(); ++i) {
    for (RedisCommand& command : row_commands(writes[i], rows[i])) {
      out.commands.push_back(std::move(command));
      out.rows.push_back(writes[i].name);
    }
  }
  out.commands.push_back({"EXEC"});
  return out;
}

}  // namespace

Result<StoredConfig> ConfigStore::read(const Call& call) {
  TRY_DONE(end_unsettled(call));
  const RedisCommand start[] = {{"GET", std::string(kInitialised)}, {"KEYS", "*"}};
  TRY(const auto replies, connection_.send(start, RedisIntention::asks, call));
  TRY_DONE(check_initialised(replies[0]));
  if (auto error = redis_error("list of rows", replies[1])) return *std::move(error);
  if (replies[1].kind != RedisReply::Kind::array) return not_redis("list of rows");

  StoredConfig read;
  std::vector<std::string> names;
  for (const RedisReply& name : replies[1].elements) {
    if (name.kind != RedisReply::Kind::text) return not_redis("list of rows");
    if (name.text == kInitialised) continue;
    if (row_of_redis_name(name.text)) {
      names.push_back(name.text);
    } else {
      read.unreadable.push_back({name.text, "is not TABLE|key"});
    }
  }
  std::ranges::sort(names);
  for (std::size_t i = 0; i < names.size(); i += kRowsAtOnce) {
    const std::span rest = std::span(names).subspan(i);
    TRY_DONE(read_rows(rest.first(std::min(kRowsAtOnce, rest.size())), read, call));
  }
  std::ranges::sort(read.unreadable, {}, &UnreadableRow::name);
  return read;
}

Result<Done> ConfigStore::read_rows(std::span<const std::string> names, StoredConfig& read,
                                    const Call& call) {
  std::vector<RedisCommand> commands;
  for (const std::string& name : names) commands.push_back({"HGETALL", name});
  commands.push_back({"GET", std::string(kInitialised)});
  TRY(const auto replies, connection_.send_next(commands, RedisIntention::asks, call));
  TRY_DONE(check_initialised(replies.back()));  // `config reload` empties the database first
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_wrong_type(replies[i])) {
      read.unreadable.push_back({names[i], "is not a hash in Redis"});
      continue;
    }
    TRY(const RedisHash hash, redis_hash_in(row_named(names[i]), replies[i]));
    auto row = stored_row(hash);
    if (!row) {
      read.unreadable.push_back({names[i], row.error().text()});
    } else if (*row) {  // else it was deleted since the keys were listed
      auto name = *row_of_redis_name(names[i]);
      read.config.tables[std::move(name.first)].emplace(std::move(name.second), **std::move(row));
    }
  }
  return Done{};
}

Result<Done> ConfigStore::write(std::span<const RowWrite> writes, const Call& call) {
  TRY(const std::vector<StoredRowWrite> stored, stored_writes(writes));
  if (stored.empty()) return Done{};
  if (stored.size() > kRowsPerWrite)
    return Error{ErrorKind::invalid_spec, std::to_string(stored.size()) + " rows in one step; at most " +
                                              std::to_string(kRowsPerWrite) + " can be written at once"};
  TRY_DONE(end_unsettled(call));
  Unsettled identity;
  TRY(const std::vector<RedisHash> rows, watched(stored, identity, call));
  return commit(stored, rows, identity, call);
}

// What is there, if it is what it was, and from here on watched by Redis.
Result<std::vector<RedisHash>> ConfigStore::watched(std::span<const StoredRowWrite> writes,
                                                    Unsettled& identity, const Call& call) {
  constexpr std::size_t kBefore = 5;  // commands before those of the rows
  std::vector<RedisCommand> commands{{"CLIENT", "ID"}, {"INFO", "server"}, {"UNWATCH"}};
  RedisCommand watch{"WATCH", std::string(kInitialised)};
  for (const StoredRowWrite& write : writes) watch.push_back(write.name);
  commands.push_back(std::move(watch));
  commands.push_back({"GET", std::string(kInitialised)});
  for (const StoredRowWrite& write : writes) commands.push_back({"HGETALL", write.name});
  TRY(const auto replies, connection_.send(commands, RedisIntention::asks, call));

  if (auto error = redis_error("CLIENT ID", replies[0])) return *std::move(error);
  if (replies[0].kind != RedisReply::Kind::integer) return not_redis("CLIENT ID");
  identity.client = replies[0].integer;
  TRY(identity.run_id, run_id_in(replies[1]));
  if (auto error = redis_error("WATCH", replies[3])) return *std::move(error);
  if (!replies[3].is_text("OK")) return not_redis("WATCH");
  std::vector<RedisHash> rows;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const std::string& name = writes[i].name;
    if (is_wrong_type(replies[kBefore + i]))
      return Error{ErrorKind::conflict,
                   row_named(name) + ": another program has made it something else than a hash"};
    TRY(RedisHash hash, redis_hash_in(row_named(name), replies[kBefore + i]));
    auto row = stored_row(hash);
    if (!row)
      return Error{ErrorKind::conflict, row_named(name) + " cannot be read any more: " + row.error().text()};
    if (const std::string differs = difference(writes[i].was, *row); !differs.empty())
      return Error{ErrorKind::conflict, row_named(name) + " changed since it was read: " + differs};
    rows.push_back(std::move(hash));
  }
  TRY_DONE(check_initialised(replies[kBefore - 1]));
  return rows;
}

Result<Done> ConfigStore::commit(std::span<const StoredRowWrite> writes, const std::vector<RedisHash>& rows,
                                 const Unsettled& identity, const Call& call) {
  const Transaction transaction = transaction_of(writes, rows);
  if (transaction.rows.empty()) return Done{};
  const auto replies = connection_.send_next(transaction.commands, RedisIntention::writes, call);
  auto outcome = replies ? outcome_of(transaction, *replies) : Result<Done>(replies.error());
  if (!outcome && outcome.error().kind == ErrorKind::unknown_outcome) {
    unsettled_ = identity;
    connection_.close();
  }
  return outcome;
}

Result<std::vector<RowState>> ConfigStore::settled(std::span<const RowWrite> writes, const Call& call) {
  TRY(const std::vector<StoredRowWrite> stored, stored_writes(writes));
  TRY_DONE(end_unsettled(call));
  std::vector<RedisCommand> commands;
  for (const StoredRowWrite& write : stored) commands.push_back({"HGETALL", write.name});
  TRY(const auto replies, connection_.send(commands, RedisIntention::asks, call));
  std::vector<RowState> states;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    states.push_back(RowState::other);
    if (is_wrong_type(replies[i])) continue;
    TRY(const RedisHash hash, redis_hash_in(row_named(stored[i].name), replies[i]));
    const auto row = stored_row(hash);
    if (!row) continue;
    if (difference(stored[i].want, *row).empty()) {
      states.back() = RowState::wanted;
    } else if (difference(stored[i].was, *row).empty()) {
      states.back() = RowState::former;
    }
  }
  return states;
}

// Redis reads 16 KiB of a connection at a time, and others' commands in between: of a transaction that was
// sent, the end may be executed after what a new connection asks.
Result<Done> ConfigStore::end_unsettled(const Call& call) {
  if (!unsettled_) return Done{};
  const RedisCommand who[] = {{"INFO", "server"}};
  TRY(const auto info, connection_.send(who, RedisIntention::asks, call));
  TRY(const std::string run_id, run_id_in(info[0]));
  if (run_id == unsettled_->run_id) {
    const RedisCommand end[] = {{"CLIENT", "KILL", "ID", std::to_string(unsettled_->client)}};
    TRY(const auto ended, connection_.send_next(end, RedisIntention::asks, call));
    if (auto error = redis_error("CLIENT KILL, which ends the interrupted write", ended[0]))
      return *std::move(error);
    if (ended[0].kind != RedisReply::Kind::integer) return not_redis("CLIENT KILL");
  }
  unsettled_.reset();
  return Done{};
}

}  // namespace lockstep::sonic
