#include "drivers/sonic/counter_gates.hpp"

#include <charconv>
#include <optional>
#include <utility>

namespace lockstep::sonic {
namespace {

using State = CounterGroup::State;
using Rows = std::map<std::string, RedisHash, std::less<>>;

constexpr std::string_view kFlexTable = "FLEX_COUNTER_TABLE";
constexpr std::string_view kWatchdogTable = "PFC_WD";

std::string_view stored_field(const Rows& rows, std::string_view row, std::string_view field) {
  const auto hash = rows.find(row);
  if (hash == rows.end()) return {};
  const auto found = hash->second.find(field);
  return found == hash->second.end() ? std::string_view() : std::string_view(found->second);
}

// None: it is there and no interval.
std::optional<std::chrono::milliseconds> interval_of(std::string_view text, std::uint32_t otherwise) {
  std::uint32_t number = otherwise;
  if (!text.empty()) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  }
  return std::chrono::milliseconds(number);
}

void turn_off(CounterGroup& group, CounterGroup::Setting setting, const std::string& why) {
  group.state = State::off;
  group.why = why + "; " + setting.table + "|" + setting.key + " " + setting.field + "=" + setting.value +
              " turns it on";
  group.switch_on = std::move(setting);
}

// A row of the watchdog's ports that has this setting; false: none has it.
bool any_port_has(const Rows& rows, std::string_view field, std::string_view value) {
  for (const auto& [name, hash] : rows) {
    if (!name.starts_with("PFC_WD|") || name == "PFC_WD|GLOBAL") continue;
    const auto found = hash.find(field);
    if (found != hash.end() && (value.empty() || found->second == value)) return true;
  }
  return false;
}

void judge_config(const SonicCounterGroup& row, const StoredGates& stored, CounterGroup& group) {
  const std::string key(row.flex);
  const std::string name = std::string(kFlexTable) + "|" + key;
  const bool is_watchdogs = row.group == SonicGroup::watchdog || row.group == SonicGroup::pause_estimates;
  const auto interval =
      interval_of(is_watchdogs ? stored_field(stored.config, "PFC_WD|GLOBAL", "POLL_INTERVAL")
                               : stored_field(stored.config, name, "POLL_INTERVAL"),
                  row.default_ms);
  if (interval) group.interval = *interval;
  const std::string_view status = stored_field(stored.config, name, "FLEX_COUNTER_STATUS");
  if (status != "enable") {
    turn_off(group, {std::string(kFlexTable), key, "FLEX_COUNTER_STATUS", "enable"},
             "the switch does not read the group " + group.name);
  } else if (stored_field(stored.config, name, "FLEX_COUNTER_DELAY_STATUS") == "true") {
    turn_off(group, {std::string(kFlexTable), key, "FLEX_COUNTER_DELAY_STATUS", "false"},
             "the switch does not read the group " + group.name + " yet");
  } else if (row.group == SonicGroup::watchdog && !any_port_has(stored.config, "detection_time", "")) {
    group.state = State::off;
    group.why = "no port has a PFC watchdog; field detection_time of PFC_WD|PORT starts one";
  } else if (row.group == SonicGroup::pause_estimates &&
             !any_port_has(stored.config, "pfc_stat_history", "enable")) {
    group.state = State::off;
    group.why = "no port has its pauses estimated; pfc_stat_history=enable of PFC_WD|PORT starts it";
  } else {
    group.state = State::read;
  }
}

// What the ASIC says: overrides what CONFIG_DB says only where it can count nothing, or says nothing.
void judge_capabilities(SonicGroup which, const StoredGates& stored, CounterGroup& group) {
  std::size_t gated = 0;
  std::size_t said = 0;
  for (const SonicCounter& counter : sonic_counters()) {
    if (counter.group != which || counter.capability.empty()) continue;
    ++gated;
    const std::string_view supported = stored_field(stored.capabilities, counter.capability, "isSupported");
    if (supported.empty()) continue;
    ++said;
    if (supported != "true") group.cannot_count.insert(counter.counter);
    group.cannot_count_source =
        std::string(counter.capability.substr(0, counter.capability.find('|'))) + " of STATE_DB";
  }
  if (gated == 0) return;
  if (group.cannot_count.size() == gated) {
    group.state = State::unsupported;
    group.switch_on.reset();
    group.why =
        "this ASIC counts nothing of the group " + group.name + " (" + group.cannot_count_source + ")";
  } else if (said == 0 && group.state == State::read) {
    group.state = State::unknown;
    group.why = !stored.state_error.empty()
                    ? "whether this ASIC can count it is not known: " + stored.state_error
                    : "STATE_DB does not say whether this ASIC can count it";
  }
}

}  // namespace

std::vector<std::string> counter_gate_rows(const std::vector<std::string>& ports) {
  std::vector<std::string> rows;
  for (const SonicCounterGroup& group : sonic_counter_groups())
    if (group.group != SonicGroup::pause_estimates)  // has the watchdog's row
      rows.push_back(redis_name(kFlexTable, group.flex));
  rows.push_back(redis_name(kWatchdogTable, "GLOBAL"));
  for (const std::string& port : ports) rows.push_back(redis_name(kWatchdogTable, port));
  return rows;
}

std::vector<std::string> counter_capability_rows() {
  std::vector<std::string> rows;
  for (const SonicCounter& counter : sonic_counters())
    if (!counter.capability.empty()) rows.emplace_back(counter.capability);
  return rows;
}

std::vector<CounterGroup> counter_groups_of(const StoredGates& stored) {
  std::vector<CounterGroup> groups;
  for (const SonicCounterGroup& row : sonic_counter_groups()) {
    CounterGroup group;
    group.name = row.name;
    for (const SonicCounter& counter : sonic_counters())
      if (counter.group == row.group) group.counters.push_back(counter.counter);
    if (stored.config_error.empty())
      judge_config(row, stored, group);
    else
      group.why =
          "whether the switch reads the group " + group.name + " is not known: " + stored.config_error;
    judge_capabilities(row.group, stored, group);
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace lockstep::sonic
