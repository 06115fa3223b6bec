#include "drivers/sonic/map.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <span>

#include "drivers/sonic/map_fields.hpp"
#include "drivers/sonic/port_qos.hpp"
#include "drivers/sonic/shared_rows.hpp"
#include "drivers/sonic/state_check.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::sonic {
namespace {

std::vector<std::string> texts(const std::set<int>& numbers) {
  std::vector<std::string> out;
  for (const int number : numbers) out.push_back(std::to_string(number));
  return out;
}

Value integer_or_none(const std::optional<std::int64_t>& number) {
  return number ? Value::integer(*number) : Value();
}

std::optional<int> number_of(std::string_view text, int most) {
  int out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc() || end != text.data() + text.size() || out < 0 || out > most) return std::nullopt;
  return out;
}

constexpr int kDscpMost = 63;  // RFC 2474: six bits

Result<std::set<int>> numbers_of(Path path, const Value& value, int most) {
  std::set<int> out;
  for (const std::string_view one : value.as_list()) {
    const auto number = number_of(one, most);
    if (!number)
      return Error{ErrorKind::invalid_spec, path.text() + ": '" + std::string(one) +
                                                "' is not a number from 0 to " + std::to_string(most)};
    out.insert(*number);
  }
  return out;
}

// A setting of a port's classes and buffers. The entry's second key, where it has one, is the class or the
// priority.
struct QosLine {
  RowId row;
  Value (*read)(const PortQos&, int);
  Result<Done> (*write)(PortQos&, int, const Change&);
};

template <auto Member>
Value read_class(const PortQos& qos, int number) {
  return integer_or_none(qos.classes.at(number).*Member);
}
template <auto Member>
Result<Done> write_class(PortQos& qos, int number, const Change& change) {
  const auto found = qos.classes.find(number);
  if (!change.want) {
    if (found != qos.classes.end()) (found->second.*Member).reset();
  } else {
    qos.classes[number].*Member = change.want.as_integer();
  }
  return Done{};
}
template <auto Member, int Most>
Value read_numbers(const PortQos& qos, int number) {
  const std::set<int>& all = qos.classes.at(number).*Member;
  return all.empty() ? Value() : Value::set(texts(all));
}
template <auto Member, int Most>
Result<Done> write_numbers(PortQos& qos, int number, const Change& change) {
  TRY(const std::set<int> wanted, numbers_of(change.path, change.want, Most));
  // Each belongs to one class.
  for (auto& [other, settings] : qos.classes)
    for (const int one : wanted) (settings.*Member).erase(one);
  const auto found = qos.classes.find(number);
  if (found != qos.classes.end() || !wanted.empty()) qos.classes[number].*Member = wanted;
  return Done{};
}
template <auto Member>
Value read_buffer(const PortQos& qos, int priority) {
  return integer_or_none(qos.buffers.at(priority).*Member);
}
template <auto Member>
Result<Done> write_buffer(PortQos& qos, int priority, const Change& change) {
  if (change.want) {
    qos.buffers[priority].*Member = change.want.as_integer();
    return Done{};
  }
  const auto found = qos.buffers.find(priority);
  if (found == qos.buffers.end()) return Done{};
  (found->second.*Member).reset();
  if (found->second == BufferSettings()) qos.buffers.erase(found);
  return Done{};
}

Value read_presence(const PortQos&, int) { return Value::present(); }
Result<Done> write_presence(PortQos& qos, int number, const Change& change) {
  if (change.want)
    qos.classes.try_emplace(number);
  else
    qos.classes.erase(number);
  return Done{};
}
Value read_strict(const PortQos& qos, int number) {
  const auto& strict = qos.classes.at(number).strict;
  return strict ? Value::boolean(*strict) : Value();
}
Result<Done> write_strict(PortQos& qos, int number, const Change& change) {
  const auto found = qos.classes.find(number);
  if (change.want)
    qos.classes[number].strict = change.want.as_boolean();
  else if (found != qos.classes.end())
    found->second.strict.reset();
  return Done{};
}
Value trust_of(const PortQos& qos) {
  return qos.trust == Trust::none ? Value() : Value::text(qos.trust == Trust::dscp ? "dscp" : "pcp");
}
Value read_pfc(const PortQos& qos, int) {
  return qos.lossless.empty() ? Value() : Value::set(texts(qos.lossless));
}
Result<Done> write_pfc(PortQos& qos, int, const Change& change) {
  TRY(qos.lossless, numbers_of(change.path, change.want, kQueues - 1));
  return Done{};
}

using C = ClassSettings;
using B = BufferSettings;
constexpr std::array kPortLines{
    QosLine{row("interface[*]/pfc"), read_pfc, write_pfc},
};
constexpr std::array kClassLines{
    QosLine{row("interface[*]/class[*]"), read_presence, write_presence},
    QosLine{row("interface[*]/class[*]/dscp"), read_numbers<&C::dscps, kDscpMost>,
            write_numbers<&C::dscps, kDscpMost>},
    QosLine{row("interface[*]/class[*]/ecn-max"), read_class<&C::ecn_max>, write_class<&C::ecn_max>},
    QosLine{row("interface[*]/class[*]/ecn-min"), read_class<&C::ecn_min>, write_class<&C::ecn_min>},
    QosLine{row("interface[*]/class[*]/ecn-probability"), read_class<&C::ecn_probability>,
            write_class<&C::ecn_probability>},
    QosLine{row("interface[*]/class[*]/max-rate"), read_class<&C::max_rate>, write_class<&C::max_rate>},
    QosLine{row("interface[*]/class[*]/priority"), read_numbers<&C::priorities, kQueues - 1>,
            write_numbers<&C::priorities, kQueues - 1>},
    QosLine{row("interface[*]/class[*]/share"), read_class<&C::share>, write_class<&C::share>},
    QosLine{row("interface[*]/class[*]/strict"), read_strict, write_strict},
};
constexpr std::array kBufferLines{
    QosLine{row("interface[*]/buffer[*]/dynamic-threshold"), read_buffer<&B::dynamic_threshold>,
            write_buffer<&B::dynamic_threshold>},
    QosLine{row("interface[*]/buffer[*]/size"), read_buffer<&B::size>, write_buffer<&B::size>},
    QosLine{row("interface[*]/buffer[*]/xoff"), read_buffer<&B::xoff>, write_buffer<&B::xoff>},
    QosLine{row("interface[*]/buffer[*]/xon"), read_buffer<&B::xon>, write_buffer<&B::xon>},
    QosLine{row("interface[*]/buffer[*]/xon-offset"), read_buffer<&B::xon_offset>,
            write_buffer<&B::xon_offset>},
};
constexpr RowId kPortRow = row("interface[*]");
constexpr RowId kNative = row("raw[*][*]");
constexpr RowId kTrust = row("interface[*]/trust");
constexpr RowId kCarrier = row("interface[*]/carrier");
constexpr RowId kPeer = row("interface[*]/peer");
constexpr RowId kSession = row("bgp/neighbor[*]/session");
constexpr std::array kPortEffects{kCarrier, kPeer};
constexpr std::string_view kDriver = "sonic";

std::vector<Unread> unread_of(std::span<const RowId> rows, const Scope& scope, const Error& why) {
  std::vector<Unread> out;
  for (const RowId one : rows)
    if (scope.wants(one)) out.push_back({one, {}, why});
  return out;
}

template <class Each>
void each_qos_line(Each each) {
  for (const auto lines : {std::span<const QosLine>(kPortLines), std::span<const QosLine>(kClassLines),
                           std::span<const QosLine>(kBufferLines)})
    for (const QosLine& line : lines) each(line);
}
const QosLine* qos_line(RowId wanted) {
  const QosLine* found = nullptr;
  each_qos_line([&](const QosLine& line) {
    if (line.row == wanted) found = &line;
  });
  return found;
}

void add(TreeBuilder& tree, Path path, const Value& value) {
  if (value) tree.add(path, value);
}

void add_qos(const ConfigDb& config, const std::string& port, const Scope& scope, TreeBuilder& tree) {
  const PortQos qos = qos_of(config, port);
  if (scope.wants(kTrust)) add(tree, Path(kTrust, {port}), trust_of(qos));
  for (const QosLine& line : kPortLines)
    if (scope.wants(line.row)) add(tree, Path(line.row, {port}), line.read(qos, 0));
  for (const auto& [number, settings] : qos.classes)
    for (const QosLine& line : kClassLines)
      if (scope.wants(line.row))
        add(tree, Path(line.row, {port, std::to_string(number)}), line.read(qos, number));
  for (const auto& [priority, settings] : qos.buffers)
    for (const QosLine& line : kBufferLines)
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
  make_move({place->table, place->key, goes ? std::nullopt : std::optional(std::move(row))}, config);
  return Done{};
}

class Editing {
 public:
  explicit Editing(const ConfigDb& config) : out_{config, {}} {}

  Edited all(const ChangeSet& changes) {
    out_.outcomes.resize(changes.size());
    for (std::size_t i = 0; i < changes.size(); ++i) one(changes[i], i);
    for (auto& [port, touched] : ports_) finish(port, touched);
    drop_unused(out_.config);
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

  Edited out_;
  std::map<std::string, Touched> ports_;
};

}  // namespace

std::vector<RowId> rows_read() {
  std::vector<RowId> out = rows_written();
  out.push_back(kPortRow);
  out.push_back(kTrust);
  out.insert(out.end(), kPortEffects.begin(), kPortEffects.end());
  out.push_back(kSession);
  return out;
}

void add_effects(const SwitchState& state, const Scope& scope, TreeBuilder& tree) {
  for (const auto& [port, seen] : state.ports) {
    if (scope.wants(kCarrier) && seen.is_up) tree.add(Path(kCarrier, {port}), Value::boolean(*seen.is_up));
    if (scope.wants(kPeer) && !seen.peer.empty()) tree.add(Path(kPeer, {port}), Value::text(seen.peer));
  }
  if (!scope.wants(kSession)) return;
  for (const auto& [neighbor, session] : state.sessions)
    tree.add(Path(kSession, {neighbor}), Value::text(session));
}

bool wants_ports(const Scope& scope) {
  return std::ranges::any_of(kPortEffects, [&scope](RowId id) { return scope.wants(id); });
}
bool wants_sessions(const Scope& scope) { return scope.wants(kSession); }

std::vector<Unread> unread_config(const Scope& scope, const Error& why) {
  std::vector<RowId> rows = rows_written();
  rows.push_back(kPortRow);
  rows.push_back(kTrust);
  return unread_of(rows, scope, why);
}
std::vector<Unread> unread_ports(const Scope& scope, const Error& why) {
  return unread_of(kPortEffects, scope, why);
}
std::vector<Unread> unread_sessions(const Scope& scope, const Error& why) {
  return unread_of(std::array{kSession}, scope, why);
}

std::vector<RowId> rows_written() {
  std::vector<RowId> out;
  for (const FieldLine& line : field_lines())
    if (std::ranges::find(out, line.row) == out.end()) out.push_back(line.row);
  each_qos_line([&out](const QosLine& line) { out.push_back(line.row); });
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
  if (scope.wants(kNative)) add_native(config, scope, tree);
}

std::vector<Incapable> incapable_of(const ConfigDb& config, const Scope& scope) {
  std::vector<Incapable> out;
  // frrcfgd reads these tables only then; else bgpcfgd renders templates from others.
  const ConfigRow* const metadata = config.find("DEVICE_METADATA", "localhost");
  const bool managed = metadata != nullptr && metadata->contains("frr_mgmt_framework_config") &&
                       metadata->at("frr_mgmt_framework_config") == ConfigField("true");
  if (!managed)
    for (const FieldLine& line : field_lines())
      if (scope.wants(line.row) && is_routing(line))
        out.push_back(
            {line.row, {}, "this SONiC's BGP comes from templates (frr_mgmt_framework_config is not true)"});
  const auto ports = config.tables.find("PORT");
  if (ports == config.tables.end()) return out;
  for (const auto& [port, row] : ports->second)
    for (const int priority : computed_priorities(config, port))
      for (const QosLine& line : kBufferLines)
        if (scope.wants(line.row))
          out.push_back({line.row,
                         {port, std::to_string(priority)},
                         "SONiC's buffermgrd computes it from speed and cable length"});
  return out;
}

Edited edited(const ConfigDb& config, const ChangeSet& changes) { return Editing(config).all(changes); }

ConfigDb bare_config(const ChangeSet& changes) {
  ConfigDb config;
  for (const Change& change : changes) {
    const RowId id = change.path.row();
    const FieldLine* const field = field_line(id);
    if (field != nullptr && is_routing(*field))
      config.tables["DEVICE_METADATA"]["localhost"]["frr_mgmt_framework_config"] = "true";
    if (std::ranges::find(kBufferLines, id, &QosLine::row) != kBufferLines.end())
      config.tables["BUFFER_POOL"]["ingress_lossless_pool"] = {{"type", "ingress"}, {"mode", "dynamic"}};
    if (schema_row(id).is_of_port() && !is_loopback(change.path.key(0)))
      config.tables["PORT"].try_emplace(std::string(change.path.key(0)));
  }
  return config;
}

}  // namespace lockstep::sonic
