// ConfigStore: SONiC's CONFIG_DB in one Redis: reads it, and writes rows of it in transactions.
//
// Promises: read() lists the keys (KEYS *, as SONiC's ConfigDBConnector does: the list of one moment, in one
// round trip; SCAN needs one for a thousand keys, and lists a key twice or late while others write), and
// reads kRowsAtOnce rows in each round trip. Each row is as it was at one moment, which is not the same for
// all rows. Keys that are no rows are in `unreadable` with the reason.
//
// write() writes all its rows in one transaction (WATCH, compare, MULTI, EXEC), in two round trips whatever
// their number. If another program writes one of them in between, the result is a conflict. After each error
// except unknown_outcome nothing has been written.
//
// settled() says what became of the rows after an unknown_outcome; that write changes nothing later. Its
// commands may still wait in a socket or a tunnel, so that read(), write() and settled() first have Redis
// close the lost connection, if it is still the same Redis (run_id). Only the same ConfigStore can do so:
// another one observes what Redis has executed so far.
//
// Refuses: to read or write before CONFIG_DB_INITIALIZED is set, and while it is 0, as SONiC sets it while it
// migrates the database (transient); to write more than kRowsPerWrite rows at once (invalid_spec).
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

// Redis 7.0 compares each key of a WATCH with all before it, and serves nobody meanwhile: 25 ms for 2,000
// keys, 600 ms for 10,000 (measured, 7.0.15).
inline constexpr std::size_t kRowsPerWrite = 2000;

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
