#include "drivers/sonic/sonic_counters.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "drivers/sonic/counter_values.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

constexpr std::size_t kNameBytes = 80;  // of a name in a report

// "oid:0x15000000000357" (sai_serialize_object_id of sonic-sairedis).
bool is_oid(std::string_view text) {
  constexpr std::string_view kPrefix = "oid:0x";
  constexpr std::size_t kDigitsMax = 16;
  if (!text.starts_with(kPrefix)) return false;
  text.remove_prefix(kPrefix.size());
  return !text.empty() && text.size() <= kDigitsMax &&
         text.find_first_not_of("0123456789abcdefABCDEF") == text.npos;
}

// Port and scope of a name in a map: "Ethernet0:3" of a queue; none: it is no such name.
std::optional<CounterId> object_of(const CounterNameMap& map, const std::string& name) {
  if (name.empty()) return std::nullopt;
  const std::string scope(map.scope);
  if (map.kind == CountedKind::port) return CounterId{name, scope};
  if (map.kind == CountedKind::pool) return CounterId{"", scope + "[" + name + "]"};
  const std::size_t colon = name.rfind(':');
  if (colon == name.npos || colon == 0 || colon + 1 == name.size()) return std::nullopt;
  const std::string number = name.substr(colon + 1);
  if (number.find_first_not_of("0123456789") != number.npos) return std::nullopt;
  return CounterId{name.substr(0, colon), scope + "[" + number + "]"};
}

const CounterNameMap& name_map_of(CountedKind kind) {
  return counter_name_maps()[static_cast<std::size_t>(kind)];
}

// Rows by name; the error is a text, as it makes groups unknown. Cancelled and so on end the reading.
Result<std::string> read_gate_rows(RedisConnection& connection, const std::vector<std::string>& names,
                                   std::map<std::string, RedisHash, std::less<>>& out, const Call& call) {
  std::vector<RedisCommand> commands;
  for (const std::string& name : names) commands.push_back({"HGETALL", name});
  auto replies = connection.send(commands, RedisIntention::asks, call);
  if (!replies) {
    if (call.must_end(std::chrono::steady_clock::now()) || replies.error().kind == ErrorKind::cancelled)
      return std::move(replies.error());
    return replies.error().text();
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto hash = redis_hash_in(names[i], (*replies)[i]);
    if (!hash) return hash.error().text();
    if (!hash->empty()) out.emplace(names[i], *std::move(hash));
  }
  return std::string();
}

}  // namespace

SonicCounters::SonicCounters(const SonicDatabase& counters, const SonicDatabase& config,
                             const SonicDatabase& state)
    : counters_(counters.server, counters.id),
      config_(config.server, config.id),
      state_(state.server, state.id),
      separator_(counters.separator) {}

Result<SonicCounters> SonicCounters::of(const DatabaseConfig& config) {
  TRY(const SonicDatabase counters, config.find("COUNTERS_DB"));
  TRY(const SonicDatabase settings, config.find("CONFIG_DB"));
  TRY(const SonicDatabase state, config.find("STATE_DB"));
  return SonicCounters(counters, settings, state);
}

std::uint64_t SonicCounters::round_trips() const {
  return counters_.round_trips() + config_.round_trips() + state_.round_trips();
}

std::vector<RedisCommand> SonicCounters::map_commands() {
  std::vector<RedisCommand> commands{{"INFO", "server"}};
  for (const CounterNameMap& map : counter_name_maps()) commands.push_back({"HGETALL", std::string(map.map)});
  return commands;
}

Result<SonicCounters::Maps> SonicCounters::maps_of(const std::vector<RedisReply>& replies, std::size_t from) {
  Maps maps;
  TRY(maps.run_id, run_id_in(replies[from]));
  for (const CounterNameMap& map : counter_name_maps()) {
    TRY(RedisHash entries, redis_hash_in(std::string(map.map), replies[++from]));
    maps.entries.push_back(std::move(entries));
  }
  return maps;
}

Result<std::vector<SonicCounters::Named>> SonicCounters::named_objects(const Maps& maps,
                                                                       CounterReading& out) {
  std::vector<Named> objects;
  for (const CounterNameMap& map : counter_name_maps()) {
    for (const auto& [name, oid] : maps.entries[static_cast<std::size_t>(map.kind)]) {
      auto id = object_of(map, name);
      const bool is_valid = id.has_value() && is_oid(oid);
      if (is_valid)
        objects.push_back({map.kind, *std::move(id), oid});
      else if (!name.empty() || !oid.empty())  // orchagent leaves an empty pair in maps (portsorch.cpp)
        out.unreadable.push_back({CounterId{id ? id->port : "", ""},
                                  std::string(map.map) + " has '" + printable(name, kNameBytes) + "' = '" +
                                      printable(oid, kNameBytes) + "', which names no object"});
    }
  }
  const auto is_port = [](const Named& one) { return one.kind == CountedKind::port; };
  if (out.unreadable.empty() && std::ranges::none_of(objects, is_port))
    return Error{
        ErrorKind::transient,
        "COUNTERS_DB has no ports (COUNTERS_PORT_NAME_MAP): SONiC is starting, or orchagent is down"};
  if (objects.size() > kCountedObjects)
    return Error{ErrorKind::refused, "COUNTERS_DB names " + std::to_string(objects.size()) +
                                         " objects; at most " + std::to_string(kCountedObjects) +
                                         " can be read"};
  return objects;
}

void SonicCounters::take_rows(const Named& object, const std::vector<RedisReply>& replies, std::size_t from,
                              CounterReading& out) const {
  RedisHash polled;
  for (const CounterTable table : name_map_of(object.kind).tables) {
    const std::string name = std::string(to_string(table)) + separator_ + object.oid;
    auto hash = redis_hash_in(name, replies[from++]);
    if (!hash) {
      out.unreadable.push_back({CounterId{object.id.port, object.id.name}, hash.error().text()});
      continue;
    }
    take_counters(object.id, object.oid, {table, *hash, table == CounterTable::counters ? *hash : polled},
                  out);
    if (table != CounterTable::counters) continue;
    CountedObject& counted = out.objects[object.id];
    counted.object = object.oid;
    if (hash->empty())
      counted.missing =
          std::string(name_map_of(object.kind).map) + " names " + object.oid + ", which has no row " + name;
    polled = *std::move(hash);
  }
}

Result<bool> SonicCounters::read_values(const Maps& maps, const std::vector<Named>& objects,
                                        CounterReading& out, const Call& call) {
  for (std::size_t first = 0; first < objects.size(); first += kObjectsAtOnce) {
    const std::size_t end = std::min(first + kObjectsAtOnce, objects.size());
    std::vector<RedisCommand> commands;
    for (std::size_t i = first; i < end; ++i)
      for (const CounterTable table : name_map_of(objects[i].kind).tables)
        commands.push_back({"HGETALL", std::string(to_string(table)) + separator_ + objects[i].oid});
    const std::size_t values = commands.size();
    const bool is_last = end == objects.size();
    if (is_last) std::ranges::move(map_commands(), std::back_inserter(commands));
    TRY(const auto replies, counters_.send_next(commands, RedisIntention::asks, call));
    for (std::size_t i = first, at = 0; i < end; ++i) {
      take_rows(objects[i], replies, at, out);
      at += name_map_of(objects[i].kind).tables.size();
    }
    if (!is_last) continue;
    TRY(const Maps now, maps_of(replies, values));
    return now == maps;
  }
  return true;
}

Result<std::vector<CounterGroup>> SonicCounters::read_groups(const std::vector<Named>& objects,
                                                             const Call& call) {
  std::vector<std::string> ports;
  for (const Named& one : objects)
    if (one.kind == CountedKind::port) ports.push_back(one.id.port);
  StoredGates stored;
  TRY(stored.config_error, read_gate_rows(config_, counter_gate_rows(ports), stored.config, call));
  TRY(stored.state_error, read_gate_rows(state_, counter_capability_rows(), stored.capabilities, call));
  return counter_groups_of(stored);
}

Result<CounterReading> SonicCounters::read(const Call& call) {
  const std::vector<RedisCommand> commands = map_commands();
  for (int tries = 0; tries < kReadingTries; ++tries) {
    CounterReading out;
    TRY(const auto replies, counters_.send(commands, RedisIntention::asks, call));
    TRY(const Maps maps, maps_of(replies, 0));
    TRY(const std::vector<Named> objects, named_objects(maps, out));
    TRY(out.groups, read_groups(objects, call));
    out.keeper = maps.run_id;
    out.at = std::chrono::system_clock::now();
    out.moment = std::chrono::steady_clock::now();
    TRY(const bool is_same, read_values(maps, objects, out, call));
    if (is_same) return out;
  }
  return Error{
      ErrorKind::transient,
      "the names of COUNTERS_DB change while they are read: the switch is building its counters anew"};
}

}  // namespace lockstep::sonic
