#include "tests/sonic_commands/apply_patch.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

namespace lockstep::stand_in {
namespace {

using Parts = std::vector<std::string>;

// One element of jsonpatch.JsonPatch.from_diff.
struct Element {
  std::string op;
  Parts path;
  Json value;
};

std::string path_text(const Parts& path) {
  std::string out;
  for (const std::string& part : path) out += "/" + part;
  return out;
}

// python-jsonpatch 1.33, DiffBuilder: what comes and equals what goes is a move, shown at its new place.
class Diff {
 public:
  Diff(const Json& now, const Json& target) {
    compare({}, now, target);
    for (Element& added : elements_) {
      if (added.op != "add") continue;
      const auto gone = std::ranges::find_if(
          elements_, [&](const Element& one) { return one.op == "remove" && one.value == added.value; });
      if (gone == elements_.end()) continue;
      added.op = "move";
      gone->op = "moved away";
    }
    std::erase_if(elements_, [](const Element& one) { return one.op == "moved away"; });
  }
  const std::vector<Element>& elements() const { return elements_; }

 private:
  void compare(const Parts& at, const Json& now, const Json& target) {
    const auto below = [&at](const std::string& name) {
      Parts out = at;
      out.push_back(name);
      return out;
    };
    for (const auto& [name, value] : now.items())
      if (!target.contains(name)) elements_.push_back({"remove", below(name), value});
    for (const auto& [name, value] : target.items()) {
      if (!now.contains(name))
        elements_.push_back({"add", below(name), value});
      else if (value.is_object() && now.at(name).is_object())
        compare(below(name), now.at(name), value);
      else if (value != now.at(name))
        elements_.push_back({"replace", below(name), value});
    }
  }
  std::vector<Element> elements_;
};

bool ends_with_field(const std::string& cleaned, const std::string& field) {
  const std::size_t slash = cleaned.rfind('/');
  return (slash == cleaned.npos ? cleaned : cleaned.substr(slash + 1)) == field;
}

struct Scenario {
  std::set<std::string> fields;
  std::set<std::string> operations;
};

// field_operation_validators.py, rdma_config_update_validator_common, where the ASIC (spc4) and the image are
// in the list.
bool rdma(const Element& one, const std::vector<Scenario>& scenarios, bool exact, bool remove_port) {
  std::string cleaned;
  for (std::size_t i = 1; i < one.path.size(); ++i) {
    if (remove_port && std::ranges::any_of(one.path[i], [](unsigned char c) { return std::isdigit(c) != 0; }))
      continue;
    cleaned += (cleaned.empty() ? "" : "/") + one.path[i];
  }
  std::ranges::transform(cleaned, cleaned.begin(), [](unsigned char c) { return std::tolower(c); });
  Parts fields;
  if (one.op != "remove" && one.op != "move" && one.value.is_object()) {
    for (const auto& [key, value] : one.value.items())
      fields.push_back(cleaned.empty() ? key : cleaned + "/" + key);
  } else {
    fields.push_back(cleaned);
  }
  for (const std::string& field : fields) {
    const auto found = std::ranges::find_if(scenarios, [&](const Scenario& scenario) {
      return std::ranges::any_of(scenario.fields, [&](const std::string& listed) {
        return exact ? field == listed : ends_with_field(field, listed);
      });
    });
    if (found == scenarios.end() || !found->operations.contains(one.op)) return false;
  }
  return true;
}

// gcu_field_operation_validators.conf.json.
bool buffer_pool(const Element& one) { return rdma(one, {}, true, true); }
bool pfc_wd(const Element& one) {
  return rdma(
      one,
      {{{"restoration_time", "detection_time", "action", "global/poll_interval", "pfc_stat_history", ""},
        {"remove", "add", "replace"}}},
      true, true);
}
bool buffer_profile(const Element& one) {
  if (one.path.size() == 2) return one.op != "move";
  return rdma(one,
              {{{"dynamic_th"}, {"replace"}},
               {{"xoff"}, {"replace"}},
               {{"packet_discard_action"}, {"add", "replace"}}},
              false, false);
}

std::set<std::string> listed(const std::string& text) {
  std::set<std::string> out;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');) out.insert(one);
  return out;
}

bool port_field(const std::string& field, const std::string& port, const Json& value, const Json& state) {
  if (!value.is_string()) throw Refused("'NoneType' object has no attribute 'strip'");
  const Json row = state.value("PORT_TABLE|" + port, Json::object()).value("value", Json::object());
  const std::string supported = row.value("supported_" + field + "s", "");
  if (field == "speed") return supported.empty() || listed(supported).contains(value.get<std::string>());
  if (supported == "N/A") return false;
  return listed(supported.empty() ? "rs,fc,none,auto" : supported).contains(value.get<std::string>());
}

bool port_table(const Element& one, const Json& state) {
  if (one.op == "remove" || one.path.size() < 2) return true;
  for (const std::string field : {"fec", "speed"}) {
    if (one.path.size() == 3 && one.path[2] == field) {
      if (!port_field(field, one.path[1], one.op == "move" ? Json() : one.value, state)) return false;
    } else if (one.path.size() == 2 && one.op != "move" && one.value.contains(field)) {
      // The function puts the fec in the place of the row, and finds no speed in it.
      return port_field(field, one.path[1], one.value.at(field), state);
    }
  }
  return true;
}

// gu_common.py, validate_field_operation.
void validate_fields(const Json& now, const Json& target, const Json& state) {
  const Diff diff(now, target);
  for (const std::string kept :
       {"/PFC_WD/GLOBAL/POLL_INTERVAL", "/PFC_WD/GLOBAL", "/LOOPBACK_INTERFACE/Loopback0"})
    for (const Element& one : diff.elements())
      if (one.op == "remove" && path_text(one.path) == kept)
        throw Refused("Given patch operation is invalid. Operation: remove is illegal on field: " + kept);
  for (const Element& one : diff.elements()) {
    const std::string& table = one.path.front();
    std::string function;
    bool allowed = true;
    if (table == "BUFFER_POOL" || table == "PFC_WD") {
      function = "rdma_config_update_validator";
      allowed = table == "PFC_WD" ? pfc_wd(one) : buffer_pool(one);
    } else if (table == "BUFFER_PROFILE") {
      function = "buffer_profile_config_update_validator";
      allowed = buffer_profile(one);
    } else if (table == "PORT") {
      function = "port_config_update_validator";
      allowed = port_table(one, state);
    }
    if (!allowed)
      throw Refused(
          "Modification of " + table +
          " table is illegal- validating function generic_config_updater.field_operation_validators." +
          function + " returned False");
  }
}

// main.py, append_emptytables_if_required; then python-jsonpatch.
Json simulated(const Json& patch, Json config) {
  for (const Json& one : patch) {
    const Json::json_pointer at(one.at("path").get<std::string>());
    if (one.at("op") == "test") {
      if (!config.contains(at)) throw Refused("member '" + at.back() + "' not found in " + config.dump());
      if (config.at(at) != one.at("value"))
        throw Refused(config.at(at).dump() + " (<class 'dict'>) is not equal to tested value " +
                      one.at("value").dump() + " (<class 'dict'>)");
      continue;
    }
    const std::string table = at.to_string().substr(1, at.to_string().find('/', 1) - 1);
    if (!config.contains(table)) config[table] = Json::object();
    try {
      config = config.patch(Json::array({one}));
    } catch (const Json::exception&) {
      throw Refused("can't " + one.at("op").get<std::string>() + " a non-existent object '" + at.back() +
                    "'");
    }
  }
  return config;
}

// patch_sorter.py, PortCriticalMoveValidator.
const std::set<std::string> kWhileDown{"BUFFER_PG",    "BUFFER_PORT_EGRESS_PROFILE_LIST",
                                       "BUFFER_QUEUE", "BUFFER_PORT_INGRESS_PROFILE_LIST",
                                       "PORT_QOS_MAP", "QUEUE"};

std::set<std::string> ports_to_lower(const Json& now, const Json& target) {
  std::set<std::string> out;
  for (const std::string& table : kWhileDown) {
    const Json was = now.value(table, Json::object());
    const Json want = target.value(table, Json::object());
    for (const Json& one : {was, want})
      for (const auto& [key, row] : one.items()) {
        const std::string port = key.substr(0, key.find('|'));
        const bool differs = was.value(key, Json()) != want.value(key, Json());
        const Json up = now.value("PORT", Json::object()).value(port, Json::object());
        if (differs && up.value("admin_status", "down") == "up") out.insert(port);
      }
  }
  return out;
}

std::vector<Json> states(const Json& now, const Json& target) {
  std::vector<Json> out;
  const std::set<std::string> lowered = ports_to_lower(now, target);
  Json state = now;
  Json end = target;
  for (const std::string& port : lowered) {
    state["PORT"][port]["admin_status"] = "down";
    out.push_back(state);
    if (end["PORT"].contains(port)) end["PORT"][port]["admin_status"] = "down";
  }
  for (const auto& [table, rows] : end.items())
    for (const auto& [key, row] : rows.items())
      if (state.value(table, Json::object()).value(key, Json()) != row) {
        state[table][key] = row;
        out.push_back(state);
      }
  const Json all = state;
  for (const auto& [table, rows] : all.items()) {
    for (const auto& [key, row] : rows.items())
      if (!end.value(table, Json::object()).contains(key)) {
        state[table].erase(key);
        out.push_back(state);
      }
    if (state[table].empty()) state.erase(table), out.back() = state;
  }
  for (const std::string& port : lowered)
    if (state != target && target.at("PORT").contains(port)) {
      state["PORT"][port] = target.at("PORT").at(port);
      out.push_back(state);
    }
  return out;
}

}  // namespace

std::vector<Json> changes_of(const Json& patch, const std::string& file, const Json& now, const Json& state) {
  const bool formed = patch.is_array() && std::ranges::all_of(patch, [](const Json& one) {
                        return one.is_object() && one.contains("op") && one.contains("path");
                      });
  if (!formed) throw Refused("Invalid patch format in file: " + file);
  const auto scoped = [](const std::string& words) {
    return Refused("Failed to apply patch on the following scopes:\n- localhost: " + words);
  };
  const Json target = simulated(patch, now);
  try {
    validate_fields(now, target, state);
  } catch (const Refused& refused) {
    throw scoped(refused.text);
  }
  std::string empty;
  for (const auto& [table, rows] : target.items())
    if (rows.empty()) empty += (empty.empty() ? "" : ", ") + table;
  if (!empty.empty())
    throw scoped(
        "localhost: given patch is not valid because it will result in empty tables "
        "                                which is not allowed in ConfigDb. "
        "                                Table: " +
        empty);
  return states(now, target);
}

}  // namespace lockstep::stand_in
