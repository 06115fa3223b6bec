#include "reconciler/sonic_stand_in/switch_databases.hpp"

#include <algorithm>
#include <set>

#include "drivers/sonic/switch_state.hpp"

namespace lockstep::sonic {
namespace {

// sonic-swss-common 85a39d80, common/database_config.json.
constexpr int kApplDb = 0;
constexpr int kConfigDb = 4;
constexpr int kStateDb = 6;
constexpr const char* kInitialized = "CONFIG_DB_INITIALIZED";

Result<std::vector<RedisReply>> asked(RedisConnection& connection, std::span<const RedisCommand> commands,
                                      RedisIntention intention, const Call& call) {
  TRY(std::vector<RedisReply> replies, connection.send(commands, intention, call));
  for (std::size_t i = 0; i < replies.size(); ++i)
    if (auto error = redis_error(commands[i].front(), replies[i])) return *std::move(error);
  return replies;
}

bool has_lanes(const ConfigDb& config, const ConfigField& lanes) {
  const auto ports = config.tables.find("PORT");
  if (ports == config.tables.end()) return false;
  return std::ranges::any_of(ports->second, [&](const auto& port) {
    const auto found = port.second.find(std::string_view("lanes"));
    return found != port.second.end() && found->second == lanes;
  });
}

}  // namespace

SwitchDatabases::SwitchDatabases(const RedisServer& server, SwitchIdentity identity)
    : identity_(std::move(identity)),
      config_(server, kConfigDb),
      store_(server, kConfigDb),
      appl_{RedisConnection(server, kApplDb)},
      state_{RedisConnection(server, kStateDb)} {}

Result<ConfigDb> SwitchDatabases::read(const std::vector<std::string>& ports, std::vector<std::string>& notes,
                                       const Call& call) {
  TRY_DONE(begin_reports(call));
  TRY_DONE(fill_if_empty(ports, notes, call));
  TRY(StoredConfig stored, store_.read(call));
  for (const UnreadableRow& row : stored.unreadable)
    notes.push_back("CONFIG_DB: " + row.name + " " + row.why);
  TRY_DONE(add_ports(stored.config, ports, call));
  return std::move(stored.config);
}

Result<Done> SwitchDatabases::fill_if_empty(const std::vector<std::string>& ports,
                                            std::vector<std::string>& notes, const Call& call) {
  const RedisCommand size[] = {{"DBSIZE"}};
  TRY(const auto replies, asked(config_, size, RedisIntention::asks, call));
  if (replies[0].kind == RedisReply::Kind::integer && replies[0].integer > 0) return Done{};
  std::vector<RedisCommand> commands{{"MULTI"}};
  for (const auto& [table, rows] : first_config(identity_, ports).tables)
    for (const auto& [key, row] : rows) {
      RedisCommand set{"HSET", redis_name(table, key)};
      TRY(const RedisHash hash, redis_hash(row));
      for (const auto& [field, value] : hash) set.insert(set.end(), {field, value});
      commands.push_back(std::move(set));
    }
  commands.push_back({"SET", kInitialized, "1"});
  commands.push_back({"EXEC"});
  TRY_DONE(asked(config_, commands, RedisIntention::writes, call));
  notes.push_back("CONFIG_DB was empty, and has now what a switch begins with");
  return Done{};
}

// A cable may be added to a switch of a twin that is up.
Result<Done> SwitchDatabases::add_ports(ConfigDb& config, const std::vector<std::string>& ports,
                                        const Call& call) {
  std::vector<RowWrite> rows;
  for (const std::string& port : ports) {
    if (config.find("PORT", port) != nullptr) continue;
    std::size_t number = config.tables["PORT"].size();
    while (has_lanes(config, first_port_row(number).at("lanes"))) ++number;
    config.tables["PORT"][port] = first_port_row(number);
    rows.push_back({"PORT", port, std::nullopt, first_port_row(number)});
  }
  return rows.empty() ? Result<Done>(Done{}) : store_.write(rows, call);
}

Result<Done> SwitchDatabases::begin_reports(const Call& call) {
  TRY(const std::string run_id, redis_run_id(state_.connection, call));
  if (run_id == run_id_) return Done{};
  const RedisCommand flush[] = {{"FLUSHDB"}};
  for (Reporting* const one : {&appl_, &state_}) {
    TRY_DONE(asked(one->connection, flush, RedisIntention::writes, call));
    one->rows.clear();
  }
  run_id_ = run_id;
  return Done{};
}

Result<Done> SwitchDatabases::report_appl(const ReportedRows& rows, const Call& call) {
  return report(appl_, rows, call);
}
Result<Done> SwitchDatabases::report_state(const ReportedRows& rows, const Call& call) {
  return report(state_, rows, call);
}

Result<Done> SwitchDatabases::report(Reporting& reporting, const ReportedRows& rows, const Call& call) {
  const std::vector<RedisCommand> commands = commands_between(reporting.rows, rows);
  if (commands.empty()) return Done{};
  TRY_DONE(asked(reporting.connection, commands, RedisIntention::writes, call));
  reporting.rows = rows;
  return Done{};
}

}  // namespace lockstep::sonic
