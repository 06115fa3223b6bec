// SonicCounters: reads the counters of a SONiC switch (one ASIC of it) from COUNTERS_DB, under the names of
// the vocabulary, with the state of their groups from CONFIG_DB and STATE_DB.
//
// Promises: changes nothing. OIDs are resolved with each reading, as they are not stable: the name maps are
// read before the values and again after them, in the same pipelines; if they or Redis' run_id differ, the
// reading begins again, so that no value stands under the name of another port. A reading is not of one
// moment: each row is, and the switch updates rows at its groups' intervals. Values are those of COUNTERS_DB:
// `sonic-clear counters` does not reset them (it keeps a copy to subtract). An object that the name maps have
// and COUNTERS does not is in `objects`, with the reason. What is no number is in `unreadable`: nothing is
// dropped. A watermark of 0 counts only if the switch has read it: watermarkorch writes 0 for each object,
// also for those that the ASIC does not measure. Groups whose state cannot be read are `unknown`.
// Refuses: a COUNTERS_DB without ports (transient: SONiC is starting), name maps that change in each of
// kReadingTries tries (transient), more than kCountedObjects objects (refused), a name map that is no hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "drivers/sonic/counter_gates.hpp"
#include "drivers/sonic/database_config.hpp"
#include "drivers/sonic/redis_connection.hpp"
#include "specs/model/counter_reading.hpp"

namespace lockstep::sonic {

// Choices: 512 ports with 20 queues and 8 priority groups are 15,000 objects; a restart of orchagent rebuilds
// the maps once.
inline constexpr std::size_t kCountedObjects = 60'000;
inline constexpr int kReadingTries = 3;
// Objects whose rows are read in one round trip: some 0.5 MB of replies. 64 ports with 8 queues and 8
// priority groups are 6 round trips, 1.6 MB and 27 ms, of which Redis works 5 (measured, 7.0.15); other
// numbers from 100 to 2,000 made no difference over a unix socket.
inline constexpr std::size_t kObjectsAtOnce = 500;

class SonicCounters {
 public:
  // invalid_spec: it lacks one of the databases.
  static Result<SonicCounters> of(const DatabaseConfig& config);
  SonicCounters(const SonicDatabase& counters, const SonicDatabase& config, const SonicDatabase& state);

  Result<CounterReading> read(const Call& call);

  // Of all three connections since it was made.
  std::uint64_t round_trips() const;

 private:
  // One entry of a name map.
  struct Named {
    CountedKind kind;
    CounterId id;  // port and scope
    std::string oid;
  };
  struct Maps {
    std::string run_id;
    std::vector<RedisHash> entries;  // in the order of counter_name_maps()
    bool operator==(const Maps&) const = default;
  };

  static std::vector<RedisCommand> map_commands();
  static Result<Maps> maps_of(const std::vector<RedisReply>& replies, std::size_t from);
  static Result<std::vector<Named>> named_objects(const Maps& maps, CounterReading& out);
  // Whether the maps were still the same after the values.
  Result<bool> read_values(const Maps& maps, const std::vector<Named>& objects, CounterReading& out,
                           const Call& call);
  void take_rows(const Named& object, const std::vector<RedisReply>& replies, std::size_t from,
                 CounterReading& out) const;
  Result<std::vector<CounterGroup>> read_groups(const std::vector<Named>& objects, const Call& call);

  RedisConnection counters_;
  RedisConnection config_;
  RedisConnection state_;
  std::string separator_;  // of COUNTERS_DB
};

}  // namespace lockstep::sonic
