#include "drivers/sonic/port_qos.hpp"

#include <algorithm>

#include "drivers/sonic/port_rows.hpp"
#include "drivers/sonic/shared_rows.hpp"
#include "drivers/sonic/state_check.hpp"

namespace lockstep::sonic {
namespace {

std::string joined(const std::set<int>& numbers) {
  std::string out;
  for (const int number : numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
  return out;
}

ConfigRow row_of(const NumberMap& map) {
  ConfigRow out;
  for (const auto& [from, to] : map) out[std::to_string(from)] = std::to_string(to);
  return out;
}

const ConfigRow* qos_row(const ConfigDb& config, const std::string& port) {
  return config.find("PORT_QOS_MAP", port);
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

// Writes what differs of one port.
class Writing {
 public:
  Writing(ConfigDb& config, const std::string& port, const PortQos& was, const PortQos& want)
      : config_(config), port_(port), was_(was), want_(want), groups_before_(groups_of(config, port)) {}

  Result<Done> all() {
    if (maps_differ()) TRY_DONE(maps());
    if (was_.lossless != want_.lossless) lossless();
    TRY_DONE(queues());
    return put_buffers(config_, port_, was_.buffers, with_headroom(), groups_before_);
  }

 private:
  // In the dynamic model, what is reserved for a priority comes and goes with PFC.
  PortBuffers with_headroom() const {
    PortBuffers out = want_.buffers;
    if (!has_dynamic_buffers(config_)) return out;
    for (int priority = 0; priority < kQueues; ++priority) {
      const bool had = was_.lossless.contains(priority);
      const bool has = want_.lossless.contains(priority);
      if (has && !had) out.reserved.insert(priority);
      if (had && !has && was_.buffers.reserved.contains(priority)) out.reserved.erase(priority);
    }
    return out;
  }

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
    set_field(config_, "PORT_QOS_MAP", port_, field, name);
    return Done{};
  }

  void lossless() {
    const std::optional<std::string> text =
        want_.lossless.empty() ? std::nullopt : std::optional(joined(want_.lossless));
    set_field(config_, "PORT_QOS_MAP", port_, "pfc_enable", text);
    set_field(config_, "PORT_QOS_MAP", port_, "pfcwd_sw_enable", text);
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
      set_field(config_, "QUEUE", key, "scheduler", name);
    }
    if (was.ecn_min != want.ecn_min || was.ecn_max != want.ecn_max ||
        was.ecn_probability != want.ecn_probability) {
      TRY(const std::optional<std::string> name, wred(key, want));
      set_field(config_, "QUEUE", key, "wred_profile", name);
    }
    return Done{};
  }

  Result<std::optional<std::string>> scheduler(const std::string& key, const ClassSettings& was,
                                               const ClassSettings& want) {
    if (!want.strict && !want.share && !want.max_rate) return std::optional<std::string>();
    const std::string* const named = text_in(config_.find("QUEUE", key), "scheduler");
    ConfigRow row = copy_of(config_, "SCHEDULER", named);
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
    ConfigRow row = copy_of(config_, "WRED_PROFILE", named);
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

  ConfigDb& config_;
  const std::string& port_;
  const PortQos& was_;
  const PortQos& want_;
  const NumberMap groups_before_;
};

}  // namespace

PortQos qos_of(const ConfigDb& config, const std::string& port) {
  PortQos out;
  out.lossless = numbers_in(qos_row(config, port), "pfc_enable");
  read_classes(config, port, out);
  out.buffers = buffers_of(config, port);
  return out;
}

Result<Done> put_qos(ConfigDb& config, const std::string& port, const PortQos& want) {
  const PortQos was = qos_of(config, port);
  return Writing(config, port, was, want).all();
}

}  // namespace lockstep::sonic
