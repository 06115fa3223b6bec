#include "drivers/linux/ethtool/map.hpp"

#include <algorithm>
#include <span>

#include "drivers/mapped/map_table.hpp"

namespace lockstep::ethtool_map {
namespace {

using ethtool::Facts;
using ethtool::Kind;

consteval ethtool::NumberAttribute number(Kind kind, std::string_view option) {
  for (const ethtool::NumberAttribute& one : ethtool::kNumberAttributes)
    if (one.kind == kind && one.option == option) return one;
  throw "ethtool has no such number";
}

// A row's number, by the entry's last key.
struct KeyedNumber {
  std::string_view key;
  ethtool::NumberAttribute number;
};
constexpr KeyedNumber kRings[] = {{"rx", number(Kind::rings, "rx")}, {"tx", number(Kind::rings, "tx")}};
constexpr KeyedNumber kChannels[] = {{"combined", number(Kind::channels, "combined")},
                                     {"rx", number(Kind::channels, "rx")},
                                     {"tx", number(Kind::channels, "tx")}};
constexpr KeyedNumber kAdaptive[] = {{"rx", number(Kind::coalescing, "adaptive-rx")},
                                     {"tx", number(Kind::coalescing, "adaptive-tx")}};
constexpr KeyedNumber kTimes[] = {{"rx", number(Kind::coalescing, "rx-usecs")},
                                  {"tx", number(Kind::coalescing, "tx-usecs")}};
constexpr KeyedNumber kFrames[] = {{"rx", number(Kind::coalescing, "rx-frames")},
                                   {"tx", number(Kind::coalescing, "tx-frames")}};

using Changes = std::span<const Change* const>;
struct MapRow {
  RowId row;
  Kind kind;
  std::span<const KeyedNumber> numbers;  // none: the row is not a number
  std::string_view option;               // of ethtool(8); empty: the number's option, or the entry's key
  Value (*read)(Path, const Facts&, const Names&);
  Result<Done> (*check)(const Change&, const Link&, const Facts&, const Names&);
  // Puts changes of the row that passed check() into one request.
  void (*write)(Changes, const Facts&, const Names&, netlink::Request&);
  // The value that the port adopted instead of the desired one; none: the desired one.
  std::optional<std::string> (*taken)(const Change&, const Facts& before, const Facts& after, const Names&);
};
const MapRow& map_of(RowId id);

const ethtool::NumberAttribute* number_of(Path entry) {
  for (const KeyedNumber& one : map_of(entry.row()).numbers)
    if (one.key == entry.key(1)) return &one.number;
  return nullptr;
}

// ethtool(8)'s options that show and set a kind.
struct Options {
  std::string_view show;
  std::string_view set;
};
Options options_of(Kind kind) {
  switch (kind) {
    case Kind::rings: return {"-g", "-G"};
    case Kind::channels: return {"-l", "-L"};
    case Kind::coalescing: return {"-c", "-C"};
    case Kind::fec: return {"--show-fec", "--set-fec"};
    case Kind::features: return {"-k", "-K"};
    default: return {"", "-s"};
  }
}

std::string shown_by(Kind kind, std::string_view port) {
  const std::string option(options_of(kind).show);
  return " (ethtool " + option + (option.empty() ? "" : " ") + std::string(port) + ")";
}

std::string value_words(Value value) {
  if (value.kind() != Value::Kind::boolean) return value.to_string();
  return value.as_boolean() ? "on" : "off";
}

// "ring[rx] 1000", "offload[tso] on".
std::string asked(const Change& change) {
  const std::string whole = change.path.text();
  return whole.substr(whole.find('/') + 1) + " " + value_words(change.want);
}

Value read_autoneg(Path, const Facts& facts, const Names&) {
  return Value::boolean(std::get<ethtool::LinkModes>(facts).autoneg);
}

Value read_speed(Path, const Facts& facts, const Names&) {
  const auto speed = std::get<ethtool::LinkModes>(facts).speed;
  return speed ? Value::integer(*speed) : Value{};
}

Value read_fec(Path, const Facts& facts, const Names&) {
  const std::string words = ethtool::words_of(std::get<ethtool::Fec>(facts));
  return words.empty() ? Value{} : Value::text(words);
}

bool is_flag(RowId id) { return schema_row(id).type == EntryType::boolean; }

Value read_number(Path entry, const Facts& facts, const Names&) {
  const ethtool::NumberAttribute* const number = number_of(entry);
  if (number == nullptr) return {};
  const auto& numbers = std::get<ethtool::Numbers>(facts);
  const auto found = numbers.find(number->attribute);
  if (found == numbers.end()) return {};
  return is_flag(entry.row()) ? Value::boolean(found->second != 0) : Value::integer(found->second);
}

Value offload_value(std::string_view word, const Facts& facts, const Names& names) {
  const auto on = ethtool::is_on(word, std::get<ethtool::Features>(facts), names.features);
  return on ? Value::boolean(*on) : Value{};
}

Value read_offload(Path entry, const Facts& facts, const Names& names) {
  return offload_value(entry.key(1), facts, names);
}

std::string no_such(const ethtool::NumberAttribute& number, const Link& port) {
  return (port.kind.empty() ? "port" : port.kind) + ": ethtool " + std::string(options_of(number.kind).show) +
         " reports no " + std::string(number.option);
}

std::string no_feature(std::string_view word) {
  return "this kernel has no feature '" + std::string(word) + "' (ethtool -k)";
}

Result<Done> check_nothing(const Change&, const Link&, const Facts&, const Names&) { return Done{}; }

Result<Done> check_fec(const Change& change, const Link&, const Facts&, const Names&) {
  netlink::Request trial(0, 0);
  if (ethtool::put_fec(trial, change.want.as_text())) return Done{};
  return Error{ErrorKind::invalid_spec, change.path.text() + " takes auto, off, rs or baser"};
}

Result<Done> check_number(const Change& change, const Link& port, const Facts& facts, const Names& names) {
  const ethtool::NumberAttribute* const number = number_of(change.path);
  if (number == nullptr) return Error{ErrorKind::unsupported, change.path.text() + ": ethtool has none such"};
  if (!read_number(change.path, facts, names)) return Error{ErrorKind::unsupported, no_such(*number, port)};
  if (is_flag(change.path.row())) return Done{};
  constexpr std::int64_t kMax = 0xFFFFFFFF;
  if (change.want.as_integer() < 0 || change.want.as_integer() > kMax)
    return Error{ErrorKind::invalid_spec, change.path.text() + " takes a number from 0 to 4294967295"};
  const auto& numbers = std::get<ethtool::Numbers>(facts);
  const auto bound = numbers.find(number->max);
  if (number->max != 0 && bound != numbers.end() && change.want.as_integer() > bound->second)
    return Error{ErrorKind::refused, asked(change) + ": " + port.name + " takes at most " +
                                         std::to_string(bound->second) + shown_by(number->kind, port.name)};
  return Done{};
}

Result<Done> check_speed(const Change& change, const Link& port, const Facts& facts, const Names& names) {
  const auto speeds = ethtool::speeds_of(std::get<ethtool::LinkModes>(facts).supported, names.link_modes);
  const auto is_wanted = [&](std::uint32_t one) { return one == change.want.as_integer(); };
  // A port that reports no modes (virtio_net) may accept any speed.
  if (speeds.empty() || std::ranges::any_of(speeds, is_wanted)) return Done{};
  std::string those;
  for (const std::uint32_t one : speeds) those += (those.empty() ? "" : ", ") + std::to_string(one);
  return Error{ErrorKind::refused, asked(change) + ": " + port.name + " has link modes of " + those +
                                       " Mbit/s" + shown_by(Kind::link, port.name)};
}

Result<Done> check_offload(const Change& change, const Link& port, const Facts& facts, const Names& names) {
  const std::string_view word = change.path.key(1);
  const auto& features = std::get<ethtool::Features>(facts);
  if (!ethtool::is_known(word, names.features)) return Error{ErrorKind::unsupported, no_feature(word)};
  if (offload_value(word, facts, names) == change.want ||
      !ethtool::changeable(word, features, names.features).empty())
    return Done{};
  return Error{ErrorKind::unsupported,
               asked(change) + ": fixed in this port" + shown_by(Kind::features, port.name)};
}

// The required form of a row's value.
struct Form {
  Value::Kind kind;
  std::string_view words;
};
Form form_of(RowId id) {
  switch (schema_row(id).type) {
    case EntryType::boolean: return {Value::Kind::boolean, "true or false"};
    case EntryType::integer: return {Value::Kind::integer, "a number"};
    default: return {Value::Kind::text, "a word"};
  }
}

// The reported speed is the link's, which follows a change with a delay: only a speed that can't become the
// desired one counts.
std::optional<std::string> speed_taken(const Change& change, const Facts& before, const Facts& after,
                                       const Names& names) {
  const auto& now = std::get<ethtool::LinkModes>(after);
  const auto wanted = static_cast<std::uint32_t>(change.want.as_integer());
  if (now.autoneg) {
    const auto advertised = ethtool::speeds_of(now.advertised, names.link_modes);
    if (advertised == std::vector{wanted}) return std::nullopt;
    std::string those = "the port advertises";
    for (const std::uint32_t one : advertised) those += " " + std::to_string(one);
    return those;
  }
  if (!now.speed || *now.speed == wanted || now.speed == std::get<ethtool::LinkModes>(before).speed)
    return std::nullopt;
  return "the port took " + std::to_string(*now.speed);
}

// An unchanged number may be the result of rounding.
std::optional<std::string> value_taken(const Change& change, const Facts& before, const Facts& after,
                                       const Names& names) {
  const Value have = value_of(change.path, after, names);
  if (have == change.want) return std::nullopt;
  const bool kept = have.kind() != Value::Kind::integer && have == value_of(change.path, before, names);
  return kept ? "the kernel acknowledged it and left it as it was, " + value_words(have)
              : "the port took " + value_words(have);
}

std::optional<std::string> offload_taken(const Change& change, const Facts& before, const Facts& after,
                                         const Names& names) {
  auto taken = value_taken(change, before, after, names);
  if (taken) *taken += ": another offload or the device forbids it";
  return taken;
}

void write_offloads(Changes changes, const Facts& facts, const Names& names, netlink::Request& request) {
  std::map<std::string, bool> by_name;
  for (const Change* const one : changes)
    for (std::string& name :
         ethtool::changeable(one->path.key(1), std::get<ethtool::Features>(facts), names.features))
      by_name.insert_or_assign(std::move(name), one->want.as_boolean());
  ethtool::put_features(request, by_name);
}

template <void (*put_one)(const Change&, netlink::Request&)>
void each(Changes changes, const Facts&, const Names&, netlink::Request& request) {
  for (const Change* const one : changes) put_one(*one, request);
}

void put_autoneg(const Change& change, netlink::Request& request) {
  request.put_number(ETHTOOL_A_LINKMODES_AUTONEG, std::uint8_t{change.want.as_boolean()});
}

void put_speed(const Change& change, netlink::Request& request) {
  request.put_number(ETHTOOL_A_LINKMODES_SPEED, static_cast<std::uint32_t>(change.want.as_integer()));
}

void put_fec(const Change& change, netlink::Request& request) {
  ethtool::put_fec(request, change.want.as_text());
}

void put_number(const Change& change, netlink::Request& request) {
  const ethtool::NumberAttribute& number = *number_of(change.path);
  ethtool::put_number(request, number.kind, number.attribute,
                      is_flag(change.path.row()) ? std::uint32_t{change.want.as_boolean()}
                                                 : static_cast<std::uint32_t>(change.want.as_integer()));
}

constexpr MapRow kRows[] = {
    {row("interface[*]/autoneg"),
     Kind::link,
     {},
     "autoneg",
     read_autoneg,
     check_nothing,
     each<put_autoneg>,
     value_taken},
    {row("interface[*]/speed"),
     Kind::link,
     {},
     "speed",
     read_speed,
     check_speed,
     each<put_speed>,
     speed_taken},
    {row("interface[*]/fec"), Kind::fec, {}, "encoding", read_fec, check_fec, each<put_fec>, value_taken},
    {row("interface[*]/ring[*]"), Kind::rings, kRings, "", read_number, check_number, each<put_number>,
     value_taken},
    {row("interface[*]/channels[*]"), Kind::channels, kChannels, "", read_number, check_number,
     each<put_number>, value_taken},
    {row("interface[*]/coalescing/adaptive[*]"), Kind::coalescing, kAdaptive, "", read_number, check_number,
     each<put_number>, value_taken},
    {row("interface[*]/coalescing/time[*]"), Kind::coalescing, kTimes, "", read_number, check_number,
     each<put_number>, value_taken},
    {row("interface[*]/coalescing/frames[*]"), Kind::coalescing, kFrames, "", read_number, check_number,
     each<put_number>, value_taken},
    {kOffload, Kind::features, {}, "", read_offload, check_offload, write_offloads, offload_taken},
};
static_assert(has_each_row_once(kRows));

const MapRow& map_of(RowId id) { return *find_row(kRows, id); }

// A row without keys has one entry per port.
bool is_keyed(const MapRow& one) { return !one.numbers.empty() || one.kind == Kind::features; }

std::vector<std::string> keys_of(const MapRow& one, const Names& names) {
  std::vector<std::string> out;
  for (const KeyedNumber& each : one.numbers) out.emplace_back(each.key);
  if (one.kind == Kind::features) out.assign(names.offloads.begin(), names.offloads.end());
  return out;
}

}  // namespace

std::vector<RowId> rows() { return written_rows_of(kRows); }

Kind kind_of(RowId id) { return map_of(id).kind; }

std::vector<Entry> entries(std::string_view port, Kind kind, const Facts& facts, const Names& names) {
  std::vector<Entry> out;
  const auto add = [&](Path path) {
    if (const Value value = value_of(path, facts, names)) out.push_back({.path = path, .value = value});
  };
  for (const MapRow& one : kRows) {
    if (one.kind != kind) continue;
    for (const std::string& key : keys_of(one, names)) add(Path(one.row, {port, key}));
    if (!is_keyed(one)) add(Path(one.row, {port}));
  }
  return out;
}

Value value_of(Path entry, const Facts& facts, const Names& names) {
  return map_of(entry.row()).read(entry, facts, names);
}

std::vector<Incapable> lacking(const Link& port, Kind kind, const Facts& facts, const Names& names) {
  std::vector<Incapable> out;
  for (const MapRow& one : kRows)
    for (const KeyedNumber& each : one.numbers)
      if (one.kind == kind && !read_number(Path(one.row, {port.name, each.key}), facts, names))
        out.push_back({one.row, {port.name, std::string(each.key)}, no_such(each.number, port)});
  if (kind == Kind::features)
    for (const std::string& word : names.offloads)
      if (!ethtool::is_known(word, names.features))
        out.push_back({kOffload, {port.name, word}, no_feature(word)});
  return out;
}

std::vector<Incapable> incapable(const std::vector<Link>& ports, Kind kind, const FactsByPort& all,
                                 const Names& names, const WhyNot& why_not) {
  std::vector<Incapable> out;
  for (const Link& port : ports) {
    const auto facts = all.find(port.index);
    const auto why = why_not(port, facts != all.end());
    if (!why) continue;
    if (!why->empty()) {
      for (const MapRow& one : kRows)
        if (one.kind == kind) out.push_back({one.row, {port.name}, *why});
    } else if (facts != all.end()) {
      for (Incapable& lacks : lacking(port, kind, facts->second, names)) out.push_back(std::move(lacks));
    }
  }
  return out;
}

Result<Done> check(const Change& change, const Link& port, const Facts& facts, const Names& names) {
  const RowId id = change.path.row();
  if (change.want.kind() != form_of(id).kind)
    return Error{ErrorKind::invalid_spec,
                 change.path.text() + " takes " + std::string(form_of(id).words) + ", and can't be unset"};
  return map_of(id).check(change, port, facts, names);
}

void put(const std::vector<const Change*>& changes, const Facts& facts, const Names& names,
         netlink::Request& request) {
  const auto is_of_row = [](RowId id) { return [id](const Change* one) { return one->path.row() == id; }; };
  for (auto from = changes.begin(); from != changes.end();) {
    const RowId id = (*from)->path.row();
    const auto end = std::find_if_not(from, changes.end(), is_of_row(id));
    map_of(id).write(Changes(from, end), facts, names, request);
    from = end;
  }
}

std::optional<Error> difference(const Change& change, const Facts& before, const Facts& after,
                                const Names& names) {
  const MapRow& one = map_of(change.path.row());
  const std::optional<std::string> taken = one.taken(change, before, after, names);
  if (!taken) return std::nullopt;
  return Error{ErrorKind::refused, asked(change) + ": " + *taken + shown_by(one.kind, change.path.key(0))};
}

std::string native(const Change& change) {
  const MapRow& one = map_of(change.path.row());
  const std::string port(change.path.key(0));
  std::string_view option = one.option;
  if (const ethtool::NumberAttribute* const number = number_of(change.path))
    option = number->option;
  else if (option.empty() && one.numbers.empty())
    option = change.path.key(1);
  return "ethtool " + std::string(options_of(one.kind).set) + " " + port + " " + std::string(option) + " " +
         value_words(change.want);
}

}  // namespace lockstep::ethtool_map
