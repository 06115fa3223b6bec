// ConfigDb: SONiC's configuration database CONFIG_DB as a value: tables of rows of fields, each a text or a
// list of texts. Its forms are the file config_db.json, and in Redis one hash of texts for each row.
//
// Promises: parsing what config_db_json() prints gives the same value, and so does a row through its Redis
// form. What SONiC's own ConfigDBConnector accepts and changes is changed in the same way: an integer without
// quotes becomes its text; the field NULL, with which Redis holds a row without fields, is left out; an empty
// list is read back from Redis as a list of one empty text; a table without rows is none. Refuses
// (invalid_spec), naming table, key and field: what would not come back from Redis as it was written (a comma
// in a list's text, a field that ends in @), and what SONiC would write as Python's word for it: true, false,
// null, fractions, objects. Refuses keys written twice, and bytes that are not UTF-8 or zero.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep::sonic {

using ConfigList = std::vector<std::string>;
using ConfigField = std::variant<std::string, ConfigList>;
using ConfigRow = std::map<std::string, ConfigField, std::less<>>;  // by field
using ConfigTable = std::map<std::string, ConfigRow, std::less<>>;  // by key: "Ethernet0|3-4"

struct ConfigDb {
  std::map<std::string, ConfigTable, std::less<>> tables;

  // Null: there is no such row.
  const ConfigRow* find(std::string_view table, std::string_view key) const;
  bool operator==(const ConfigDb&) const = default;
};

// The file config_db.json.
Result<ConfigDb> parse_config_db(std::string_view text);
std::string config_db_json(const ConfigDb& config);

// What a switch is, by its DEVICE_METADATA: "model" (hwsku) and "platform".
std::map<std::string, std::string> facts_of(const ConfigDb& config);

// What Redis holds: the hash TABLE|key with these fields.
using RedisHash = std::map<std::string, std::string, std::less<>>;
std::string redis_name(std::string_view table, std::string_view key);
// Table and key of such a name; none: not of a row (CONFIG_DB_INITIALIZED).
std::optional<std::pair<std::string, std::string>> row_of_redis_name(std::string_view name);
Result<RedisHash> redis_hash(const ConfigRow& row);
Result<ConfigRow> row_of_redis_hash(const RedisHash& hash);

}  // namespace lockstep::sonic
