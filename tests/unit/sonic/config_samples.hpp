// Valid configurations of SONiC, from its own conformance data and samples.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "drivers/sonic/yang_schema.hpp"
#include "tests/unit/sonic/yang_conformance.hpp"

namespace lockstep::sonic {

// How much is tried: 1 in the fast suite; the long one and `soak` set more.
inline std::size_t effort() {
  const char* const asked = std::getenv("LOCKSTEP_SONIC_EFFORT");
  return asked == nullptr ? 1 : std::stoul(asked);
}

inline ConfigDb sample_config() {
  const auto json =
      nlohmann::json::parse(text_of_file(sonic_yang_data() / "tests/files/sample_config_db.json"));
  return *parse_config_db(json.at("SAMPLE_CONFIG_DB_JSON").dump());
}

// Data in the form of the models as rows of CONFIG_DB: the way back of SONiC's translation
// (sonic_yang_ext.py: _revYangConfig). None: it has what is no row.
class AsRows {
 public:
  explicit AsRows(const YangSchema& schema) : schema_(schema) {}

  std::optional<ConfigDb> of(const nlohmann::json& data) {
    for (const auto& [module, tables] : data.items()) {
      if (!tables.is_object()) return std::nullopt;
      for (const auto& [name, rows] : tables.items())
        if (!table(plain(name), rows)) return std::nullopt;
    }
    return std::move(config_);
  }

 private:
  static std::string plain(const std::string& name) { return name.substr(name.find(':') + 1); }
  static std::string text(const nlohmann::json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  }

  bool table(const std::string& name, const nlohmann::json& rows) {
    const auto known = schema_.tables.find(name);
    if (known == schema_.tables.end() || !rows.is_object()) return false;
    for (const auto& [child, value] : rows.items()) {
      const lysc_node* const kind = child_of(*known->second.table, plain(child));
      if (kind == nullptr) return false;
      if (kind->nodetype == LYS_CONTAINER && !row(name, kind->name, *kind, value)) return false;
      if (kind->nodetype == LYS_LIST && value.is_array())
        for (const auto& entry : value) {
          std::string key;
          for (const lysc_node* const part : keys_of(*kind)) {
            if (!entry.contains(part->name)) return false;
            key += (key.empty() ? "" : "|") + text(entry.at(part->name));
          }
          if (config_.find(name, key) != nullptr || !row(name, key, *kind, entry)) return false;
        }
      if ((kind->nodetype & (LYS_CONTAINER | LYS_LIST)) == 0) return false;
    }
    return true;
  }

  bool row(const std::string& table, const std::string& key, const lysc_node& kind,
           const nlohmann::json& fields) {
    if (!fields.is_object()) return false;
    ConfigRow row;
    for (const auto& [field, value] : fields.items()) {
      const lysc_node* const leaf = child_of(kind, plain(field));
      if (leaf == nullptr) return false;
      if (lysc_is_key(leaf)) continue;
      if (leaf->nodetype == LYS_LEAF && value.is_primitive()) {
        row[plain(field)] = text(value);
      } else if (leaf->nodetype == LYS_LEAFLIST && value.is_array()) {
        ConfigList list;
        for (const auto& one : value) list.push_back(text(one));
        row[plain(field)] = std::move(list);
      } else {
        return false;
      }
    }
    config_.tables[table][key] = std::move(row);
    return true;
  }

  const YangSchema& schema_;
  ConfigDb config_;
};

// SONiC's rendered samples of queues and buffers have no ports: with those that their rows name, 100 Gbit/s
// each.
inline void add_ports(ConfigDb& config) {
  std::vector<std::string> ports;
  const auto add = [&ports](const std::string& key) {
    const std::string port = key.substr(0, key.find('|'));
    if (port.starts_with("Ethernet")) ports.push_back(port);
  };
  for (const auto& [table, rows] : config.tables)
    for (const auto& [key, row] : rows) {
      add(key);
      if (table == "CABLE_LENGTH")
        for (const auto& [field, value] : row) add(field);
    }
  for (const std::string& port : ports)
    config.tables["PORT"].try_emplace(port,
                                      ConfigRow{{"lanes", "1"}, {"speed", "100000"}, {"admin_status", "up"}});
}

// The given configurations that are valid, and the conformance cases to be accepted, as far as they are rows.
inline const std::vector<ConfigDb>& valid_configs() {
  static const std::vector<ConfigDb> all = [] {
    std::vector<ConfigDb> out;
    const auto add = [&out](ConfigDb config) {
      if (sonic_models().check(config).valid() && std::ranges::find(out, config) == out.end())
        out.push_back(std::move(config));
    };
    const auto rendered = sonic_yang_data() / "../sonic-config/rendered";
    if (std::filesystem::is_directory(rendered))
      for (const auto& entry : std::filesystem::directory_iterator(rendered)) {
        Result<ConfigDb> config = parse_config_db(text_of_file(entry.path()));
        if (!config) continue;
        add_ports(*config);
        add(*std::move(config));
      }
    std::vector<std::string> without_data;
    for (const ConformanceCase& one : conformance_cases(without_data))
      if (one.accepted)
        if (auto config = AsRows(sonic_models().schema()).of(one.data)) add(*std::move(config));
    return out;
  }();
  return all;
}

}  // namespace lockstep::sonic
