#include "drivers/sonic/map.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "drivers/sonic/map_fields.hpp"
#include "drivers/sonic/map_qos.hpp"
#include "drivers/sonic/map_watchdog.hpp"
#include "drivers/sonic/plan_rules.hpp"
#include "drivers/sonic/shared_rows.hpp"
#include "drivers/sonic/state_check.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::sonic {
namespace {

constexpr RowId kPortRow = row("interface[*]");
constexpr RowId kNative = row("raw[*][*]");
constexpr RowId kTrust = row("interface[*]/trust");
constexpr std::string_view kDriver = "sonic";

void add(TreeBuilder& tree, Path path, const Value& value) {
  if (value) tree.add(path, value);
}

void add_qos(const ConfigDb& config, const std::string& port, const Scope& scope, TreeBuilder& tree) {
  const PortQos qos = qos_of(config, port);
  if (scope.wants(kTrust)) add(tree, Path(kTrust, {port}), trust_of(qos));
  for (const QosLine& line : port_lines())
    if (scope.wants(line.row)) add(tree, Path(line.row, {port}), line.read(qos, 0));
  for (const auto& [number, settings] : qos.classes)
    for (const QosLine& line : class_lines())
      if (scope.wants(line.row))
        add(tree, Path(line.row, {port, std::to_string(number)}), line.read(qos, number));
  for (const int priority : qos.buffers.reserved)
    for (const QosLine& line : buffer_lines())
      if (scope.wants(line.row))
        add(tree, Path(line.row, {port, std::to_string(priority)}), line.read(qos, priority));
}

// What the language can't say: a field of a row ("PORT|Ethernet0 alias", of a list "PORT|Ethernet0
// adv_speeds@"), or a row as such ("INTERFACE|Ethernet0 "). The last blank parts them.
struct NativePlace {
  std::string table;
  std::string key;
  std::string field;  // empty: the row
  bool is_list = false;
};
std::optional<NativePlace> native_place(Path path) {
  const std::string_view text = path.key(1);
  const std::size_t blank = text.rfind(' ');
  if (blank == text.npos) return std::nullopt;
  NativePlace out;
  out.field = text.substr(blank + 1);
  out.is_list = out.field.ends_with('@');
  if (out.is_list) out.field.pop_back();
  if (out.is_list && out.field.empty()) return std::nullopt;
  auto name = row_of_redis_name(text.substr(0, blank));
  if (!name) return std::nullopt;
  out.table = std::move(name->first);
  out.key = std::move(name->second);
  return out;
}

Value native_value(const ConfigRow& row, const NativePlace& place) {
  if (place.field.empty()) return Value::text("");
  const auto found = row.find(place.field);
  if (found == row.end()) return {};
  if (!place.is_list) {
    const auto* const text = std::get_if<std::string>(&found->second);
    return text == nullptr ? Value() : Value::text(*text);
  }
  const auto* const list = std::get_if<ConfigList>(&found->second);
  if (list == nullptr) return {};
  std::string joined;
  for (const std::string& one : *list) joined += (&one == &list->front() ? "" : ",") + one;
  return Value::text(joined);
}

void add_native(const ConfigDb& config, const Scope& scope, TreeBuilder& tree) {
  for (const Path path : scope.named) {
    if (path.row() != kNative || path.key(0) != kDriver) continue;
    const auto place = native_place(path);
    const ConfigRow* const row = place ? config.find(place->table, place->key) : nullptr;
    if (row != nullptr) add(tree, path, native_value(*row, *place));
  }
}

ConfigList listed(std::string_view text) {
  ConfigList out;
  for (std::size_t comma = text.find(','); comma != text.npos; comma = text.find(',')) {
    out.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma + 1);
  }
  out.emplace_back(text);
  return out;
}

Result<Done> edit_native(ConfigDb& config, const Change& change) {
  const auto place = native_place(change.path);
  if (!place)
    return Error{ErrorKind::invalid_spec,
                 "'" + std::string(change.path.key(1)) +
                     "' sets no field of CONFIG_DB: write \"TABLE|key\": {field: text}"};
  const ConfigRow* const now = config.find(place->table, place->key);
  ConfigRow row = now == nullptr ? ConfigRow() : *now;
  if (!change.want && place->field.empty() && !row.empty())
    return Error{ErrorKind::refused,
                 redis_name(place->table, place->key) + " has fields that others have set"};
  if (!change.want) {
    row.erase(place->field);
  } else if (!place->field.empty()) {
    const std::string_view text = change.want.as_text();
    row[place->field] = place->is_list ? ConfigField(listed(text)) : ConfigField(std::string(text));
  }
  const bool goes = !change.want && row.empty();
  if (const std::string_view why = why_stays(place->table, place->key);
      goes && now != nullptr && !why.empty())
    return Error{ErrorKind::unsupported,
                 redis_name(place->table, place->key) + " is never taken away: " + std::string(why)};
  make_move({place->table, place->key, goes ? std::nullopt : std::optional(std::move(row))}, config);
  return Done{};
}

class Editing {
 public:
  explicit Editing(const ConfigDb& config) : before_(config), out_{config, {}} {}

  Edited all(const ChangeSet& changes) {
    out_.outcomes.resize(changes.size());
    for (std::size_t i = 0; i < changes.size(); ++i) one(changes[i], i);
    for (auto& [port, touched] : ports_) finish(port, touched);
    refuse_watchdog_times(before_, changes, out_);
    if (out_.config != before_) drop_unused(out_.config);
    return std::move(out_);
  }

 private:
  struct Touched {
    PortQos qos;
    std::vector<std::size_t> changes;
  };

  void one(const Change& change, std::size_t index) {
    const RowId id = change.path.row();
    Result<Done> done = Done{};
    if (const FieldLine* const field = field_line(id)) {
      done = has_port(change.path) ? edit_field(out_.config, *field, change) : no_port(change.path);
    } else if (const QosLine* const qos = qos_line(id)) {
      const bool is_port = out_.config.find("PORT", change.path.key(0)) != nullptr;
      done = is_port ? edit_qos(*qos, change, index) : no_port(change.path);
    } else if (id == saving_row()) {
      if (!change.want) done = Error{ErrorKind::unsupported, "what is saved can't be unsaved"};
    } else if (id == kNative && change.path.key(0) == kDriver) {
      done = edit_native(out_.config, change);
    } else {
      done = Error{ErrorKind::unsupported, change.path.text() + " is not set on SONiC"};
    }
    if (!done) out_.outcomes[index] = done.error();
  }

  bool has_port(Path path) const {
    return !schema_row(path.row()).is_of_port() || is_loopback(path.key(0)) ||
           out_.config.find("PORT", path.key(0)) != nullptr;
  }
  static Error no_port(Path path) {
    return {ErrorKind::refused, "there is no port " + std::string(path.key(0)) + " in PORT"};
  }

  Result<Done> edit_qos(const QosLine& line, const Change& change, std::size_t index) {
    const std::string port(change.path.key(0));
    const auto number = change.path.key_count() > 1 ? number_of(change.path.key(1), kQueues - 1) : 0;
    if (!number)
      return Error{ErrorKind::invalid_spec,
                   change.path.text() + ": SONiC's queues and priorities are 0 to 7"};
    auto known = ports_.find(port);
    if (known == ports_.end()) known = ports_.emplace(port, Touched{qos_of(out_.config, port), {}}).first;
    known->second.changes.push_back(index);
    return line.write(known->second.qos, *number, change);
  }

  // A port's classes and buffers are written together, since they share rows; so they succeed or fail
  // together.
  void finish(const std::string& port, const Touched& touched) {
    ConfigDb before = out_.config;
    const Result<Done> done = put_qos(out_.config, port, touched.qos);
    if (done) return;
    out_.config = std::move(before);
    for (const std::size_t index : touched.changes)
      if (!out_.outcomes[index]) out_.outcomes[index] = done.error();
  }

  const ConfigDb& before_;
  Edited out_;
  std::map<std::string, Touched> ports_;
};

}  // namespace

std::vector<RowId> rows_read() {
  std::vector<RowId> out = rows_written();
  for (const FieldLine& line : field_lines())
    if (!line.by_hand.empty()) out.push_back(line.row);
  out.push_back(kPortRow);
  out.push_back(kTrust);
  const std::vector<RowId> effects = effect_rows();
  out.insert(out.end(), effects.begin(), effects.end());
  return out;
}

std::vector<Unread> unread_config(const Scope& scope, const Error& why) {
  std::vector<RowId> rows = rows_written();
  for (const FieldLine& line : field_lines())
    if (!line.by_hand.empty()) rows.push_back(line.row);
  rows.push_back(kPortRow);
  rows.push_back(kTrust);
  return unread_rows(rows, scope, why);
}
std::vector<RowId> rows_written() {
  std::vector<RowId> out;
  for (const FieldLine& line : field_lines())
    if (line.by_hand.empty() && std::ranges::find(out, line.row) == out.end()) out.push_back(line.row);
  for (const auto lines : {port_lines(), class_lines(), buffer_lines()})
    for (const QosLine& line : lines) out.push_back(line.row);
  out.push_back(kNative);
  out.push_back(saving_row());
  return out;
}

void add_entries(const ConfigDb& config, const Scope& scope, TreeBuilder& tree) {
  if (const auto ports = config.tables.find("PORT"); ports != config.tables.end())
    for (const auto& [port, row] : ports->second) {
      if (scope.wants(kPortRow)) tree.add(Path(kPortRow, {port}), Value::present());
      add_qos(config, port, scope, tree);
    }
  for (const FieldLine& line : field_lines())
    if (scope.wants(line.row)) add_field(config, line, tree);
  add_usual_interval(config, scope, tree);
  if (scope.wants(kNative)) add_native(config, scope, tree);
}

Edited edited(const ConfigDb& config, const ChangeSet& changes) { return Editing(config).all(changes); }

ConfigDb bare_config(const ChangeSet& changes) {
  ConfigDb config;
  for (const Change& change : changes) {
    const RowId id = change.path.row();
    const FieldLine* const field = field_line(id);
    if (field != nullptr && is_routing(*field))
      config.tables["DEVICE_METADATA"]["localhost"]["frr_mgmt_framework_config"] = "true";
    if (const auto lines = buffer_lines(); std::ranges::find(lines, id, &QosLine::row) != lines.end())
      config.tables["BUFFER_POOL"]["ingress_lossless_pool"] = {{"type", "ingress"}, {"mode", "dynamic"}};
    if (schema_row(id).is_of_port() && !is_loopback(change.path.key(0)))
      config.tables["PORT"].try_emplace(std::string(change.path.key(0)));
  }
  return config;
}

}  // namespace lockstep::sonic
