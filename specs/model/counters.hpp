// Counters: the vocabulary of what devices count: one name for one meaning, whether a switch or a NIC counts
// it. `port/pfc[3]/rx-pauses` is SAI_PORT_STAT_PFC_3_RX_PKTS of a SONiC switch and rx_prio3_pause of mlx5.
//
// Promises: a row for each counter that a driver reads, and no others (tests/unit/linux, tests/unit/sonic). A
// name is a path of words in lower case; [#] stands for a number (a queue, a priority), [*] for the name of a
// buffer pool. rx and tx are as the counting port sees them: what a switch receives, a NIC has sent. Two
// counters have one name only if they count the same events in the same unit: a similar one has a row of its
// own. Refuses nothing: a name without a row is no counter (find_counter).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

enum class CounterKind : std::uint8_t {
  count,      // only grows, until it is reset
  gauge,      // as it is now
  watermark,  // the highest since it was cleared
};

enum class CounterUnit : std::uint8_t {
  packets,
  frames,
  bytes,
  bits,
  symbols,
  codewords,
  events,
  microseconds,
  bytes_per_second,
  packets_per_second,
  ratio,
  percent,
  yes_or_no,  // 1 or 0
};
std::string_view to_string(CounterKind kind);
std::string_view to_string(CounterUnit unit);

struct CounterRow {
  std::string_view name;  // "queue[#]/ecn-marked-packets"
  CounterUnit unit;
  CounterKind kind;
  std::string_view says;  // what it counts
};

std::span<const CounterRow> counter_rows();

// The row of a counter ("queue[3]/bytes") or of its pattern; null: there is none.
const CounterRow* find_counter(std::string_view name);

// "queue[#]/bytes" and "3": "queue[3]/bytes". A name without [#] and [*] stays as it is.
std::string counter_name(std::string_view pattern, std::string_view key);

// The part of a device that a counter belongs to: "queue[3]" of "queue[3]/bytes", else "port" and so on.
std::string_view counter_scope(std::string_view name);

}  // namespace lockstep
