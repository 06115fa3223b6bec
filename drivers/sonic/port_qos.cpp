#include "drivers/sonic/port_qos.hpp"

#include <algorithm>
#include <charconv>
#include <functional>

#include "drivers/sonic/shared_rows.hpp"
#include "drivers/sonic/state_check.hpp"
#include "drivers/sonic/text_parts.hpp"

namespace lockstep::sonic {
namespace {

std::optional<std::int64_t> number_of(std::string_view text) {
  text = without_blanks(text);
  std::int64_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

const std::string* text_in(const ConfigRow* row, std::string_view field) {
  if (row == nullptr) return nullptr;
  const auto found = row->find(field);
  return found == row->end() ? nullptr : std::get_if<std::string>(&found->second);
}

std::optional<std::int64_t> number_in(const ConfigRow* row, std::string_view field) {
  const std::string* const text = text_in(row, field);
  return text == nullptr ? std::nullopt : number_of(*text);
}

// "3" or "3-4"; nothing: it is neither, or beyond the queues that there can be.
std::vector<int> numbers_of(std::string_view range) {
  const std::size_t dash = range.find('-');
  const auto first = number_of(range.substr(0, dash));
  const auto last = dash == range.npos ? first : number_of(range.substr(dash + 1));
  std::vector<int> out;
  if (!first || !last || *first < 0 || *last >= 64) return out;
  for (std::int64_t i = *first; i <= *last; ++i) out.push_back(static_cast<int>(i));
  return out;
}

std::set<int> numbers_in(const ConfigRow* row, std::string_view field) {
  std::set<int> out;
  const std::string* const text = text_in(row, field);
  if (text != nullptr)
    for (const std::string& part : parts_of(*text, ','))
      if (const auto number = number_of(part); number && *number >= 0 && *number < kQueues)
        out.insert(static_cast<int>(*number));
  return out;
}

std::string joined(const std::set<int>& numbers) {
  std::string out;
  for (const int number : numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
  return out;
}

// A map row as numbers.
using NumberMap = std::map<int, int>;
NumberMap map_of(const ConfigDb& config, std::string_view table, const std::string* name) {
  NumberMap out;
  const ConfigRow* const row = name == nullptr ? nullptr : config.find(table, *name);
  if (row == nullptr) return out;
  for (const auto& [field, value] : *row) {
    const auto from = number_of(field);
    const auto to = number_in(row, field);
    if (from && to && *from >= 0 && *from < 64 && *to >= 0 && *to < 64)
      out[static_cast<int>(*from)] = static_cast<int>(*to);
  }
  return out;
}
ConfigRow row_of(const NumberMap& map) {
  ConfigRow out;
  for (const auto& [from, to] : map) out[std::to_string(from)] = std::to_string(to);
  return out;
}
int at_or_same(const NumberMap& map, int number) {
  const auto found = map.find(number);
  return found == map.end() ? number : found->second;
}

// Rows PORT|NUMBERS of a table, by number; the last of two that have it.
std::map<int, const ConfigRow*> rows_of_port(const ConfigDb& config, std::string_view table,
                                             const std::string& port) {
  std::map<int, const ConfigRow*> out;
  const auto rows = config.tables.find(table);
  if (rows == config.tables.end()) return out;
  const std::string prefix = port + "|";
  for (auto at = rows->second.lower_bound(prefix); at != rows->second.end() && at->first.starts_with(prefix);
       ++at)
    for (const int number : numbers_of(std::string_view(at->first).substr(prefix.size())))
      out[number] = &at->second;
  return out;
}

// A row for each number, so that one can be changed alone.
void split_ranges(ConfigDb& config, const std::string& table, const std::string& port) {
  const auto rows = config.tables.find(table);
  if (rows == config.tables.end()) return;
  const std::string prefix = port + "|";
  std::vector<std::pair<std::string, ConfigRow>> ranges;
  for (auto at = rows->second.lower_bound(prefix); at != rows->second.end() && at->first.starts_with(prefix);
       ++at)
    if (numbers_of(std::string_view(at->first).substr(prefix.size())).size() > 1) ranges.emplace_back(*at);
  for (const auto& [key, row] : ranges) {
    rows->second.erase(key);
    for (const int number : numbers_of(std::string_view(key).substr(prefix.size())))
      rows->second.insert_or_assign(prefix + std::to_string(number), row);
  }
}

const ConfigRow* qos_row(const ConfigDb& config, const std::string& port) {
  return config.find("PORT_QOS_MAP", port);
}
// A switch may name a map once, for all ports.
const std::string* map_name(const ConfigDb& config, const std::string& port, std::string_view field) {
  const std::string* const own = text_in(qos_row(config, port), field);
  return own != nullptr ? own : text_in(config.find("PORT_QOS_MAP", "global"), field);
}

NumberMap groups_of(const ConfigDb& config, const std::string& port) {
  return map_of(config, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", map_name(config, port, "pfc_to_pg_map"));
}

void read_scheduler(const ConfigRow& row, ClassSettings& out) {
  const std::string* const type = text_in(&row, "type");
  out.strict = type != nullptr && *type == "STRICT";
  if (const auto weight = number_in(&row, "weight"); weight && !*out.strict) out.share = *weight * 10;
  const std::string* const meter = text_in(&row, "meter_type");
  if (const auto pir = number_in(&row, "pir"); pir && (meter == nullptr || *meter == "bytes"))
    out.max_rate = *pir * 8;
}

void read_wred(const ConfigRow& row, ClassSettings& out) {
  const std::string* const ecn = text_in(&row, "ecn");
  if (ecn == nullptr || (*ecn != "ecn_all" && ecn->find("green") == ecn->npos)) return;
  out.ecn_min = number_in(&row, "green_min_threshold");
  out.ecn_max = number_in(&row, "green_max_threshold");
  // sonic-wred-profile.yang: 100 where it is left out.
  out.ecn_probability = number_in(&row, "green_drop_probability").value_or(100) * 10;
}

void read_classes(const ConfigDb& config, const std::string& port, PortQos& out) {
  const NumberMap queues = map_of(config, "TC_TO_QUEUE_MAP", map_name(config, port, "tc_to_queue_map"));
  const std::string* const dscp_map = map_name(config, port, "dscp_to_tc_map");
  const std::string* const dot1p_map = map_name(config, port, "dot1p_to_tc_map");
  out.trust = dscp_map != nullptr ? Trust::dscp : dot1p_map != nullptr ? Trust::pcp : Trust::none;
  // Null: it is none of the queues that have classes.
  const auto class_of = [&out](int queue) { return queue < kQueues ? &out.classes[queue] : nullptr; };
  for (const auto& [dscp, tc] : map_of(config, "DSCP_TO_TC_MAP", dscp_map))
    if (ClassSettings* const its = class_of(at_or_same(queues, tc))) its->dscps.insert(dscp);
  const std::string* const pfc_map = map_name(config, port, "pfc_to_queue_map");
  NumberMap priorities = map_of(config, "MAP_PFC_PRIORITY_TO_QUEUE", pfc_map);
  if (pfc_map == nullptr)
    for (const auto& [priority, tc] : map_of(config, "DOT1P_TO_TC_MAP", dot1p_map))
      priorities[priority] = at_or_same(queues, tc);
  for (const auto& [priority, queue] : priorities)
    if (ClassSettings* const its = priority < kQueues ? class_of(queue) : nullptr)
      its->priorities.insert(priority);
  for (const auto& [number, queue] : rows_of_port(config, "QUEUE", port)) {
    if (number >= kQueues) continue;
    ClassSettings& settings = out.classes[number];
    if (const std::string* const name = text_in(queue, "scheduler"))
      if (const ConfigRow* const scheduler = config.find("SCHEDULER", *name))
        read_scheduler(*scheduler, settings);
    if (const std::string* const name = text_in(queue, "wred_profile"))
      if (const ConfigRow* const profile = config.find("WRED_PROFILE", *name)) read_wred(*profile, settings);
  }
}

bool is_computed(std::string_view profile) {
  return profile == "NULL" || profile.starts_with("pg_lossless_");
}

void read_buffers(const ConfigDb& config, const std::string& port, PortQos& out) {
  const NumberMap groups = groups_of(config, port);
  const auto rows = rows_of_port(config, "BUFFER_PG", port);
  for (int priority = 0; priority < kQueues; ++priority) {
    const auto group = rows.find(at_or_same(groups, priority));
    const std::string* const name = group == rows.end() ? nullptr : text_in(group->second, "profile");
    if (name == nullptr) continue;
    if (is_computed(*name)) out.computed.insert(priority);
    const ConfigRow* const profile = config.find("BUFFER_PROFILE", *name);
    if (profile == nullptr || !profile->contains("xoff")) continue;  // of lossy traffic
    if (!groups.empty() && !groups.contains(priority)) continue;
    out.buffers[priority] = {.size = number_in(profile, "size"),
                             .xoff = number_in(profile, "xoff"),
                             .xon = number_in(profile, "xon"),
                             .xon_offset = number_in(profile, "xon_offset"),
                             .dynamic_threshold = number_in(profile, "dynamic_th")};
  }
}

// Writes what differs of one port.
class Writing {
 public:
  Writing(ConfigDb& config, const std::string& port, const PortQos& was, const PortQos& want)
      : config_(config), port_(port), was_(was), want_(want) {}

  Result<Done> all() {
    if (maps_differ()) TRY_DONE(maps());
    if (was_.lossless != want_.lossless) lossless();
    TRY_DONE(queues());
    return buffers();
  }

 private:
  bool maps_differ() const {
    const auto differ = [](const PortQos& one, const PortQos& other) {
      return std::ranges::any_of(one.classes, [&](const auto& numbered) {
        const auto found = other.classes.find(numbered.first);
        return found == other.classes.end() || found->second.dscps != numbered.second.dscps ||
               found->second.priorities != numbered.second.priorities;
      });
    };
    return was_.lossless != want_.lossless || differ(was_, want_) || differ(want_, was_);
  }

  Result<Done> maps() {
    NumberMap tcs, dot1p, queues, groups, pfc_queues, pfc_groups;
    for (int i = 0; i < kQueues; ++i) {
      queues[i] = i;
      groups[i] = 0;
    }
    for (const auto& [number, settings] : want_.classes) {
      for (const int dscp : settings.dscps) tcs[dscp] = number;
      for (const int priority : settings.priorities) {
        dot1p[priority] = number;
        pfc_queues[priority] = number;
        if (!want_.lossless.contains(priority)) continue;
        groups[number] = number;
        pfc_groups[priority] = number;
      }
    }
    // A lossless priority without a class is one of its own number.
    for (const int priority : want_.lossless)
      if (!pfc_queues.contains(priority)) {
        groups[priority] = priority;
        pfc_groups[priority] = priority;
      }
    // A port that has both classifies IP packets by DSCP (orchagent/qosorch.cpp leaves it to the ASIC).
    TRY_DONE(name_map("dscp_to_tc_map", "DSCP_TO_TC_MAP", tcs));
    TRY_DONE(name_map("dot1p_to_tc_map", "DOT1P_TO_TC_MAP", tcs.empty() ? dot1p : NumberMap()));
    const bool classifies = !tcs.empty() || !dot1p.empty();
    TRY_DONE(name_map("tc_to_queue_map", "TC_TO_QUEUE_MAP", classifies ? queues : NumberMap()));
    TRY_DONE(name_map("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP", classifies ? groups : NumberMap()));
    TRY_DONE(name_map("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", pfc_queues));
    return name_map("pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", pfc_groups);
  }

  // An empty map is not named.
  Result<Done> name_map(const std::string& field, const std::string& table, const NumberMap& map) {
    const ConfigRow* const of_all = config_.find("PORT_QOS_MAP", "global");
    if (map.empty() && text_in(of_all, field) != nullptr &&
        !map_of(config_, table, text_in(of_all, field)).empty())
      return Error{ErrorKind::unsupported,
                   "PORT_QOS_MAP|global names a " + field + " for all ports: a port can't be without one"};
    const std::string* const named = text_in(qos_row(config_, port_), field);
    std::optional<std::string> name;
    if (!map.empty()) name = shared_row(config_, table, "", row_of(map), named);
    set_field("PORT_QOS_MAP", port_, field, name);
    return Done{};
  }

  void lossless() {
    const std::optional<std::string> text =
        want_.lossless.empty() ? std::nullopt : std::optional(joined(want_.lossless));
    set_field("PORT_QOS_MAP", port_, "pfc_enable", text);
    set_field("PORT_QOS_MAP", port_, "pfcwd_sw_enable", text);
  }

  Result<Done> queues() {
    std::set<int> numbers;
    for (const PortQos* const qos : {&was_, &want_})
      for (const auto& [number, settings] : qos->classes) numbers.insert(number);
    for (const int number : numbers) {
      const auto was = was_.classes.find(number);
      const auto want = want_.classes.find(number);
      if (want == want_.classes.end()) {
        split_ranges(config_, "QUEUE", port_);
        make_move({"QUEUE", port_ + "|" + std::to_string(number), std::nullopt}, config_);
      } else if (was == was_.classes.end() || !is_served_alike(was->second, want->second)) {
        TRY_DONE(queue(number, was == was_.classes.end() ? ClassSettings() : was->second, want->second));
      }
    }
    return Done{};
  }

  static bool is_served_alike(ClassSettings one, const ClassSettings& other) {
    one.dscps = other.dscps;
    one.priorities = other.priorities;
    return one == other;
  }

  Result<Done> queue(int number, const ClassSettings& was, const ClassSettings& want) {
    split_ranges(config_, "QUEUE", port_);
    const std::string key = port_ + "|" + std::to_string(number);
    // The class is there, also without a scheduler of its own.
    config_.tables["QUEUE"].try_emplace(key);
    if (was.strict != want.strict || was.share != want.share || was.max_rate != want.max_rate) {
      TRY(const std::optional<std::string> name, scheduler(key, was, want));
      set_field("QUEUE", key, "scheduler", name);
    }
    if (was.ecn_min != want.ecn_min || was.ecn_max != want.ecn_max ||
        was.ecn_probability != want.ecn_probability) {
      TRY(const std::optional<std::string> name, wred(key, want));
      set_field("QUEUE", key, "wred_profile", name);
    }
    return Done{};
  }

  // The row that is named now, with other fields where they differ; no row: no fields.
  ConfigRow row_named(std::string_view table, const std::string* name) const {
    const ConfigRow* const row = name == nullptr ? nullptr : config_.find(table, *name);
    return row == nullptr ? ConfigRow() : *row;
  }

  Result<std::optional<std::string>> scheduler(const std::string& key, const ClassSettings& was,
                                               const ClassSettings& want) {
    if (!want.strict && !want.share && !want.max_rate) return std::optional<std::string>();
    const std::string* const named = text_in(config_.find("QUEUE", key), "scheduler");
    ConfigRow row = row_named("SCHEDULER", named);
    const bool strict = want.strict.value_or(false);
    const auto type = row.find("type");
    if (strict || type == row.end() || type->second == ConfigField("STRICT"))
      row["type"] = strict ? "STRICT" : "DWRR";
    std::string about = strict ? "strict" : "dwrr";
    row.erase("weight");
    if (want.share && !strict) {
      if (*want.share % 10 != 0 || *want.share < 10 || *want.share > 1000)
        return Error{ErrorKind::unsupported,
                     "a share is a weight of 1 to 100 in SCHEDULER: whole percents, not " +
                         std::to_string(*want.share) + " thousandths"};
      row["weight"] = std::to_string(*want.share / 10);
      about += "-" + std::to_string(*want.share / 10);
    }
    if (was.max_rate != want.max_rate)
      for (const char* const field : {"meter_type", "cir", "pir", "cbs", "pbs"}) row.erase(field);
    if (want.max_rate) {
      if (*want.max_rate % 8 != 0 || *want.max_rate < 8)
        return Error{ErrorKind::unsupported, "a maximum rate is whole bytes a second in SCHEDULER, not " +
                                                 std::to_string(*want.max_rate) + " bit/s"};
    }
    if (want.max_rate && was.max_rate != want.max_rate) {
      row["meter_type"] = "bytes";
      row["cir"] =
          "1";  // bytes a second: the model wants one with a pir, and no class is to have a guarantee
      row["pir"] = std::to_string(*want.max_rate / 8);
      about += "-" + std::to_string(*want.max_rate / 8);
    }
    return std::optional(shared_row(config_, "SCHEDULER", about, row, named));
  }

  Result<std::optional<std::string>> wred(const std::string& key, const ClassSettings& want) {
    if (!want.ecn_min && !want.ecn_max && !want.ecn_probability) return std::optional<std::string>();
    if (!want.ecn_min || !want.ecn_max)
      return Error{ErrorKind::invalid_spec, "WRED_PROFILE needs both thresholds of a class with ECN"};
    const std::int64_t probability = want.ecn_probability.value_or(1000);
    if (probability % 10 != 0)
      return Error{ErrorKind::unsupported, "a probability is whole percents in WRED_PROFILE, not " +
                                               std::to_string(probability) + " thousandths"};
    const std::string* const named = text_in(config_.find("QUEUE", key), "wred_profile");
    ConfigRow row = row_named("WRED_PROFILE", named);
    row["ecn"] = "ecn_all";
    for (const std::string color : {"green", "yellow", "red"}) {
      row[color + "_min_threshold"] = std::to_string(*want.ecn_min);
      row[color + "_max_threshold"] = std::to_string(*want.ecn_max);
      row[color + "_drop_probability"] = std::to_string(probability / 10);
      row["wred_" + color + "_enable"] = "true";
    }
    const std::string about = "ecn-" + std::to_string(*want.ecn_min) + "-" + std::to_string(*want.ecn_max);
    return std::optional(shared_row(config_, "WRED_PROFILE", about, row, named));
  }

  Result<Done> buffers() {
    const NumberMap groups = groups_of(config_, port_);
    for (int priority = 0; priority < kQueues; ++priority) {
      const auto was = was_.buffers.find(priority);
      const auto want = want_.buffers.find(priority);
      const bool had = was != was_.buffers.end();
      const bool has = want != want_.buffers.end();
      if (had == has && (!has || was->second == want->second)) continue;
      if (was_.computed.contains(priority))
        return Error{ErrorKind::unsupported,
                     "buffermgrd computes the buffer of priority " + std::to_string(priority)};
      split_ranges(config_, "BUFFER_PG", port_);
      const std::string key = port_ + "|" + std::to_string(at_or_same(groups, priority));
      if (has) {
        TRY(const std::string name, profile(key, had ? was->second : BufferSettings(), want->second));
        set_field("BUFFER_PG", key, "profile", name);
      } else {
        make_move({"BUFFER_PG", key, std::nullopt}, config_);
      }
    }
    return Done{};
  }

  Result<std::string> profile(const std::string& key, const BufferSettings& was, const BufferSettings& want) {
    const std::string* const named = text_in(config_.find("BUFFER_PG", key), "profile");
    if (!want.size || !want.xoff)
      return Error{ErrorKind::invalid_spec, "BUFFER_PROFILE needs size and xoff of a lossless priority"};
    TRY(const std::string pool, pool_for(named));
    ConfigRow row = row_named("BUFFER_PROFILE", named);
    row["pool"] = pool;
    const auto put = [&row](const char* field, const std::optional<std::int64_t>& before,
                            const std::optional<std::int64_t>& now) {
      if (now)
        row[field] = std::to_string(*now);
      else if (before)
        row.erase(field);
    };
    put("size", was.size, want.size);
    put("xoff", was.xoff, want.xoff);
    put("xon", was.xon, want.xon);
    put("xon_offset", was.xon_offset, want.xon_offset);
    put("dynamic_th", was.dynamic_threshold, want.dynamic_threshold);
    if (!row.contains("static_th") && !row.contains("dynamic_th")) row["dynamic_th"] = "0";
    const std::string about = "lossless-" + std::to_string(*want.size);
    return shared_row(config_, "BUFFER_PROFILE", about, row, named);
  }

  // That of the profile now, or the one that lossless traffic comes in through.
  Result<std::string> pool_for(const std::string* profile) const {
    if (profile != nullptr)
      if (const std::string* const pool = text_in(config_.find("BUFFER_PROFILE", *profile), "pool"))
        return *pool;
    if (config_.find("BUFFER_POOL", "ingress_lossless_pool") != nullptr)
      return std::string("ingress_lossless_pool");
    return Error{ErrorKind::refused,
                 "there is no ingress_lossless_pool in BUFFER_POOL for a lossless priority"};
  }

  void set_field(const std::string& table, const std::string& key, const std::string& field,
                 const std::optional<std::string>& value) {
    if (value) {
      config_.tables[table][key][field] = *value;
      return;
    }
    const auto rows = config_.tables.find(table);
    if (rows == config_.tables.end()) return;
    const auto row = rows->second.find(key);
    if (row == rows->second.end()) return;
    row->second.erase(field);
    if (row->second.empty() && table == "PORT_QOS_MAP") make_move({table, key, std::nullopt}, config_);
  }

  ConfigDb& config_;
  const std::string& port_;
  const PortQos& was_;
  const PortQos& want_;
};

}  // namespace

PortQos qos_of(const ConfigDb& config, const std::string& port) {
  PortQos out;
  out.lossless = numbers_in(qos_row(config, port), "pfc_enable");
  read_classes(config, port, out);
  read_buffers(config, port, out);
  return out;
}

std::set<int> computed_priorities(const ConfigDb& config, const std::string& port) {
  PortQos out;
  read_buffers(config, port, out);
  return out.computed;
}

Result<Done> put_qos(ConfigDb& config, const std::string& port, const PortQos& want) {
  const PortQos was = qos_of(config, port);
  return Writing(config, port, was, want).all();
}

}  // namespace lockstep::sonic
