#include "drivers/sonic/counter_names.hpp"

#include <array>
#include <map>
#include <utility>

#include "specs/model/counter_groups.hpp"

namespace lockstep::sonic {
namespace {

using Table = CounterTable;
using Group = SonicGroup;

constexpr Table kPortTables[] = {Table::counters, Table::rates};
constexpr Table kBufferTables[] = {Table::counters, Table::user_watermarks, Table::periodic_watermarks};
constexpr CounterNameMap kNameMaps[] = {
    {CountedKind::port, "COUNTERS_PORT_NAME_MAP", "port", kPortTables},
    {CountedKind::queue, "COUNTERS_QUEUE_NAME_MAP", "queue", kBufferTables},
    {CountedKind::group, "COUNTERS_PG_NAME_MAP", "group", kBufferTables},
    {CountedKind::pool, "COUNTERS_BUFFER_POOL_NAME_MAP", "pool", kBufferTables},
};

// The intervals are those of portsorch.cpp (*_POLLING_INTERVAL_MS) and bufferorch.cpp. The watchdog's is in
// PFC_WD|GLOBAL, and differs by platform otherwise.
// Those that specs can turn on have the names that specs give them.
constexpr SonicCounterGroup counted(Group group, std::uint32_t default_ms) {
  const CountedGroupRow& row = row_of(static_cast<CountedGroup>(group));
  return {group, row.name, row.sonic, default_ms};
}
static_assert(static_cast<std::size_t>(Group::pause_estimates) == kCountedGroups.size());

constexpr SonicCounterGroup kGroups[] = {
    counted(Group::port, 1000),
    counted(Group::port_buffer_drops, 60'000),
    counted(Group::port_wred, 1000),
    counted(Group::queue, 10'000),
    counted(Group::queue_ecn, 10'000),
    counted(Group::queue_watermarks, 60'000),
    counted(Group::group_drops, 10'000),
    counted(Group::group_watermarks, 60'000),
    counted(Group::pool_watermarks, 60'000),
    counted(Group::watchdog, 0),
    {Group::pause_estimates, "pause-estimates", row_of(CountedGroup::watchdog).sonic, 0},
};

constexpr SonicCounter kCounters[] = {
    // Ports
    {"SAI_PORT_STAT_IF_IN_OCTETS", "port/rx-bytes", Group::port},
    {"SAI_PORT_STAT_IF_OUT_OCTETS", "port/tx-bytes", Group::port},
    {"SAI_PORT_STAT_IF_IN_UCAST_PKTS", "port/rx-unicast-packets", Group::port},
    {"SAI_PORT_STAT_IF_OUT_UCAST_PKTS", "port/tx-unicast-packets", Group::port},
    {"SAI_PORT_STAT_IF_IN_DISCARDS", "port/rx-discards", Group::port},
    {"SAI_PORT_STAT_IF_OUT_DISCARDS", "port/tx-discards", Group::port},
    {"SAI_PORT_STAT_IF_IN_ERRORS", "port/rx-errors", Group::port},
    {"SAI_PORT_STAT_IF_OUT_ERRORS", "port/tx-errors", Group::port},
    {"SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS", "port/rx-oversize", Group::port},
    {"SAI_PORT_STAT_TRIM_PACKETS", "port/trimmed-packets", Group::port},
    {"SAI_PORT_STAT_PFC_#_RX_PKTS", "port/pfc[#]/rx-pauses", Group::port},
    {"SAI_PORT_STAT_PFC_#_TX_PKTS", "port/pfc[#]/tx-pauses", Group::port},
    {"SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES", "port/fec/correctable", Group::port},
    {"SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES", "port/fec/uncorrectable", Group::port},
    {"SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS", "port/fec/symbol-errors", Group::port},
    {"SAI_PORT_STAT_IF_IN_FEC_CORRECTED_BITS", "port/fec/corrected-bits", Group::port},
    {"SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S#", "port/fec/codewords[#]", Group::port},
    {"RX_BPS", "port/rx-bytes-per-second", Group::port, Table::rates},
    {"TX_BPS", "port/tx-bytes-per-second", Group::port, Table::rates},
    {"RX_PPS", "port/rx-packets-per-second", Group::port, Table::rates},
    {"TX_PPS", "port/tx-packets-per-second", Group::port, Table::rates},
    {"FEC_PRE_BER", "port/fec/pre-ber", Group::port, Table::rates},
    {"FEC_POST_BER", "port/fec/post-ber", Group::port, Table::rates},
    {"FEC_FLR", "port/fec/frame-loss", Group::port, Table::rates},
    {"FEC_FLR_PREDICTED", "port/fec/frame-loss-predicted", Group::port, Table::rates},
    {"SAI_PORT_STAT_IN_DROPPED_PKTS", "port/rx-buffer-drops", Group::port_buffer_drops},
    {"SAI_PORT_STAT_OUT_DROPPED_PKTS", "port/tx-buffer-drops", Group::port_buffer_drops},
    {"SAI_PORT_STAT_GREEN_WRED_DROPPED_PACKETS", "port/wred-drops-green", Group::port_wred, Table::counters,
     "PORT_COUNTER_CAPABILITIES|WRED_ECN_PORT_WRED_GREEN_DROP_COUNTER"},
    {"SAI_PORT_STAT_YELLOW_WRED_DROPPED_PACKETS", "port/wred-drops-yellow", Group::port_wred, Table::counters,
     "PORT_COUNTER_CAPABILITIES|WRED_ECN_PORT_WRED_YELLOW_DROP_COUNTER"},
    {"SAI_PORT_STAT_RED_WRED_DROPPED_PACKETS", "port/wred-drops-red", Group::port_wred, Table::counters,
     "PORT_COUNTER_CAPABILITIES|WRED_ECN_PORT_WRED_RED_DROP_COUNTER"},
    {"SAI_PORT_STAT_WRED_DROPPED_PACKETS", "port/wred-drops", Group::port_wred, Table::counters,
     "PORT_COUNTER_CAPABILITIES|WRED_ECN_PORT_WRED_TOTAL_DROP_COUNTER"},
    // The watchdog has the switch read these of its ports and queues.
    {"SAI_PORT_STAT_PFC_#_RX_PAUSE_DURATION_US", "port/pfc[#]/rx-paused-time", Group::watchdog},
    {"SAI_PORT_STAT_PFC_#_ON2OFF_RX_PKTS", "port/pfc[#]/rx-pause-transitions", Group::watchdog},
    {"EST_PORT_STAT_PFC_#_RX_PAUSE_DURATION_US", "port/pfc[#]/rx-paused-time-estimated",
     Group::pause_estimates},
    {"EST_PORT_STAT_PFC_#_ON2OFF_RX_PKTS", "port/pfc[#]/rx-pause-transitions-estimated",
     Group::pause_estimates},
    {"SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES", "queue[#]/occupancy", Group::watchdog},
    {"PFC_WD_STATUS", "queue[#]/watchdog/stormed", Group::watchdog},
    {"PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", "queue[#]/watchdog/storms", Group::watchdog},
    {"PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED", "queue[#]/watchdog/restorations", Group::watchdog},
    {"PFC_WD_QUEUE_STATS_RX_PACKETS", "queue[#]/watchdog/rx-packets", Group::watchdog},
    {"PFC_WD_QUEUE_STATS_TX_PACKETS", "queue[#]/watchdog/tx-packets", Group::watchdog},
    {"PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS", "queue[#]/watchdog/rx-dropped-packets", Group::watchdog},
    {"PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS", "queue[#]/watchdog/tx-dropped-packets", Group::watchdog},
    // Queues
    {"SAI_QUEUE_STAT_PACKETS", "queue[#]/packets", Group::queue},
    {"SAI_QUEUE_STAT_BYTES", "queue[#]/bytes", Group::queue},
    {"SAI_QUEUE_STAT_DROPPED_PACKETS", "queue[#]/dropped-packets", Group::queue},
    {"SAI_QUEUE_STAT_DROPPED_BYTES", "queue[#]/dropped-bytes", Group::queue},
    {"SAI_QUEUE_STAT_TRIM_PACKETS", "queue[#]/trimmed-packets", Group::queue},
    {"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", "queue[#]/ecn-marked-packets", Group::queue_ecn,
     Table::counters, "QUEUE_COUNTER_CAPABILITIES|WRED_ECN_QUEUE_ECN_MARKED_PKT_COUNTER"},
    {"SAI_QUEUE_STAT_WRED_ECN_MARKED_BYTES", "queue[#]/ecn-marked-bytes", Group::queue_ecn, Table::counters,
     "QUEUE_COUNTER_CAPABILITIES|WRED_ECN_QUEUE_ECN_MARKED_BYTE_COUNTER"},
    {"SAI_QUEUE_STAT_WRED_DROPPED_PACKETS", "queue[#]/wred-dropped-packets", Group::queue_ecn,
     Table::counters, "QUEUE_COUNTER_CAPABILITIES|WRED_ECN_QUEUE_WRED_DROPPED_PKT_COUNTER"},
    {"SAI_QUEUE_STAT_WRED_DROPPED_BYTES", "queue[#]/wred-dropped-bytes", Group::queue_ecn, Table::counters,
     "QUEUE_COUNTER_CAPABILITIES|WRED_ECN_QUEUE_WRED_DROPPED_BYTE_COUNTER"},
    {"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "queue[#]/watermark", Group::queue_watermarks,
     Table::user_watermarks},
    {"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "queue[#]/recent-watermark", Group::queue_watermarks,
     Table::periodic_watermarks},
    // Priority groups
    {"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", "group[#]/dropped-packets", Group::group_drops},
    {"SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES", "group[#]/shared-watermark",
     Group::group_watermarks, Table::user_watermarks},
    {"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", "group[#]/headroom-watermark",
     Group::group_watermarks, Table::user_watermarks},
    {"SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES", "group[#]/recent-shared-watermark",
     Group::group_watermarks, Table::periodic_watermarks},
    {"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", "group[#]/recent-headroom-watermark",
     Group::group_watermarks, Table::periodic_watermarks},
    // Buffer pools
    {"SAI_BUFFER_POOL_STAT_WATERMARK_BYTES", "pool[*]/watermark", Group::pool_watermarks,
     Table::user_watermarks},
    {"SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES", "pool[*]/headroom-watermark", Group::pool_watermarks,
     Table::user_watermarks},
    {"SAI_BUFFER_POOL_STAT_WATERMARK_BYTES", "pool[*]/recent-watermark", Group::pool_watermarks,
     Table::periodic_watermarks},
    {"SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES", "pool[*]/recent-headroom-watermark",
     Group::pool_watermarks, Table::periodic_watermarks},
};

// Priorities are 0 to 7 (802.1p). RS(544,514) corrects 15 symbols of a codeword: S0 to S15; S16 is what it
// cannot correct (saiport.h).
constexpr int kPfcPriorities = 8;
constexpr int kCodewords = 17;

using ByField = std::map<std::string, FoundCounter, std::less<>>;
using ByTable = std::array<ByField, 4>;

ByTable expanded() {
  ByTable out;
  for (const SonicCounter& row : kCounters) {
    ByField& fields = out[static_cast<std::size_t>(row.table)];
    const std::size_t at = row.field.find('#');
    if (at == row.field.npos) {
      fields.emplace(row.field, FoundCounter{&row, {}});
      continue;
    }
    const int numbers = row.counter.starts_with("port/pfc[") ? kPfcPriorities : kCodewords;
    for (int number = 0; number < numbers; ++number) {
      std::string digits = std::to_string(number);
      std::string field(row.field.substr(0, at));
      field += digits;
      field += row.field.substr(at + 1);
      fields.emplace(std::move(field), FoundCounter{&row, std::move(digits)});
    }
  }
  return out;
}

}  // namespace

std::string_view to_string(CounterTable table) {
  switch (table) {
    case Table::counters: return "COUNTERS";
    case Table::rates: return "RATES";
    case Table::user_watermarks: return "USER_WATERMARKS";
    case Table::periodic_watermarks: return "PERIODIC_WATERMARKS";
  }
  return "";
}

std::span<const CounterNameMap> counter_name_maps() { return kNameMaps; }
std::span<const SonicCounterGroup> sonic_counter_groups() { return kGroups; }
std::span<const SonicCounter> sonic_counters() { return kCounters; }

const FoundCounter* find_sonic_counter(CounterTable table, std::string_view field) {
  static const ByTable by_table = expanded();
  const ByField& fields = by_table[static_cast<std::size_t>(table)];
  const auto found = fields.find(field);
  return found == fields.end() ? nullptr : &found->second;
}

}  // namespace lockstep::sonic
