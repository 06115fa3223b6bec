// ConfigStore: SONiC's CONFIG_DB in one Redis: reads it, and writes rows of it in transactions.
//
// Promises. read(): a list of keys (KEYS *, as SONiC's ConfigDBConnector does: it is the list of one moment,
// in one round trip; SCAN needs one for a thousand keys, and lists a key twice or late while others write),
// then kRowsAtOnce rows in each round trip. Each row is of one moment, the rows are not of the same one. What
// is no row is in `unreadable` with the reason.
// write(): all rows in one transaction (WATCH, compare, MULTI, EXEC), in two round trips whatever their
// number. Another program that writes between reading and EXEC makes it a conflict, and nothing is written.
// After an error other than unknown_outcome nothing has been written. settled(): after an unknown_outcome,
// what became of each row, and it stays so. The lost connection's commands may still be in Redis' socket:
// read(), write() and settled() first have Redis close that connection, if it is still the same Redis
// (run_id). A ConfigStore that is destroyed before leaves this to the next observation. Refuses: reading and
// writing before CONFIG_DB_INITIALIZED is there, and while it is 0, as SONiC sets it while it migrates the
// database (transient).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/redis_connection.hpp"
#include "drivers/sonic/row_write.hpp"

namespace lockstep::sonic {

// A choice: some 100 KB of replies, so that Redis serves others in between.
inline constexpr std::size_t kRowsAtOnce = 500;

struct UnreadableRow {
  std::string name;  // in Redis
  std::string why;   // "is a string, not a hash"
};

struct StoredConfig {
  ConfigDb config;
  std::vector<UnreadableRow> unreadable;  // in the order of names
};

enum class RowState : std::uint8_t { wanted, former, other };

class ConfigStore {
 public:
  ConfigStore(RedisServer server, int database) : connection_(std::move(server), database) {}

  Result<StoredConfig> read(const Call& call);
  // Conflict: a row is not what it was, by name and field. Refused: Redis does not write now, and why.
  Result<Done> write(std::span<const RowWrite> writes, const Call& call);
  // One state for each row, in order.
  Result<std::vector<RowState>> settled(std::span<const RowWrite> writes, const Call& call);

  const RedisConnection& connection() const { return connection_; }

 private:
  // Whose EXEC may still be executed.
  struct Unsettled {
    std::string run_id;  // of the Redis process
    std::int64_t client = 0;
  };

  Result<Done> end_unsettled(const Call& call);
  Result<Done> read_rows(std::span<const std::string> names, StoredConfig& read, const Call& call);
  Result<std::vector<RedisHash>> watched(std::span<const StoredRowWrite> writes, Unsettled& identity,
                                         const Call& call);
  Result<Done> commit(std::span<const StoredRowWrite> writes, const std::vector<RedisHash>& rows,
                      const Unsettled& identity, const Call& call);

  RedisConnection connection_;
  std::optional<Unsettled> unsettled_;
};

}  // namespace lockstep::sonic
