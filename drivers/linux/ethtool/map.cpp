#include "drivers/linux/ethtool/map.hpp"

#include <algorithm>

namespace lockstep::ethtool_map {
namespace {

using ethtool::Facts;
using ethtool::Kind;

constexpr RowId kAutoneg = row("interface[*]/autoneg");
constexpr RowId kFec = row("interface[*]/fec");
constexpr RowId kSpeed = row("interface[*]/speed");
constexpr RowId kRing = row("interface[*]/ring[*]");
constexpr RowId kChannels = row("interface[*]/channels[*]");
constexpr RowId kAdaptive = row("interface[*]/coalescing/adaptive[*]");
constexpr RowId kTime = row("interface[*]/coalescing/time[*]");
constexpr RowId kFrames = row("interface[*]/coalescing/frames[*]");

consteval ethtool::NumberAttribute number(Kind kind, std::string_view option) {
  for (const ethtool::NumberAttribute& one : ethtool::kNumberAttributes)
    if (one.kind == kind && one.option == option) return one;
  throw "ethtool has no such number";
}

struct NumberEntry {
  RowId row;
  std::string_view key;
  ethtool::NumberAttribute number;
};
constexpr NumberEntry kNumbers[] = {
    {kRing, "rx", number(Kind::rings, "rx")},
    {kRing, "tx", number(Kind::rings, "tx")},
    {kChannels, "combined", number(Kind::channels, "combined")},
    {kChannels, "rx", number(Kind::channels, "rx")},
    {kChannels, "tx", number(Kind::channels, "tx")},
    {kAdaptive, "rx", number(Kind::coalescing, "adaptive-rx")},
    {kAdaptive, "tx", number(Kind::coalescing, "adaptive-tx")},
    {kTime, "rx", number(Kind::coalescing, "rx-usecs")},
    {kTime, "tx", number(Kind::coalescing, "tx-usecs")},
    {kFrames, "rx", number(Kind::coalescing, "rx-frames")},
    {kFrames, "tx", number(Kind::coalescing, "tx-frames")},
};

const NumberEntry* number_entry(Path entry) {
  for (const NumberEntry& one : kNumbers)
    if (one.row == entry.row() && one.key == entry.key(1)) return &one;
  return nullptr;
}

// ethtool(8)'s option that shows a kind, and the one that sets it.
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

Value number_value(const NumberEntry& entry, const ethtool::Numbers& numbers) {
  const auto found = numbers.find(entry.number.attribute);
  if (found == numbers.end()) return {};
  return entry.row == kAdaptive ? Value::boolean(found->second != 0) : Value::integer(found->second);
}

Value offload_value(std::string_view word, const Facts& facts, const Names& names) {
  const auto on = ethtool::is_on(word, std::get<ethtool::Features>(facts), names.features);
  return on ? Value::boolean(*on) : Value{};
}

std::string no_such(const NumberEntry& entry, const Link& port) {
  return (port.kind.empty() ? "port" : port.kind) + ": ethtool " +
         std::string(options_of(entry.number.kind).show) + " tells no " + std::string(entry.number.option);
}

std::string no_feature(std::string_view word) {
  return "this kernel has no feature '" + std::string(word) + "' (ethtool -k)";
}

Result<Done> check_number(const Change& change, const Link& port, const ethtool::Numbers& numbers) {
  const NumberEntry* const entry = number_entry(change.path);
  if (entry == nullptr) return Error{ErrorKind::unsupported, change.path.text() + ": ethtool has none such"};
  if (!number_value(*entry, numbers)) return Error{ErrorKind::unsupported, no_such(*entry, port)};
  if (entry->row == kAdaptive) return Done{};
  constexpr std::int64_t kMax = 0xFFFFFFFF;
  if (change.want.as_integer() < 0 || change.want.as_integer() > kMax)
    return Error{ErrorKind::invalid_spec, change.path.text() + " takes a number from 0 to 4294967295"};
  const auto bound = numbers.find(entry->number.max);
  if (entry->number.max != 0 && bound != numbers.end() && change.want.as_integer() > bound->second)
    return Error{ErrorKind::refused, asked(change) + ": " + port.name + " takes at most " +
                                         std::to_string(bound->second) +
                                         shown_by(entry->number.kind, port.name)};
  return Done{};
}

Result<Done> check_speed(const Change& change, const Link& port, const ethtool::LinkModes& link,
                         const Names& names) {
  const auto speeds = ethtool::speeds_of(link.supported, names.link_modes);
  const auto is_wanted = [&](std::uint32_t one) { return one == change.want.as_integer(); };
  // One that tells no modes (virtio_net) may take any speed.
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

// What a value of the row has to be.
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

// A told speed is the link's, which follows a change in its own time: only what can't become the wanted one
// counts.
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

void put_offloads(const std::vector<const Change*>& changes, const Facts& facts, const Names& names,
                  netlink::Request& request) {
  std::map<std::string, bool> by_name;
  for (const Change* const one : changes)
    for (std::string& name :
         ethtool::changeable(one->path.key(1), std::get<ethtool::Features>(facts), names.features))
      by_name.insert_or_assign(std::move(name), one->want.as_boolean());
  ethtool::put_features(request, by_name);
}

}  // namespace

std::vector<RowId> rows() {
  return {kAutoneg, kSpeed, kFec, kRing, kChannels, kAdaptive, kTime, kFrames, kOffload};
}

Kind kind_of(RowId id) {
  switch (id) {
    case kAutoneg:
    case kSpeed: return Kind::link;
    case kFec: return Kind::fec;
    case kRing: return Kind::rings;
    case kChannels: return Kind::channels;
    case kOffload: return Kind::features;
    default: return Kind::coalescing;
  }
}

std::vector<Entry> entries(std::string_view port, Kind kind, const Facts& facts, const Names& names) {
  std::vector<Entry> out;
  const auto add = [&](Path path) {
    if (const Value value = value_of(path, facts, names)) out.push_back({.path = path, .value = value});
  };
  if (kind == Kind::link) {
    add(Path(kAutoneg, {port}));
    add(Path(kSpeed, {port}));
  }
  if (kind == Kind::fec) add(Path(kFec, {port}));
  if (kind == Kind::features)
    for (const std::string& word : names.offloads) add(Path(kOffload, {port, word}));
  for (const NumberEntry& one : kNumbers)
    if (one.number.kind == kind) add(Path(one.row, {port, one.key}));
  return out;
}

Value value_of(Path entry, const Facts& facts, const Names& names) {
  switch (entry.row()) {
    case kAutoneg: return Value::boolean(std::get<ethtool::LinkModes>(facts).autoneg);
    case kSpeed: {
      const auto speed = std::get<ethtool::LinkModes>(facts).speed;
      return speed ? Value::integer(*speed) : Value{};
    }
    case kFec: {
      const std::string words = ethtool::words_of(std::get<ethtool::Fec>(facts));
      return words.empty() ? Value{} : Value::text(words);
    }
    case kOffload: return offload_value(entry.key(1), facts, names);
    default: {
      const NumberEntry* const number = number_entry(entry);
      return number == nullptr ? Value{} : number_value(*number, std::get<ethtool::Numbers>(facts));
    }
  }
}

std::vector<Incapable> lacking(const Link& port, Kind kind, const Facts& facts, const Names& names) {
  std::vector<Incapable> out;
  for (const NumberEntry& one : kNumbers)
    if (one.number.kind == kind && !number_value(one, std::get<ethtool::Numbers>(facts)))
      out.push_back({one.row, {port.name, std::string(one.key)}, no_such(one, port)});
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
      for (const RowId row : rows())
        if (kind_of(row) == kind) out.push_back({row, {port.name}, *why});
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
  switch (kind_of(id)) {
    case Kind::link:
      return id == kSpeed ? check_speed(change, port, std::get<ethtool::LinkModes>(facts), names) : Done{};
    case Kind::fec: {
      netlink::Request trial(0, 0);
      if (ethtool::put_fec(trial, change.want.as_text())) return Done{};
      return Error{ErrorKind::invalid_spec, change.path.text() + " takes auto, off, rs or baser"};
    }
    case Kind::features: return check_offload(change, port, facts, names);
    default: return check_number(change, port, std::get<ethtool::Numbers>(facts));
  }
}

void put(const std::vector<const Change*>& changes, const Facts& facts, const Names& names,
         netlink::Request& request) {
  if (kind_of(changes.front()->path.row()) == Kind::features)
    return put_offloads(changes, facts, names, request);
  for (const Change* const one : changes) {
    const Value want = one->want;
    switch (one->path.row()) {
      case kAutoneg: request.put_number(ETHTOOL_A_LINKMODES_AUTONEG, std::uint8_t{want.as_boolean()}); break;
      case kSpeed:
        request.put_number(ETHTOOL_A_LINKMODES_SPEED, static_cast<std::uint32_t>(want.as_integer()));
        break;
      case kFec: ethtool::put_fec(request, want.as_text()); break;
      default: {
        const NumberEntry* const entry = number_entry(one->path);
        const bool flag = want.kind() == Value::Kind::boolean;
        ethtool::put_number(
            request, entry->number.kind, entry->number.attribute,
            flag ? std::uint32_t{want.as_boolean()} : static_cast<std::uint32_t>(want.as_integer()));
      }
    }
  }
}

std::optional<Error> difference(const Change& change, const Facts& before, const Facts& after,
                                const Names& names) {
  const RowId id = change.path.row();
  std::optional<std::string> taken;
  if (id == kSpeed) {
    taken = speed_taken(change, before, after, names);
  } else if (const Value have = value_of(change.path, after, names); have != change.want) {
    // A number that is as it was may have been rounded to that.
    const bool kept = have.kind() != Value::Kind::integer && have == value_of(change.path, before, names);
    taken = kept ? "the kernel acknowledged it and left it as it was, " + value_words(have)
                 : "the port took " + value_words(have);
    if (id == kOffload) *taken += ": another offload or the device forbids it";
  }
  if (!taken) return std::nullopt;
  return Error{ErrorKind::refused, asked(change) + ": " + *taken + shown_by(kind_of(id), change.path.key(0))};
}

std::string native(const Change& change) {
  const RowId id = change.path.row();
  const std::string port(change.path.key(0));
  std::string option;
  switch (id) {
    case kAutoneg: option = "autoneg"; break;
    case kSpeed: option = "speed"; break;
    case kFec: option = "encoding"; break;
    case kOffload: option = change.path.key(1); break;
    default:
      if (const NumberEntry* const entry = number_entry(change.path)) option = entry->number.option;
  }
  return "ethtool " + std::string(options_of(kind_of(id)).set) + " " + port + " " + option + " " +
         value_words(change.want);
}

}  // namespace lockstep::ethtool_map
