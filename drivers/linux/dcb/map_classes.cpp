// The map's rows for traffic classes, keyed by the class's number.
#include <algorithm>

#include "drivers/linux/bit_rate.hpp"
#include "drivers/linux/dcb/map_row.hpp"
#include "drivers/mapped/map_table.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::dcb_map {
namespace {

using dcb::PortState;

constexpr std::size_t kDscps = 64;                        // RFC 2474: six bits
constexpr std::int64_t kBitsOfRate = kBitsPerKilobit;     // dcbnl counts kbit/s
constexpr std::int64_t kRateMax = std::int64_t{1} << 50;  // bit/s; a petabit a second: above any port's rate

// Empty: none is desired.
template <class T>
Result<std::optional<T>> number_or_none(const Change& change, std::int64_t max, std::int64_t unit) {
  if (!change.want) return std::optional<T>();
  const std::int64_t number = change.want.kind() == Value::Kind::integer ? change.want.as_integer() : 0;
  if (number < unit || number > max || number % unit != 0)
    return wrong(change, "a number from " + std::to_string(unit) + " to " + std::to_string(max) +
                             ", a multiple of " + std::to_string(unit));
  return std::optional<T>(static_cast<T>(number / unit));
}

std::optional<unsigned> class_number(Path entry) {
  const auto number = below(IEEE_8021QAZ_MAX_TCS, entry.key(1));
  return number ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

// A value of an existing traffic class.
template <Value (*read)(const dcb::PortClass&)>
Value of_class(Path entry, const PortState& state) {
  const auto number = class_number(entry);
  const auto found = number ? state.classes.find(*number) : state.classes.end();
  return found == state.classes.end() ? Value{} : read(found->second);
}

// Setting a value of a class that does not exist creates it.
template <Result<Done> (*write)(const Change&, unsigned, dcb::PortClasses&)>
Result<Done> to_class(const Change& change, PortState& state) {
  const auto number = class_number(change.path);
  if (!number) return wrong(change, "a key from 0 to 7, a traffic class");
  if (!change.want && !state.classes.contains(*number)) return Done{};  // removed with its class
  state.classes.try_emplace(*number);
  return write(change, *number, state.classes);
}

Value there(const dcb::PortClass&) { return Value::present(); }

Result<Done> overlay_class(const Change& change, unsigned number, dcb::PortClasses& classes) {
  if (!change.want) classes.erase(number);
  return Done{};
}

std::string class_words(const Change& change) {
  const std::string port(change.path.key(0));
  const std::string number(change.path.key(1));
  if (change.want) return "# traffic class " + number + " of " + port + ": by its priorities";
  return "dcb ets set dev " + port + " prio-tc ...  # the priorities of class " + number +
         " to the class of priority 0";
}

using Members = std::set<std::uint8_t> dcb::PortClass::*;

template <Members members>
Value numbers(const dcb::PortClass& one) {
  std::vector<std::string> out;
  for (const std::uint8_t each : one.*members) out.push_back(std::to_string(each));
  return out.empty() ? Value{} : Value::set(std::move(out));
}

// Members given to the class are removed from their previous class.
template <Members members, std::size_t bound>
Result<Done> overlay_members(const Change& change, unsigned number, dcb::PortClasses& classes) {
  std::set<std::uint8_t> wanted;
  if (change.want && change.want.kind() != Value::Kind::list) return wrong(change, "a list of numbers");
  if (change.want)
    for (const std::string_view text : change.want.as_list()) {
      const auto one = below(bound, text);
      if (!one) return wrong(change, "numbers from 0 to " + std::to_string(bound - 1));
      wanted.insert(static_cast<std::uint8_t>(*one));
    }
  for (auto& [other, its] : classes)
    for (const std::uint8_t one : wanted) (its.*members).erase(one);
  classes[number].*members = std::move(wanted);
  return Done{};
}

std::string dscp_words(const Change& change) {
  std::string out = "dcb app replace dev " + std::string(change.path.key(0)) + " dscp-prio";
  for (const std::string_view one : change.want.as_list()) out += " " + std::string(one) + ":PRIORITY";
  return out + "  # a priority of class " + std::string(change.path.key(1)) + "; of the others, app del";
}

std::string ets_words(const Change& change) { return "dcb ets set dev " + std::string(change.path.key(0)); }

std::string priority_of_class_words(const Change& change) {
  std::string out = ets_words(change) + " prio-tc";
  for (const std::string_view one : change.want.as_list())
    out += " " + std::string(one) + ":" + std::string(change.path.key(1));
  return out;
}

Value max_rate(const dcb::PortClass& one) {
  return one.max_rate ? Value::integer(bit_rate(*one.max_rate, kBitsPerKilobit)) : Value{};
}

Result<Done> overlay_max_rate(const Change& change, unsigned number, dcb::PortClasses& classes) {
  TRY(classes[number].max_rate, number_or_none<std::uint64_t>(change, kRateMax, kBitsOfRate));
  return Done{};
}

// iproute2 6.1's dcb(8) passes bytes a second (tc's bps), which the kernel interprets as kbit/s (measured).
std::string max_rate_words(const Change& change) {
  const std::int64_t rate = change.want ? change.want.as_integer() / kBitsOfRate : 0;
  return "dcb maxrate set dev " + std::string(change.path.key(0)) + " tc-maxrate " +
         std::string(change.path.key(1)) + ":" + std::to_string(rate) + "bps  # kbit/s for the kernel";
}

// 802.1Qaz 37.3 counts whole percents.
constexpr std::int64_t kPermilleOfPercent = 10;

Value share(const dcb::PortClass& one) {
  return one.share ? Value::integer(*one.share * kPermilleOfPercent) : Value{};
}

Result<Done> overlay_share(const Change& change, unsigned number, dcb::PortClasses& classes) {
  constexpr std::int64_t kWhole = 1000;  // per mille
  TRY(classes[number].share, number_or_none<std::uint8_t>(change, kWhole, kPermilleOfPercent));
  return Done{};
}

std::string share_words(const Change& change) {
  const std::string number(change.path.key(1));
  if (!change.want) return ets_words(change) + " tc-bw " + number + ":0";
  return ets_words(change) + " tc-tsa " + number + ":ets tc-bw " + number + ":" +
         std::to_string(change.want.as_integer() / kPermilleOfPercent);
}

Value strict(const dcb::PortClass& one) { return Value::boolean(one.strict); }

Result<Done> overlay_strict(const Change& change, unsigned number, dcb::PortClasses& classes) {
  if (change.want && change.want.kind() != Value::Kind::boolean) return wrong(change, "true or false");
  dcb::PortClass& one = classes[number];
  one.strict = change.want && change.want.as_boolean();
  if (one.strict) one.share.reset();
  return Done{};
}

std::string strict_words(const Change& change) {
  const std::string_view how = change.want && change.want.as_boolean() ? "strict" : "ets";
  return ets_words(change) + " tc-tsa " + std::string(change.path.key(1)) + ":" + std::string(how);
}

using dcb::PortClass;
constexpr MapRow kRows[] = {
    {row("interface[*]/class[*]"), Object::ets, of_class<there>, to_class<overlay_class>, class_words},
    {row("interface[*]/class[*]/dscp"), Object::entries, of_class<numbers<&PortClass::dscp>>,
     to_class<overlay_members<&PortClass::dscp, kDscps>>, dscp_words},
    {row("interface[*]/class[*]/max-rate"), Object::rates, of_class<max_rate>, to_class<overlay_max_rate>,
     max_rate_words},
    {row("interface[*]/class[*]/priority"), Object::ets, of_class<numbers<&PortClass::priorities>>,
     to_class<overlay_members<&PortClass::priorities, kPriorities>>, priority_of_class_words},
    {row("interface[*]/class[*]/share"), Object::ets, of_class<share>, to_class<overlay_share>, share_words},
    {row("interface[*]/class[*]/strict"), Object::ets, of_class<strict>, to_class<overlay_strict>,
     strict_words},
};
static_assert(has_each_row_once(kRows));

}  // namespace

std::span<const MapRow> class_rows() { return kRows; }

Result<Done> settle_classes(const std::vector<Path>& named, PortState& state) {
  for (const Path one : named) {
    const auto number = below(IEEE_8021QAZ_MAX_TCS, one.key(1));
    const auto found = number ? state.classes.find(static_cast<unsigned>(*number)) : state.classes.end();
    if (found != state.classes.end() && found->second.priorities.empty())
      return Error{ErrorKind::invalid_spec,
                   Path(row("interface[*]/class[*]"), {one.key(0), one.key(1)}).text() +
                       " has no priority: a port's traffic class is made of the "
                       "priorities that map to it"};
  }
  dcb::place_priorities(state.classes);
  return dcb::check(state.classes, *state.dcb.ets);
}

}  // namespace lockstep::dcb_map
