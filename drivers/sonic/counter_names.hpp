// SONiC's counters: which field of which table of COUNTERS_DB is which counter of the vocabulary
// (specs/model/counters.hpp), and which group of FLEX_COUNTER_TABLE has the switch read it.
//
// Promises: one row for each field that is read; what has no row is not read (histograms of frame sizes, link
// level retry, router interfaces). `capability` is the row of STATE_DB whose field isSupported says whether
// the ASIC counts it; empty: SONiC does not say.
//
// Sources, of sonic-net: sonic-swss orchagent/portsorch.cpp (the lists *stat_ids, the groups' intervals,
// initCounterCapabilities), bufferorch.cpp (pools), pfcwdorch.cpp and pfcactionhandler.cpp (PFC_WD_*),
// port_rates.lua (RATES; its RX_BPS is bytes per second, as (octets - octets_last) / ms * 1000 shows),
// pfc_detect_broadcom.lua (EST_*), watermarkorch.cpp (which of the tables of watermarks is cleared when);
// SONiC doc/qos/ECN_and_WRED_statistics_HLD.md; sonic-flex_counter.yang.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::sonic {

// The tables whose keys are OIDs.
enum class CounterTable : std::uint8_t { counters, rates, user_watermarks, periodic_watermarks };
std::string_view to_string(CounterTable table);

// What an OID stands for.
enum class CountedKind : std::uint8_t { port, queue, group, pool };

// The name map of a kind, and the tables that have rows of it.
struct CounterNameMap {
  CountedKind kind;
  std::string_view map;    // "COUNTERS_QUEUE_NAME_MAP"
  std::string_view scope;  // "queue": also the first word of its counters
  std::span<const CounterTable> tables;
};
std::span<const CounterNameMap> counter_name_maps();

// Groups, in the order of CounterReading::groups: first those of CountedGroup, in its order.
enum class SonicGroup : std::uint8_t {
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
  pause_estimates,
};
struct SonicCounterGroup {
  SonicGroup group;
  std::string_view name;     // "queue-ecn"
  std::string_view flex;     // the key in FLEX_COUNTER_TABLE
  std::uint32_t default_ms;  // 0: not known
};
std::span<const SonicCounterGroup> sonic_counter_groups();

struct SonicCounter {
  std::string_view field;    // '#' is a number
  std::string_view counter;  // of the vocabulary; its '#' is that number, or the object's
  SonicGroup group;
  CounterTable table = CounterTable::counters;
  std::string_view capability{};  // "QUEUE_COUNTER_CAPABILITIES|..."
};
std::span<const SonicCounter> sonic_counters();

struct FoundCounter {
  const SonicCounter* counter;
  std::string number;  // in place of the field's '#'; empty: it has none
};
// None: this field is not read.
const FoundCounter* find_sonic_counter(CounterTable table, std::string_view field);

}  // namespace lockstep::sonic
