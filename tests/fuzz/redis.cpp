// Replies of Redis, as bytes.
#include "drivers/sonic/config_db.hpp"
#include "drivers/sonic/counter_values.hpp"
#include "drivers/sonic/redis_protocol.hpp"
#include "tests/fuzz/parsers.hpp"

namespace lockstep::fuzzing {
namespace {

// A row of COUNTERS_DB, as if it were of a queue.
void count(const sonic::RedisHash& hash) {
  CounterReading reading;
  for (const sonic::CounterTable table :
       {sonic::CounterTable::counters, sonic::CounterTable::user_watermarks})
    sonic::take_counters({"Ethernet0", "queue[3]"}, "oid:0x1", {table, hash, {}}, reading);
  for (const auto& [id, counter] : reading.counters)
    must(find_counter(id.name) == counter.row &&
             counter.whole().has_value() != (counter.row->kind == CounterKind::gauge),
         "a counter has a name of the vocabulary, and a number of its kind");
  must(reading.counters.size() + reading.unreadable.size() <= 2 * hash.size(), "no field counts twice");
}

// The kinds and texts of all replies, read with the bytes cut here.
std::string replies_of(std::string_view input, std::size_t cut) {
  sonic::RedisReader reader;
  std::string out;
  for (const std::string_view piece : {input.substr(0, cut), input.substr(cut)}) {
    if (!reader.feed(piece)) return out;
    for (bool more = true; more;) {
      auto reply = reader.next();
      if (!reply) return out;
      more = reply->has_value();
      if (!more) continue;
      const auto& parts = (**reply).elements;
      out += std::to_string(static_cast<int>((**reply).kind)) + (**reply).text + std::to_string(parts.size());
      (void)sonic::redis_error("read", **reply);
      sonic::RedisHash hash;
      for (std::size_t i = 0; i + 1 < parts.size(); i += 2) hash.emplace(parts[i].text, parts[i + 1].text);
      count(hash);
      const Result<sonic::ConfigRow> row = sonic::row_of_redis_hash(hash);
      if (!row) continue;
      const Result<sonic::RedisHash> written = sonic::redis_hash(*row);
      must(!written || *sonic::row_of_redis_hash(*written) == *row, "a row that is written is read back");
    }
  }
  return out;
}

}  // namespace

void parse_redis(std::string_view input) {
  const std::string whole = replies_of(input, input.size());
  must(replies_of(input, input.size() / 2) == whole, "replies are the same however they are cut");
}

std::vector<std::string> seeds_of_redis() {
  return {"+OK\r\n:1\r\n$-1\r\n-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
          "*4\r\n$3\r\nmtu\r\n$4\r\n9100\r\n$8\r\nservers@\r\n$3\r\na,b\r\n",
          "*4\r\n$20\r\nSAI_QUEUE_STAT_BYTES\r\n$3\r\n1e3\r\n$13\r\nPFC_WD_STATUS\r\n$7\r\nstormed\r\n",
          "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n", "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\nx\r\n$4\r\nhset\r\n"};
}

}  // namespace lockstep::fuzzing
