// RowWrite: one row of CONFIG_DB that is to be written, what it must be before, and the Redis commands that
// make the difference.
//
// Promises: the commands change only the fields that differ. A row that stays is never deleted and never
// empty, also between two of its commands: fields are set before others go. Two rows are equal if they mean
// the same to SONiC: the field NULL beside others and the order do not count, an empty list is one empty
// text. Differences name the row and the field and show no value, since CONFIG_DB has passwords. Refuses
// (invalid_spec): what no row can be in Redis (config_db.hpp), and a row that is named twice.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/redis_protocol.hpp"
#include "specs/model/result.hpp"

namespace lockstep::sonic {

struct RowWrite {
  std::string table;
  std::string key;
  std::optional<ConfigRow> was{};   // none: there was no such row
  std::optional<ConfigRow> want{};  // none: delete it
};

// The same in Redis' terms.
struct StoredRowWrite {
  std::string name;  // TABLE|key
  std::optional<ConfigRow> was{};
  std::optional<ConfigRow> want{};
  RedisHash fields{};  // of `want`
};
Result<std::vector<StoredRowWrite>> stored_writes(std::span<const RowWrite> writes);

// What changes the row `stored` (empty: there is none) to what is wanted; none: nothing differs.
std::vector<RedisCommand> row_commands(const StoredRowWrite& write, const RedisHash& stored);

// How a row differs from what it was, as the end of a sentence: "field 'mtu' has changed"; empty: it does
// not.
std::string difference(const std::optional<ConfigRow>& was, const std::optional<ConfigRow>& is);

}  // namespace lockstep::sonic
