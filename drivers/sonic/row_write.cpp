#include "drivers/sonic/row_write.hpp"

#include <set>
#include <utility>

#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

constexpr std::string_view kEmptyRow = "NULL";  // field and value of a row without fields
constexpr std::size_t kFieldNameBytes = 80;     // of a name in an error

std::string field_named(std::string_view name) { return "'" + printable(name, kFieldNameBytes) + "'"; }

// As it is read back from Redis.
Result<ConfigRow> read_back(const ConfigRow& row) {
  TRY(const RedisHash hash, redis_hash(row));
  return row_of_redis_hash(hash);
}

Result<StoredRowWrite> stored_write(const RowWrite& write) {
  StoredRowWrite stored{redis_name(write.table, write.key)};
  if (row_of_redis_name(stored.name) != std::pair{write.table, write.key})
    return Error{ErrorKind::invalid_spec, "no table, or a key is empty, or the table's name has |"};
  if (write.was) {
    TRY(stored.was, read_back(*write.was));
  }
  if (write.want) {
    TRY(stored.fields, redis_hash(*write.want));
    TRY(stored.want, row_of_redis_hash(stored.fields));
  }
  return stored;
}

}  // namespace

Result<std::vector<StoredRowWrite>> stored_writes(std::span<const RowWrite> writes) {
  std::vector<StoredRowWrite> all;
  std::set<std::string, std::less<>> names;
  for (const RowWrite& write : writes) {
    auto stored = stored_write(write);
    const std::string row = "row " + field_named(redis_name(write.table, write.key));
    if (!stored) return wrap(row, std::move(stored.error()));
    if (!names.insert(stored->name).second)
      return Error{ErrorKind::invalid_spec, row + " is written twice in one step"};
    all.push_back(*std::move(stored));
  }
  return all;
}

std::vector<RedisCommand> row_commands(const StoredRowWrite& write, const RedisHash& stored) {
  if (!write.want)
    return stored.empty() ? std::vector<RedisCommand>{} : std::vector<RedisCommand>{{"DEL", write.name}};
  RedisCommand set{"HSET", write.name};
  RedisCommand remove{"HDEL", write.name};
  for (const auto& [field, value] : write.fields) {
    const auto is = stored.find(field);
    if (is != stored.end() && is->second == value) continue;
    set.push_back(field);
    set.push_back(value);
  }
  for (const auto& [field, value] : stored) {
    if (write.fields.contains(field)) continue;
    // Beside other fields NULL means nothing, and is left as it was found.
    if (field == kEmptyRow && stored.size() > 1) continue;
    remove.push_back(field);
  }
  std::vector<RedisCommand> commands;
  if (set.size() > 2) commands.push_back(std::move(set));
  if (remove.size() > 2) commands.push_back(std::move(remove));
  return commands;
}

std::string difference(const std::optional<ConfigRow>& was, const std::optional<ConfigRow>& is) {
  if (!was && !is) return {};
  if (!was) return "another program has created it";
  if (!is) return "another program has deleted it";
  for (const auto& [field, value] : *was) {
    const auto now = is->find(field);
    if (now == is->end()) return "field " + field_named(field) + " is gone";
    if (now->second != value) return "field " + field_named(field) + " has changed";
  }
  for (const auto& [field, value] : *is)
    if (!was->contains(field)) return "field " + field_named(field) + " is new";
  return {};
}

}  // namespace lockstep::sonic
