#include "drivers/sonic/map_fields.hpp"

#include <algorithm>
#include <charconv>

#include "drivers/sonic/plan_rules.hpp"
#include "drivers/sonic/state_check.hpp"
#include "specs/model/counter_groups.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::sonic {
namespace {

constexpr Word kFec[]{{"off", "none"}, {"baser", "fc"}, {"rs", "rs"}, {"auto", "auto"}};
// sonic-hash.yang, hash-field.
constexpr Word kHashWords[]{
    {"src-ip", "SRC_IP"},
    {"dst-ip", "DST_IP"},
    {"src-port", "L4_SRC_PORT"},
    {"dst-port", "L4_DST_PORT"},
    {"protocol", "IP_PROTOCOL"},
    {"flow-label", "IPV6_FLOW_LABEL"},
    {"ingress-port", "IN_PORT"},
    {"inner-src-ip", "INNER_SRC_IP"},
    {"inner-dst-ip", "INNER_DST_IP"},
    {"src-mac", "SRC_MAC"},
    {"dst-mac", "DST_MAC"},
    {"ethertype", "ETHERTYPE"},
    {"vlan", "VLAN_ID"},
};

constexpr auto kCounters = [] {
  std::array<Word, kCountedGroups.size()> out{};
  std::ranges::transform(kCountedGroups, out.begin(), [](const CountedGroupRow& one) {
    return Word{one.name, one.sonic};
  });
  return out;
}();
constexpr auto kCountersWithInterval = [] {
  std::array<Word, std::ranges::count_if(kCountedGroups, &CountedGroupRow::has_interval)> out{};
  auto end = out.begin();
  for (const CountedGroupRow& one : kCountedGroups)
    if (one.has_interval()) *end++ = {one.name, one.sonic};
  return out;
}();

// BGP as frrcfgd reads it (frr_mgmt_framework_config: true), in the default VRF.
constexpr FieldLine kLines[]{
    {row("bgp"), "BGP_GLOBALS", "default", "", Form::row},
    {row("bgp/aggregate[*]"), "BGP_GLOBALS_AF_AGGREGATE_ADDR", "default|ipv4_unicast|{0}", "summary_only",
     Form::row_that_says_true},
    {row("bgp/asn"), "BGP_GLOBALS", "default", "local_asn", Form::number},
    {row("bgp/graceful-shutdown"), "BGP_GLOBALS", "default", "graceful_shutdown", Form::true_false},
    {row("bgp/max-paths"),
     "BGP_GLOBALS_AF",
     "default|ipv4_unicast",
     "max_ebgp_paths",
     Form::number,
     {},
     true},
    {row("bgp/multipath-relax"), "BGP_GLOBALS", "default", "load_balance_mp_relax", Form::true_false},
    {row("bgp/neighbor[*]"), "BGP_NEIGHBOR", "default|{0}", "", Form::row},
    {row("bgp/neighbor[*]/hold"), "BGP_NEIGHBOR", "default|{0}", "holdtime", Form::number},
    {row("bgp/neighbor[*]/keepalive"), "BGP_NEIGHBOR", "default|{0}", "keepalive", Form::number},
    {row("bgp/neighbor[*]/remote-as"), "BGP_NEIGHBOR", "default|{0}", "asn", Form::peer},
    {row("bgp/neighbor[*]/shutdown"), "BGP_NEIGHBOR", "default|{0}", "admin_status", Form::down_up},
    {row("bgp/redistribute[*]"), "ROUTE_REDISTRIBUTE", "default|{0}|bgp|ipv4", "", Form::row},
    {row("bgp/router-id"), "BGP_GLOBALS", "default", "router_id", Form::word},
    {row("counter-group[*]"),
     "FLEX_COUNTER_TABLE",
     "{0}",
     "FLEX_COUNTER_STATUS",
     Form::enabled,
     {},
     true,
     kCounters},
    {row("counter-group[*]/interval"),
     "FLEX_COUNTER_TABLE",
     "{0}",
     "POLL_INTERVAL",
     Form::number,
     {},
     true,
     kCountersWithInterval},
    {row("interface[*]/address[*]"), "INTERFACE", "{0}|{1}", "", Form::row},
    {row("interface[*]/address[*]"), "LOOPBACK_INTERFACE", "{0}|{1}", "", Form::row},
    {row("interface[*]/admin"), "PORT", "{0}", "admin_status", Form::up_down},
    {row("interface[*]/admin"), "LOOPBACK_INTERFACE", "{0}", "admin_status", Form::up_down},
    {row("interface[*]/autoneg"), "PORT", "{0}", "autoneg", Form::on_off},
    {row("interface[*]/breakout"),
     "BREAKOUT_CFG",
     "{0}",
     "brkout_mode",
     Form::breakout,
     {},
     true,
     {},
     "which ports there are then, and their lanes, is in the switch's platform.json: "
     "'config interface breakout' on the switch does it"},
    {row("interface[*]/cable-length"), "CABLE_LENGTH", "AZURE", "{0}", Form::metres, {}, true},
    {row("interface[*]/fec"), "PORT", "{0}", "fec", Form::word, kFec},
    {row("interface[*]/mtu"), "PORT", "{0}", "mtu", Form::number},
    {row("interface[*]/pfc-asymmetric"), "PORT", "{0}", "pfc_asym", Form::on_off},
    {row("interface[*]/pfc-watchdog/action"), "PFC_WD", "{0}", "action", Form::word, {}, true},
    {row("interface[*]/pfc-watchdog/detection-time"),
     "PFC_WD",
     "{0}",
     "detection_time",
     Form::number,
     {},
     true},
    {row("interface[*]/pfc-watchdog/restoration-time"),
     "PFC_WD",
     "{0}",
     "restoration_time",
     Form::number,
     {},
     true},
    {row("interface[*]/speed"), "PORT", "{0}", "speed", Form::number},
    {row("load-balancing/hash-fields"), "SWITCH_HASH", "GLOBAL", "ecmp_hash", Form::words, kHashWords, true},
    {row("pfc-watchdog/poll-interval"), "PFC_WD", "GLOBAL", "POLL_INTERVAL", Form::number, {}, true},
};

constexpr std::string_view kLoopback = "Loopback0";
constexpr std::string_view kLoopbackTable = "LOOPBACK_INTERFACE";

// The keys of an entry as a pattern has them; none: the text is not of this pattern.
std::optional<std::vector<std::string>> keys_in(std::string_view pattern, std::string_view text) {
  std::vector<std::string> out;
  while (!pattern.empty()) {
    if (!pattern.starts_with('{')) {
      if (text.empty() || text.front() != pattern.front()) return std::nullopt;
      text.remove_prefix(1);
      pattern.remove_prefix(1);
      continue;
    }
    pattern.remove_prefix(3);  // "{0}"
    const std::size_t end = pattern.empty() ? text.size() : text.find(pattern.front());
    if (end == text.npos || end == 0 || (pattern.empty() && text.find('|') != text.npos)) return std::nullopt;
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  if (!text.empty()) return std::nullopt;
  return out;
}

// `keys`: what SONiC calls {0} otherwise.
std::string filled(std::string_view pattern, Path path, std::span<const Word> keys = {}) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      out += pattern[i];
      continue;
    }
    const std::string_view key = path.key(static_cast<std::size_t>(pattern[i + 1] - '0'));
    const auto word = std::ranges::find(keys, key, &Word::entry);
    out += word == keys.end() ? key : word->native;
    i += 2;
  }
  return out;
}

Path path_of(RowId row, const std::vector<std::string>& keys) {
  if (keys.empty()) return Path(row, {});
  return keys.size() == 1 ? Path(row, {keys[0]}) : Path(row, {keys[0], keys[1]});
}

bool is_row(const FieldLine& line) { return line.form == Form::row || line.form == Form::row_that_says_true; }
bool says_true(const ConfigRow& row, std::string_view field) {
  const auto found = row.find(field);
  return found != row.end() && found->second == ConfigField("true");
}

std::string_view entry_word(const FieldLine& line, std::string_view native) {
  const auto found = std::ranges::find(line.words, native, &Word::native);
  return found == line.words.end() ? native : found->entry;
}

Value value_of(const FieldLine& line, const ConfigField& field) {
  if (line.form == Form::words) {
    const auto* const list = std::get_if<ConfigList>(&field);
    if (list == nullptr) return {};
    std::vector<std::string> words;
    for (const std::string& one : *list) words.emplace_back(entry_word(line, one));
    return Value::set(std::move(words));
  }
  const auto* const text = std::get_if<std::string>(&field);
  if (text == nullptr) return {};
  switch (line.form) {
    case Form::up_down: return Value::boolean(*text == "up");
    case Form::down_up: return Value::boolean(*text == "down");
    case Form::on_off: return Value::boolean(*text == "on");
    case Form::true_false: return Value::boolean(*text == "true");
    case Form::breakout: return Value::text(std::string_view(*text).substr(0, text->find('[')));
    case Form::enabled: return *text == "enable" ? Value::present() : Value();
    case Form::word: return Value::text(entry_word(line, *text));
    case Form::number:
    case Form::metres: {
      std::string_view digits = *text;
      if (line.form == Form::metres && digits.ends_with('m')) digits.remove_suffix(1);
      std::int64_t number = 0;
      const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      return failed == std::errc() && end == digits.data() + digits.size() ? Value::integer(number)
                                                                           : Value::text(*text);
    }
    default: return {};
  }
}

Result<ConfigField> field_of(const FieldLine& line, const Change& change) {
  const auto native = [&](std::string_view word) -> Result<std::string> {
    if (line.words.empty()) return std::string(word);
    const auto found = std::ranges::find(line.words, word, &Word::entry);
    if (found == line.words.end())
      return Error{ErrorKind::unsupported, change.path.text() + ": SONiC has no '" + std::string(word) + "'"};
    return std::string(found->native);
  };
  const Value& want = change.want;
  switch (line.form) {
    case Form::up_down: return ConfigField(want.as_boolean() ? "up" : "down");
    case Form::down_up: return ConfigField(want.as_boolean() ? "down" : "up");
    case Form::on_off: return ConfigField(want.as_boolean() ? "on" : "off");
    case Form::true_false: return ConfigField(want.as_boolean() ? "true" : "false");
    case Form::enabled: return ConfigField("enable");
    case Form::number: return ConfigField(std::to_string(want.as_integer()));
    case Form::metres: return ConfigField(std::to_string(want.as_integer()) + "m");
    case Form::words: {
      ConfigList list;
      for (const std::string_view one : want.as_list()) {
        TRY(std::string word, native(one));
        list.push_back(std::move(word));
      }
      return ConfigField(std::move(list));
    }
    default: {
      TRY(std::string word, native(want.as_text()));
      return ConfigField(std::move(word));
    }
  }
}

// A neighbor's ASN, or of which kind it is.
constexpr std::string_view kPeerType = "peer_type";
constexpr std::string_view kPeerAsn = "asn";
Value peer_of(const ConfigRow& row) {
  for (const std::string_view field : {kPeerType, kPeerAsn})
    if (const auto found = row.find(field); found != row.end())
      if (const auto* const text = std::get_if<std::string>(&found->second)) return Value::text(*text);
  return {};
}
Result<Done> edit_peer(ConfigDb& config, const std::string& table, const std::string& key,
                       const Change& change) {
  const ConfigRow* const now = config.find(table, key);
  if (now == nullptr && !change.want) return Done{};
  if (now == nullptr) return Error{ErrorKind::refused, "there is no row " + redis_name(table, key)};
  ConfigRow row = *now;
  row.erase(std::string(kPeerType));
  row.erase(std::string(kPeerAsn));
  const std::string_view peer = change.want ? change.want.as_text() : std::string_view();
  const bool is_kind = peer == "external" || peer == "internal";
  if (!peer.empty()) row[std::string(is_kind ? kPeerType : kPeerAsn)] = std::string(peer);
  make_move({table, key, std::move(row)}, config);
  return Done{};
}

// The key under which an interface has this address already, in whatever spelling; none: it has it not.
std::optional<std::string> same_address(const ConfigDb& config, const std::string& table,
                                        const std::string& key) {
  const std::string address = address_of_row(table, key);
  const auto rows = config.tables.find(table);
  if (address.empty() || rows == config.tables.end()) return std::nullopt;
  const std::string prefix = key.substr(0, key.find('|') + 1);
  for (auto at = rows->second.lower_bound(prefix); at != rows->second.end() && at->first.starts_with(prefix);
       ++at)
    if (address_of_row(table, at->first) == address) return at->first;
  return std::nullopt;
}

// A port's addresses hang on a row of the port, which comes with the first and goes with the last.
void keep_interface(ConfigDb& config, const std::string& table, const std::string& name) {
  const auto rows = config.tables.find(table);
  if (rows == config.tables.end()) return;
  const std::string prefix = name + "|";
  const auto first = rows->second.lower_bound(prefix);
  const bool has_address = first != rows->second.end() && first->first.starts_with(prefix);
  const auto bare = rows->second.find(name);
  if (has_address && bare == rows->second.end()) rows->second.try_emplace(name);
  if (!has_address && bare != rows->second.end() && bare->second.empty())
    make_move({table, name, std::nullopt}, config);
}

// frrcfgd makes each speaker with `no bgp default ipv4-unicast` (sonic-net/sonic-buildimage,
// src/sonic-frr-mgmt-framework/frrcfgd/frrcfgd.py): a neighbor exchanges IPv4 routes only where this row says
// so. It comes with the neighbor, and what names the neighbor goes with it.
constexpr RowId kNeighbor = row("bgp/neighbor[*]");
constexpr std::string_view kFamilyTable = "BGP_NEIGHBOR_AF";
void keep_family(ConfigDb& config, const std::string& neighbor, bool is_there) {
  if (is_there) {
    config.tables[std::string(kFamilyTable)].try_emplace(neighbor + "|ipv4_unicast",
                                                         ConfigRow{{"admin_status", "up"}});
    return;
  }
  const auto rows = config.tables.find(kFamilyTable);
  if (rows == config.tables.end()) return;
  std::vector<std::string> gone;
  for (const auto& [key, fields] : rows->second)
    if (key.starts_with(neighbor + "|")) gone.push_back(key);
  for (const std::string& key : gone) make_move({std::string(kFamilyTable), key, std::nullopt}, config);
}

// The loopback interface has its row as soon as something is set of it.
Result<Done> edit_loopback(ConfigDb& config, const FieldLine& line, const Change& change) {
  if (line.field != "admin_status")
    return Error{ErrorKind::unsupported, change.path.text() + " is not set on SONiC's loopback interface"};
  const std::string table(kLoopbackTable);
  const std::string name(kLoopback);
  if (change.want) {
    TRY(config.tables[table][name][std::string(line.field)], field_of(line, change));
  } else if (const ConfigRow* const row = config.find(table, name)) {
    ConfigRow left = *row;
    left.erase(std::string(line.field));
    make_move({table, name, std::move(left)}, config);
    keep_interface(config, table, name);
  }
  return Done{};
}

}  // namespace

bool is_routing(const FieldLine& line) {
  return line.table.starts_with("BGP_") || line.table == "ROUTE_REDISTRIBUTE";
}

bool is_loopback(std::string_view port) { return port == "lo"; }

std::span<const FieldLine> field_lines() { return kLines; }

const FieldLine* field_line(RowId row) {
  const auto* const found = std::ranges::find(kLines, row, &FieldLine::row);
  return found == std::end(kLines) ? nullptr : found;
}

void add_field(const ConfigDb& config, const FieldLine& line, TreeBuilder& tree) {
  const auto rows = config.tables.find(line.table);
  if (rows == config.tables.end()) return;
  for (const auto& [key, row] : rows->second) {
    auto keys = keys_in(line.key, key);
    if (!keys) continue;
    if (line.table == kLoopbackTable) {
      if (keys->front() != kLoopback) continue;
      keys->front() = "lo";
    }
    if (!line.keys.empty()) {
      const auto word = std::ranges::find(line.keys, keys->front(), &Word::native);
      if (word == line.keys.end()) continue;
      keys->front() = word->entry;
    }
    if (is_row(line)) {
      if (line.form == Form::row_that_says_true && !says_true(row, line.field)) continue;
      if (std::string address = address_of_row(line.table, key); !address.empty())
        keys->back() = std::move(address);
      tree.add(path_of(line.row, *keys), Value::present());
      continue;
    }
    if (line.form == Form::peer) {
      if (const Value peer = peer_of(row)) tree.add(path_of(line.row, *keys), peer);
      continue;
    }
    for (const auto& [field, value] : row) {
      const auto more = keys_in(line.field, field);
      if (!more) continue;
      std::vector<std::string> all = *keys;
      all.insert(all.end(), more->begin(), more->end());
      if (const Value read = value_of(line, value)) tree.add(path_of(line.row, all), read);
    }
  }
}

Result<Done> edit_field(ConfigDb& config, const FieldLine& line, const Change& change) {
  std::string table(line.table);
  if (!line.by_hand.empty())
    return Error{ErrorKind::unsupported, change.path.text() + ": " + std::string(line.by_hand)};
  if (!line.keys.empty() && std::ranges::find(line.keys, change.path.key(0), &Word::entry) == line.keys.end())
    return Error{ErrorKind::unsupported, "SONiC has no " + change.path.text()};
  std::string key = filled(line.key, change.path, line.keys);
  if (is_row(line)) {
    std::string name(change.path.key_count() == 0 ? "" : change.path.key(0));
    if (is_loopback(name)) {
      table = kLoopbackTable;
      name = kLoopback;
      key = name + "|" + std::string(change.path.key(1));
    }
    if (const auto known = same_address(config, table, key)) key = *known;
    if (!change.want)
      make_move({table, key, std::nullopt}, config);
    else if (ConfigRow& row = config.tables[table].try_emplace(key).first->second; !line.field.empty())
      row[std::string(line.field)] = "true";
    if (table.ends_with("INTERFACE")) keep_interface(config, table, name);
    if (line.row == kNeighbor) keep_family(config, key, static_cast<bool>(change.want));
    return Done{};
  }
  if (line.form == Form::peer) return edit_peer(config, table, key, change);
  if (schema_row(line.row).is_of_port() && is_loopback(change.path.key(0)))
    return edit_loopback(config, line, change);
  const std::string field = filled(line.field, change.path);
  if (change.want) {
    TRY(ConfigField value, field_of(line, change));
    if (!line.row_of_fields && config.find(table, key) == nullptr)
      return Error{ErrorKind::refused, "there is no row " + redis_name(table, key)};
    config.tables[table][key][field] = std::move(value);
    return Done{};
  }
  const ConfigRow* const row = config.find(table, key);
  if (row == nullptr) return Done{};
  if (const std::string_view why = why_stays(table, key); !why.empty())
    return Error{ErrorKind::unsupported,
                 redis_name(table, key) + " is never taken away: " + std::string(why)};
  ConfigRow left = *row;
  if (line.form == Form::enabled && left.contains(field))
    left[field] = "disable";
  else
    left.erase(field);
  const bool goes = line.row_of_fields && left.empty();
  make_move({table, key, goes ? std::nullopt : std::optional(std::move(left))}, config);
  return Done{};
}

}  // namespace lockstep::sonic
