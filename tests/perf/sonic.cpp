// How fast SONiC's configurations are judged, planned, read and written, side by side with the plain way:
// whole validation of each state, and one command a round trip. Prints; judges nothing.
// perf_sonic [FOLDER OF YANG MODELS]
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>

#include "drivers/sonic/config_plan.hpp"
#include "drivers/sonic/config_store.hpp"
#include "drivers/sonic/transactions.hpp"
#include "drivers/sonic/yang_models.hpp"
#include "tests/unit/sonic/redis_process.hpp"

namespace lockstep::sonic {
namespace {

std::string ethernet(int number) { return "Ethernet" + std::to_string(number * 8); }

// A leaf with a row of every table of a lossless fabric for each of its ports.
ConfigDb leaf(int ports, const char* roce_dscp) {
  ConfigDb config;
  const auto add = [&config](const char* table, const std::string& key, ConfigRow row) {
    config.tables[table][key] = std::move(row);
  };
  add("DEVICE_METADATA", "localhost", {{"hostname", "leaf0"}, {"type", "LeafRouter"}, {"bgp_asn", "65001"}});
  ConfigRow dscps, same, cables;
  for (int i = 0; i < 64; ++i) dscps[std::to_string(i)] = "0";
  dscps[roce_dscp] = "3";
  for (int i = 0; i < 8; ++i) same[std::to_string(i)] = std::to_string(i);
  add("DSCP_TO_TC_MAP", "ROCE", dscps);
  for (const char* const table : {"TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE"})
    add(table, "ROCE", same);
  add("SCHEDULER", "half", {{"type", "DWRR"}, {"weight", "50"}});
  add("WRED_PROFILE", "ROCE",
      {{"ecn", "ecn_all"}, {"green_min_threshold", "150000"}, {"green_max_threshold", "1500000"}});
  add("BUFFER_POOL", "in", {{"type", "ingress"}, {"mode", "dynamic"}, {"size", "40000000"}});
  add("BUFFER_PROFILE", "lossless",
      {{"pool", "in"}, {"size", "53248"}, {"xon", "19456"}, {"xoff", "33792"}, {"dynamic_th", "0"}});
  add("PFC_WD", "GLOBAL", {{"POLL_INTERVAL", "200"}});
  for (int i = 0; i < ports; ++i) {
    const std::string port = ethernet(i);
    add("PORT", port,
        {{"lanes", std::to_string(i)},
         {"speed", "400000"},
         {"mtu", "9216"},
         {"admin_status", "up"},
         {"fec", "rs"}});
    add("BUFFER_PG", port + "|3", {{"profile", "lossless"}});
    for (int queue = 0; queue < 8; ++queue)
      add("QUEUE", port + "|" + std::to_string(queue), {{"scheduler", "half"}});
    config.tables["QUEUE"][port + "|3"]["wred_profile"] = "ROCE";
    add("PORT_QOS_MAP", port,
        {{"dscp_to_tc_map", "ROCE"},
         {"tc_to_queue_map", "ROCE"},
         {"tc_to_pg_map", "ROCE"},
         {"pfc_to_queue_map", "ROCE"},
         {"pfc_enable", "3"}});
    add("PFC_WD", port, {{"action", "drop"}, {"detection_time", "200"}, {"restoration_time", "400"}});
    add("INTERFACE", port, {});
    add("INTERFACE", port + "|10." + std::to_string(i / 128) + ".0." + std::to_string(i % 128 * 2) + "/31",
        {});
    cables[port] = "5m";
  }
  add("CABLE_LENGTH", "AZURE", cables);
  return config;
}

// The ports alone.
ConfigDb bare(const ConfigDb& of) {
  ConfigDb config;
  for (const char* const table : {"PORT", "DEVICE_METADATA"}) config.tables[table] = of.tables.at(table);
  return config;
}

template <class Act>
double milliseconds(Act act) {
  const auto begin = std::chrono::steady_clock::now();
  act();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

void plans(const YangModels& models) {
  for (const int ports : {64, 512}) {
    const ConfigDb from = leaf(ports, "26");
    const double whole = milliseconds([&] { (void)models.check(from); });
    std::unique_ptr<StateCheck> check;
    const double begun = milliseconds([&] { check = check_changed_rows(models, bare(from)); });
    std::size_t moves = 0;
    const double planned = milliseconds([&] { moves = plan_config(*check, from)->moves.size(); });
    fmt::print(
        "{} ports: whole validation {:.1f} ms; from bare ports to full QoS {} moves, begun in {:.1f} ms, "
        "planned in {:.1f} ms\n",
        ports, whole, moves, begun, planned);
    ConfigDb other = from;
    for (int i = 0; i < 100 && i < ports; ++i)
      other.tables["PFC_WD"][ethernet(i)]["restoration_time"] = "500";
    check = check_changed_rows(models, from);
    const double hundred = milliseconds([&] { moves = plan_config(*check, other)->moves.size(); });
    check = check_whole_states(models, from);
    const ConfigMove one{"PFC_WD", ethernet(0), *other.find("PFC_WD", ethernet(0))};
    const double single = milliseconds([&] { (void)check->attempt(one); });
    fmt::print(
        "{} ports: {} moves, each state judged: {:.1f} ms row by row; {:.0f} ms if each is judged whole "
        "({:.0f} times as long)\n",
        ports, moves, hundred, single * static_cast<double>(moves),
        single * static_cast<double>(moves) / hundred);
  }
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& one) {
    return static_cast<double>(one.tv_sec) + 1e-6 * static_cast<double>(one.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Several servers stand for a fleet: each is read as often as it takes.
void stores() {
  constexpr int kServers = 8;
  constexpr int kSwitches = 640;
  const ConfigDb config = leaf(64, "26");
  std::vector<ConfigMove> moves;
  for (const auto& [table, rows] : config.tables)
    for (const auto& [key, row] : rows) moves.push_back({table, key, row});
  const auto transactions = transactions_of(moves, {});
  std::vector<std::unique_ptr<RedisProcess>> servers;
  std::vector<std::unique_ptr<ConfigStore>> all;
  double written = 0;
  std::uint64_t trips = 0;
  for (int i = 0; i < kServers; ++i) {
    servers.push_back(std::make_unique<RedisProcess>());
    servers.back()->cli({"SET", "CONFIG_DB_INITIALIZED", "1"});
    all.push_back(std::make_unique<ConfigStore>(servers.back()->server(), kConfigDatabase));
    written += milliseconds([&] {
      for (const auto& rows : transactions)
        if (!all.back()->write(rows, patient())) std::abort();
    });
    trips = all.back()->connection().round_trips();
  }
  fmt::print("64 ports, {} rows: written in {:.1f} ms, {} round trips, {} transactions\n", moves.size(),
             written / kServers, trips, transactions.size());
  const double begin = cpu_seconds();
  const double wall = milliseconds([&] {
    for (int i = 0; i < kSwitches; ++i)
      if (!all[static_cast<std::size_t>(i % kServers)]->read(patient())) std::abort();
  });
  fmt::print("CONFIG_DB of {} switches ({} real servers in turn): {:.2f} s of CPU here, {:.2f} s\n",
             kSwitches, kServers, cpu_seconds() - begin, wall / 1000);
  RedisConnection one(servers[0]->server(), kConfigDatabase);
  const double single = milliseconds([&] {
    for (const ConfigMove& move : moves) {
      const RedisCommand ask[] = {{"HGETALL", redis_name(move.table, move.key)}};
      if (!one.send(ask, RedisIntention::asks, patient())) std::abort();
    }
  });
  const double piped = milliseconds([&] { (void)all[0]->read(patient()); });
  fmt::print(
      "one switch: {:.1f} ms, and {:.1f} ms by a client that asks for one row at a time ({:.1f} times)\n",
      piped, single, single / piped);
}

int measure(const std::string& folder) {
  const Result<YangModels> models = YangModels::load(folder);
  if (models)
    plans(*models);
  else
    fmt::print("plans are not measured: {}\n", models.error().text());
  if (has_redis())
    stores();
  else
    fmt::print("stores are not measured: no redis-server here\n");
  return 0;
}

}  // namespace
}  // namespace lockstep::sonic

int main(int argc, char** argv) {
  return lockstep::sonic::measure(argc > 1 ? argv[1] : "/usr/local/yang-models");
}
