// DatabaseConfig: where a switch's databases are: SONiC's database_config.json, and on a switch with several
// ASICs database_global.json, which names one such file for each of its network namespaces.
//
// Promises: reads regular files of at most kDatabaseFileBytes; each error names the file, and the database or
// Redis instance at fault. Unknown fields are ignored: SONiC adds some with each release.
// Refuses (invalid_spec): an instance without unix socket and without address, a database of an unknown
// instance, without separator, or with an id that is no integer from 0; two databases in one, if Lockstep
// uses one of them (SONiC's own file shares id 5 between PFC_WD_DB and FLEX_COUNTER_DB); a separator of
// CONFIG_DB other than |, which its keys in config_db.json have as well; a namespace that is named twice. A
// missing or unreadable file is transient: SONiC writes it while it starts.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/sonic/redis_connection.hpp"
#include "specs/model/result.hpp"

namespace lockstep::sonic {

// A choice: SONiC's have 3 KiB.
inline constexpr std::size_t kDatabaseFileBytes = 1U << 20;
inline constexpr std::string_view kDatabaseConfigFile = "/var/run/redis/sonic-db/database_config.json";
inline constexpr std::string_view kDatabaseGlobalFile = "/var/run/redis/sonic-db/database_global.json";

struct SonicDatabase {
  int id = 0;             // of the database in its Redis
  std::string separator;  // between table and key
  std::string instance;   // the name of its Redis
  RedisServer server;     // the same; by its unix socket if it has one
};

struct DatabaseConfig {
  std::string file;
  std::map<std::string, SonicDatabase, std::less<>> databases;  // by name: "CONFIG_DB"

  // invalid_spec: the file has no such database.
  Result<SonicDatabase> find(std::string_view name) const;
};

Result<DatabaseConfig> read_database_config(const std::string& file);

struct AsicDatabases {
  std::string network_namespace;  // "asic0"; empty: the host's own
  std::string container;          // of a DPU's databases; mostly empty
  DatabaseConfig config;
};
// In the order of the file.
Result<std::vector<AsicDatabases>> read_database_global(const std::string& file);
// Refuses (unsupported) a switch with several ASICs, by the database_global.json beside that file; where
// there is none, it has one.
Result<Done> is_of_one_asic(const std::string& database_config);

}  // namespace lockstep::sonic
