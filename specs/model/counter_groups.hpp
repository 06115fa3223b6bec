// Groups of counters that a switch reads or leaves alone as a whole, by the names that CounterReading::groups
// has (counter_reading.hpp), and how SONiC calls and limits them.
//
// Promises: a row for each group that one setting of a switch turns on, in the order of CountedGroup. A group
// that is a choice for each port (pauses that are estimated: PFC_WD, pfc_stat_history) is none. Intervals are
// in ms, and are those that SONiC's own command accepts (sonic-utilities 691b1bbc, counterpoll/main.py): its
// models accept everything from 100 ms on, and reading faster costs the switch's CPU.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep {

enum class CountedGroup : std::uint8_t {
  port,
  port_buffer_drops,
  port_wred,
  queue,
  queue_ecn,
  queue_watermarks,
  group_drops,
  group_watermarks,
  pool_watermarks,
  watchdog,
};

struct CountedGroupRow {
  std::string_view name;       // "queue-ecn"
  std::string_view sonic;      // its row of FLEX_COUNTER_TABLE (sonic-flex_counter.yang)
  std::uint32_t least_ms = 0;  // 0: it has no interval of its own
  std::uint32_t most_ms = 0;

  constexpr bool has_interval() const { return most_ms != 0; }
};

inline constexpr std::array kCountedGroups{
    CountedGroupRow{"port", "PORT", 100, 30'000},
    CountedGroupRow{"port-buffer-drops", "PORT_BUFFER_DROP", 30'000, 300'000},
    CountedGroupRow{"port-wred", "WRED_ECN_PORT", 100, 30'000},
    CountedGroupRow{"queue", "QUEUE", 100, 30'000},
    CountedGroupRow{"queue-ecn", "WRED_ECN_QUEUE", 100, 30'000},
    CountedGroupRow{"queue-watermarks", "QUEUE_WATERMARK", 1000, 60'000},
    CountedGroupRow{"group-drops", "PG_DROP", 1000, 30'000},
    CountedGroupRow{"group-watermarks", "PG_WATERMARK", 1000, 60'000},
    CountedGroupRow{"pool-watermarks", "BUFFER_POOL_WATERMARK", 1000, 60'000},
    CountedGroupRow{"watchdog", "PFCWD"},  // read as often as the watchdog looks (PFC_WD|GLOBAL)
};

constexpr auto words(CountedGroup) {
  std::array<std::string_view, kCountedGroups.size()> out{};
  std::transform(kCountedGroups.begin(), kCountedGroups.end(), out.begin(),
                 [](const CountedGroupRow& one) { return one.name; });
  return out;
}

constexpr const CountedGroupRow& row_of(CountedGroup group) {
  return kCountedGroups[static_cast<std::size_t>(group)];
}

// Null: no group is called so.
constexpr const CountedGroupRow* find_counted_group(std::string_view name) {
  const auto* const found = std::find_if(kCountedGroups.begin(), kCountedGroups.end(),
                                         [name](const CountedGroupRow& one) { return one.name == name; });
  return found == kCountedGroups.end() ? nullptr : found;
}

}  // namespace lockstep
