#include "drivers/sonic/database_config.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "specs/files/read_file.hpp"
#include "specs/model/bounded_json.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 5> kUsed{"APPL_DB", "ASIC_DB", "CONFIG_DB", "COUNTERS_DB", "STATE_DB"};
constexpr std::size_t kFileDepth = 8;        // the file, its groups, and what is in them are 3
constexpr std::size_t kEntryNameBytes = 80;  // of a name in an error
constexpr int kPortMax = 65535;

std::string entry_named(std::string_view name) { return "'" + printable(name, kEntryNameBytes) + "'"; }

Error wrong_file(const std::string& what) { return Error{ErrorKind::invalid_spec, what}; }

Result<Json> json_of_file(const std::string& file) {
  const FileText text = read_named(file, kDatabaseFileBytes);
  switch (text.outcome) {
    case FileText::Outcome::read: break;
    case FileText::Outcome::missing: return Error{ErrorKind::transient, text.why};
    default: return wrong_file(text.why);
  }
  TRY(Json json, parse_bounded_json(text.text, {.depth = kFileDepth}));
  if (!json.is_object()) return wrong_file("not an object");
  return json;
}

// The object `name` of the file.
Result<const Json*> group(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_object())
    return wrong_file(std::string("there is no object ") + name);
  for (const auto& [of, one] : found->items())
    if (!one.is_object()) return wrong_file(std::string(name) + ": " + entry_named(of) + " is not an object");
  return &*found;
}

// Missing: empty.
Result<std::string> text_field(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return std::string();
  if (!found->is_string()) return wrong_file(std::string(name) + " is not a text");
  return found->get<std::string>();
}

Result<int> integer_field(const Json& object, const char* name, int most) {
  const auto found = object.find(name);
  if (found == object.end()) return wrong_file(std::string("there is no ") + name);
  const std::string limits = "an integer from 0 to " + std::to_string(most);
  if (!found->is_number_integer()) return wrong_file(std::string(name) + " is not " + limits);
  if (found->is_number_unsigned()) {
    const auto value = found->get<std::uint64_t>();
    if (value <= static_cast<std::uint64_t>(most)) return static_cast<int>(value);
  }
  return wrong_file(std::string(name) + " is " + found->dump() + ", and not " + limits);
}

Result<RedisServer> server_of(const Json& json) {
  RedisServer server;
  TRY(server.socket_path, text_field(json, "unix_socket_path"));
  TRY(server.host, text_field(json, "hostname"));
  if (json.contains("port")) {
    TRY(const int port, integer_field(json, "port", kPortMax));
    server.port = static_cast<std::uint16_t>(port);
  }
  if (server.socket_path.empty() && (server.host.empty() || server.port == 0))
    return wrong_file("neither unix_socket_path nor hostname and port");
  return server;
}

using Servers = std::map<std::string, RedisServer, std::less<>>;

Result<SonicDatabase> database_of(const std::string& name, const Json& json, const Servers& servers) {
  SonicDatabase database;
  TRY(database.id, integer_field(json, "id", std::numeric_limits<int>::max()));
  TRY(database.separator, text_field(json, "separator"));
  if (database.separator.empty()) return wrong_file("there is no separator");
  if (name == "CONFIG_DB" && database.separator != "|")
    return wrong_file("the separator is " + entry_named(database.separator) + ", and must be |");
  TRY(database.instance, text_field(json, "instance"));
  const auto server = servers.find(database.instance);
  if (server == servers.end())
    return wrong_file("there is no Redis instance " + entry_named(database.instance));
  database.server = server->second;
  return database;
}

bool is_used(std::string_view name) { return std::ranges::find(kUsed, name) != kUsed.end(); }

Result<Done> check_apart(const DatabaseConfig& config) {
  std::map<std::pair<std::string, int>, std::vector<std::string>> names;
  for (const auto& [name, database] : config.databases)
    names[{database.instance, database.id}].push_back(name);
  for (const auto& [place, same] : names)
    if (same.size() > 1 && std::ranges::any_of(same, is_used))
      return wrong_file("databases " + entry_named(same[0]) + " and " + entry_named(same[1]) +
                        " have the same id " + std::to_string(place.second) + " of Redis instance " +
                        entry_named(place.first));
  return Done{};
}

Result<DatabaseConfig> config_of(const Json& json) {
  TRY(const Json* const instances, group(json, "INSTANCES"));
  TRY(const Json* const databases, group(json, "DATABASES"));
  Servers servers;
  for (const auto& [name, one] : instances->items()) {
    auto server = server_of(one);
    if (!server) return wrap("Redis instance " + entry_named(name), std::move(server.error()));
    servers.emplace(name, *std::move(server));
  }
  DatabaseConfig config;
  for (const auto& [name, one] : databases->items()) {
    auto database = database_of(name, one, servers);
    if (!database) return wrap("database " + entry_named(name), std::move(database.error()));
    config.databases.emplace(name, *std::move(database));
  }
  TRY_DONE(check_apart(config));
  return config;
}

Result<AsicDatabases> asic_of(const std::string& folder, const Json& json) {
  if (!json.is_object()) return wrong_file("an entry of INCLUDES is not an object");
  AsicDatabases asic;
  TRY(asic.network_namespace, text_field(json, "namespace"));
  TRY(asic.container, text_field(json, "container_name"));
  TRY(const std::string include, text_field(json, "include"));
  if (include.empty()) return wrong_file("an entry of INCLUDES has no include");
  const std::filesystem::path file =
      std::filesystem::path(folder) / include;  // an absolute one stays as it is
  TRY(asic.config, read_database_config(file.lexically_normal().string()));
  return asic;
}

Result<std::vector<AsicDatabases>> asics_of(const std::string& file) {
  TRY(const Json json, json_of_file(file));
  const auto includes = json.find("INCLUDES");
  if (includes == json.end() || !includes->is_array()) return wrong_file("there is no list INCLUDES");
  constexpr std::size_t kMost = 256;  // a choice: a chassis line card has a few ASICs, and eight DPUs
  if (includes->size() > kMost) return wrong_file("INCLUDES has more than 256 entries");
  const std::string folder = std::filesystem::path(file).parent_path().string();
  std::vector<AsicDatabases> asics;
  std::set<std::pair<std::string, std::string>> known;
  for (const Json& one : *includes) {
    TRY(AsicDatabases asic, asic_of(folder, one));
    if (!known.emplace(asic.network_namespace, asic.container).second)
      return wrong_file("INCLUDES has namespace " + entry_named(asic.network_namespace) + " twice");
    asics.push_back(std::move(asic));
  }
  if (asics.empty()) return wrong_file("INCLUDES is empty");
  return asics;
}

}  // namespace

Result<SonicDatabase> DatabaseConfig::find(std::string_view name) const {
  const auto found = databases.find(name);
  if (found == databases.end())
    return wrong_file(printable(file) + ": there is no database " + entry_named(name));
  return found->second;
}

Result<DatabaseConfig> read_database_config(const std::string& file) {
  const auto read = [&]() -> Result<DatabaseConfig> {
    TRY(const Json json, json_of_file(file));
    return config_of(json);
  };
  auto config = read();
  if (!config) return wrap(printable(file), std::move(config.error()));
  config->file = file;
  return config;
}

Result<std::vector<AsicDatabases>> read_database_global(const std::string& file) {
  auto asics = asics_of(file);
  if (!asics) return wrap(printable(file), std::move(asics.error()));
  return asics;
}

Result<Done> is_of_one_asic(const std::string& database_config) {
  namespace fs = std::filesystem;
  const fs::path global = fs::path(database_config).parent_path() / fs::path(kDatabaseGlobalFile).filename();
  std::error_code unknown;
  if (!fs::exists(global, unknown)) return Done{};
  TRY(const std::vector<AsicDatabases> asics, read_database_global(global.string()));
  const auto is_asic = [](const AsicDatabases& one) { return !one.network_namespace.empty(); };
  if (const auto found = std::ranges::find_if(asics, is_asic); found != asics.end())
    return Error{ErrorKind::unsupported, printable(global.string()) + ": a switch with several ASICs (" +
                                             printable(found->network_namespace) +
                                             "), each with a CONFIG_DB of "
                                             "its own, can't be driven yet"};
  return Done{};
}

}  // namespace lockstep::sonic
