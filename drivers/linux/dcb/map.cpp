#include "drivers/linux/dcb/map.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "drivers/linux/bit_rate.hpp"

namespace lockstep::dcb_map {
namespace {

using dcb::PortState;

constexpr std::size_t kPriorities = 8;  // 802.1Q: three bits
constexpr std::size_t kDscps = 64;      // RFC 2474: six bits
constexpr std::int64_t kSizeMax = UINT32_MAX;
constexpr std::int64_t kBitsOfRate = kBitsPerKilobit;     // dcbnl counts kbit/s
constexpr std::int64_t kRateMax = std::int64_t{1} << 50;  // bit/s; a petabit a second: no port has it

constexpr RowId kClass = row("interface[*]/class[*]");
constexpr RowId kClassPriority = row("interface[*]/class[*]/priority");
constexpr RowId kClassShare = row("interface[*]/class[*]/share");
constexpr RowId kClassStrict = row("interface[*]/class[*]/strict");
constexpr RowId kClassRows[] = {kClass, kClassDscp, kClassMaxRate, kClassPriority, kClassShare, kClassStrict};

// dcb-dcbx(8), in the order in which it prints them.
constexpr std::array<std::pair<std::string_view, std::uint8_t>, 5> kModes{{
    {"host", DCB_CAP_DCBX_HOST},
    {"lld-managed", DCB_CAP_DCBX_LLD_MANAGED},
    {"cee", DCB_CAP_DCBX_VER_CEE},
    {"ieee", DCB_CAP_DCBX_VER_IEEE},
    {"static", DCB_CAP_DCBX_STATIC},
}};

// dcb-apptrust(8).
constexpr std::array<std::pair<std::string_view, std::uint8_t>, 6> kSelectors{{
    {"ethtype", IEEE_8021QAZ_APP_SEL_ETHERTYPE},
    {"stream-port", IEEE_8021QAZ_APP_SEL_STREAM},
    {"dgram-port", IEEE_8021QAZ_APP_SEL_DGRAM},
    {"port", IEEE_8021QAZ_APP_SEL_ANY},
    {"dscp", IEEE_8021QAZ_APP_SEL_DSCP},
    {"pcp", dcb::kSelectorPcp},
}};
constexpr std::string_view kNothing = "nothing";

struct NotCarried {
  RowId row;
  std::string_view why;
};
constexpr NotCarried kNotCarried[] = {
    {row("interface[*]/buffer[*]/xoff"),
     "dcbnl has no pause threshold: the port takes it from its buffer, the MTU and the PFC delay"},
    {row("interface[*]/pfc-watchdog/action"), "dcbnl has no PFC watchdog"},
    {row("interface[*]/pfc-watchdog/detection-time"), "dcbnl has no PFC watchdog"},
    {row("interface[*]/pfc-watchdog/restoration-time"), "dcbnl has no PFC watchdog"},
};

Error wrong(const Change& change, std::string_view takes) {
  return Error{ErrorKind::invalid_spec, change.path.text() + " takes " + std::string(takes)};
}

std::optional<std::size_t> below(std::size_t bound, std::string_view text) {
  std::size_t out = 0;
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  if (read.ec != std::errc{} || read.ptr != end || out >= bound) return std::nullopt;
  return out;
}

std::optional<std::size_t> priority_of(std::string_view text) { return below(kPriorities, text); }

Value lossless(const ieee_pfc& pfc) {
  std::vector<std::string> out;
  for (std::size_t priority = 0; priority < kPriorities; ++priority)
    if ((pfc.pfc_en >> priority & 1U) != 0) out.push_back(std::to_string(priority));
  return Value::set(std::move(out));
}

Result<Done> overlay_pfc(const Change& change, ieee_pfc& pfc) {
  if (change.want.kind() != Value::Kind::list)
    return wrong(change, "a list of priorities, and can't be unset");
  unsigned wanted = 0;
  for (const std::string_view one : change.want.as_list()) {
    const auto priority = priority_of(one);
    if (!priority) return wrong(change, "priorities from 0 to 7");
    wanted |= 1U << *priority;
  }
  pfc.pfc_en = static_cast<std::uint8_t>(wanted);
  return Done{};
}

Result<Done> overlay_mode(const Change& change, std::uint8_t& mode) {
  constexpr std::string_view kTakes =
      "words of host, lld-managed, cee, ieee and static, in this order, and can't be unset";
  if (change.want.kind() != Value::Kind::text) return wrong(change, kTakes);
  unsigned wanted = 0;
  const std::string text = " " + std::string(change.want.as_text()) + " ";
  for (const auto& [word, bit] : kModes)
    if (text.find(" " + std::string(word) + " ") != std::string::npos) wanted |= bit;
  if (mode_words(static_cast<std::uint8_t>(wanted)) != change.want.as_text()) return wrong(change, kTakes);
  mode = static_cast<std::uint8_t>(wanted);
  return Done{};
}

bool alone_in_its_buffer(const dcbnl_buffer& buffer, std::size_t priority) {
  return std::ranges::count(buffer.prio2buffer, buffer.prio2buffer[priority]) == 1;
}

// A buffer for one priority: the one that it has to itself, else an empty one, by preference of its number.
Result<std::uint8_t> own_buffer(const dcbnl_buffer& buffer, std::size_t priority, Path entry) {
  const std::uint8_t at = buffer.prio2buffer[priority];
  if (at != 0 && alone_in_its_buffer(buffer, priority)) return at;
  const auto is_free = [&](std::size_t number) {
    return number != 0 && std::ranges::count(buffer.prio2buffer, number) == 0;
  };
  for (const std::size_t number : {priority, 1UL, 2UL, 3UL, 4UL, 5UL, 6UL, 7UL})
    if (is_free(number)) return static_cast<std::uint8_t>(number);
  return Error{ErrorKind::refused, entry.text() + ": other priorities have all buffers of the port"};
}

Result<Done> overlay_size(const Change& change, std::size_t priority, dcbnl_buffer& buffer) {
  if (!change.want) {
    if (alone_in_its_buffer(buffer, priority) && buffer.prio2buffer[priority] != 0)
      buffer.buffer_size[buffer.prio2buffer[priority]] = 0;
    buffer.prio2buffer[priority] = 0;
    return Done{};
  }
  const std::int64_t size = change.want.kind() == Value::Kind::integer ? change.want.as_integer() : -1;
  if (size < 0 || size > kSizeMax) return wrong(change, "bytes");
  TRY(const std::uint8_t own, own_buffer(buffer, priority, change.path));
  buffer.prio2buffer[priority] = own;
  buffer.buffer_size[own] = static_cast<std::uint32_t>(size);
  return Done{};
}

Value numbers(const std::set<std::uint8_t>& some) {
  std::vector<std::string> out;
  for (const std::uint8_t one : some) out.push_back(std::to_string(one));
  return out.empty() ? Value{} : Value::set(std::move(out));
}

std::string trust_words(const std::vector<std::uint8_t>& selectors) {
  std::string out;
  for (const std::uint8_t one : selectors) {
    const auto known = std::ranges::find(kSelectors, one, &std::pair<std::string_view, std::uint8_t>::second);
    const std::string word = known == kSelectors.end() ? std::to_string(one) : std::string(known->first);
    out += (out.empty() ? "" : " ") + word;
  }
  return out.empty() ? std::string(kNothing) : out;
}

Result<Done> overlay_trust(const Change& change, std::vector<std::uint8_t>& trust) {
  constexpr std::string_view kTakes =
      "dscp or pcp, or more selectors in the words of dcb-apptrust(8), and can't be unset";
  if (change.want.kind() != Value::Kind::text) return wrong(change, kTakes);
  std::vector<std::uint8_t> out;
  std::string_view rest = change.want.as_text();
  if (rest == kNothing) rest = {};
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const auto known =
        std::ranges::find(kSelectors, rest.substr(0, end), &std::pair<std::string_view, std::uint8_t>::first);
    if (known == kSelectors.end()) return wrong(change, kTakes);
    out.push_back(known->second);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  trust = std::move(out);
  return Done{};
}

// What is asked of the class leaves its other class.
Result<Done> overlay_members(const Change& change, unsigned number, std::size_t bound,
                             dcb::PortClasses& classes, std::set<std::uint8_t> dcb::PortClass::*members) {
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

// Empty: none is wanted.
template <class T>
Result<std::optional<T>> number_or_none(const Change& change, std::int64_t max, std::int64_t unit) {
  if (!change.want) return std::optional<T>();
  const std::int64_t number = change.want.kind() == Value::Kind::integer ? change.want.as_integer() : 0;
  if (number < unit || number > max || number % unit != 0)
    return wrong(change, "a number from " + std::to_string(unit) + " to " + std::to_string(max) +
                             ", a multiple of " + std::to_string(unit));
  return std::optional<T>(static_cast<T>(number / unit));
}

Result<Done> overlay_class(const Change& change, dcb::PortClasses& classes) {
  constexpr std::int64_t kWhole = 100;  // percent
  const auto key = below(IEEE_8021QAZ_MAX_TCS, change.path.key(1));
  if (!key) return wrong(change, "a key from 0 to 7, a traffic class");
  const auto number = static_cast<unsigned>(*key);
  const RowId id = change.path.row();
  if (id == kClass && !change.want) {
    classes.erase(number);
    return Done{};
  }
  if (!change.want && !classes.contains(number)) return Done{};  // gone with its class
  dcb::PortClass& one = classes[number];
  switch (id) {
    case kClassPriority:
      return overlay_members(change, number, kPriorities, classes, &dcb::PortClass::priorities);
    case kClassDscp: return overlay_members(change, number, kDscps, classes, &dcb::PortClass::dscp);
    case kClassShare: {
      TRY(one.share, number_or_none<std::uint8_t>(change, kWhole, 1));
      return Done{};
    }
    case kClassMaxRate: {
      TRY(one.max_rate, number_or_none<std::uint64_t>(change, kRateMax, kBitsOfRate));
      return Done{};
    }
    case kClassStrict:
      if (change.want && change.want.kind() != Value::Kind::boolean) return wrong(change, "true or false");
      one.strict = change.want && change.want.as_boolean();
      if (one.strict) one.share.reset();
      return Done{};
    default: return Done{};
  }
}

Value class_value(Path entry, const dcb::PortClasses& classes) {
  const auto number = below(IEEE_8021QAZ_MAX_TCS, entry.key(1));
  const auto found = number ? classes.find(static_cast<unsigned>(*number)) : classes.end();
  if (found == classes.end()) return Value{};
  const dcb::PortClass& one = found->second;
  switch (entry.row()) {
    case kClass: return Value::present();
    case kClassPriority: return numbers(one.priorities);
    case kClassDscp: return numbers(one.dscp);
    case kClassStrict: return Value::boolean(one.strict);
    case kClassShare: return one.share ? Value::integer(*one.share) : Value{};
    default: return one.max_rate ? Value::integer(bit_rate(*one.max_rate, kBitsPerKilobit)) : Value{};
  }
}

std::string class_words(const Change& change) {
  const std::string port(change.path.key(0));
  const std::string number(change.path.key(1));
  const std::string ets = "dcb ets set dev " + port;
  std::string out;
  switch (change.path.row()) {
    case kClass:
      if (change.want) return "# traffic class " + number + " of " + port + ": by its priorities";
      return ets + " prio-tc ...  # the priorities of class " + number + " to the class of priority 0";
    case kClassPriority:
      out = ets + " prio-tc";
      for (const std::string_view one : change.want.as_list()) out += " " + std::string(one) + ":" + number;
      return out;
    case kClassDscp:
      out = "dcb app replace dev " + port + " dscp-prio";
      for (const std::string_view one : change.want.as_list()) out += " " + std::string(one) + ":PRIORITY";
      return out + "  # a priority of class " + number + "; of the others, app del";
    case kClassShare:
      if (!change.want) return ets + " tc-bw " + number + ":0";
      return ets + " tc-tsa " + number + ":ets tc-bw " + number + ":" + change.want.to_string();
    case kClassMaxRate: {
      // dcb(8) of iproute2 6.1 hands over bytes a second (tc's bps), which the kernel takes for kbit/s:
      // measured.
      const std::int64_t rate = change.want ? change.want.as_integer() / kBitsOfRate : 0;
      return "dcb maxrate set dev " + port + " tc-maxrate " + number + ":" + std::to_string(rate) +
             "bps  # kbit/s for the kernel";
    }
    default:
      return ets + " tc-tsa " + number + ":" + (change.want && change.want.as_boolean() ? "strict" : "ets");
  }
}

// "prio-pfc all:off 3:on"
std::string pfc_words(Value want) {
  std::string out = " prio-pfc all:off";
  for (const std::string_view one : want.as_list()) out += " " + std::string(one) + ":on";
  return out;
}

}  // namespace

std::string mode_words(std::uint8_t mode) {
  std::string out;
  for (const auto& [word, bit] : kModes)
    if ((mode & bit) != 0) out += (out.empty() ? "" : " ") + std::string(word);
  return out;
}

std::string priority_words(std::uint8_t mask) {
  std::string out;
  for (std::size_t priority = 0; priority < kPriorities; ++priority)
    if ((mask >> priority & 1U) != 0) out += (out.empty() ? "" : ", ") + std::to_string(priority);
  if (out.empty()) return "no priority";
  return (out.size() == 1 ? "priority " : "priorities ") + out;
}

bool is_class_row(RowId row) { return std::ranges::find(kClassRows, row) != std::end(kClassRows); }

std::vector<RowId> rows(bool classes) {
  std::vector<RowId> out = {kPfc, kDcbx, kPause, kBufferSize, kTrust};
  if (classes) out.insert(out.end(), std::begin(kClassRows), std::end(kClassRows));
  for (const NotCarried& one : kNotCarried) out.push_back(one.row);
  return out;
}

std::string lacking(RowId row, const PortState& state) {
  if (row == kPause) return state.no_pause;
  if (!state.no_dcb.empty()) return state.no_dcb;
  for (const NotCarried& one : kNotCarried)
    if (one.row == row) return std::string(one.why);
  const auto is_there = [&] {
    if (row == kPfc) return state.dcb.pfc.has_value();
    if (row == kDcbx) return state.dcb.mode.has_value();
    if (row == kTrust) return state.trust.has_value();
    if (row == kClassMaxRate) return state.dcb.ets.has_value() && state.dcb.maxrate.has_value();
    return is_class_row(row) ? state.dcb.ets.has_value() : state.dcb.buffer.has_value();
  };
  return is_there() ? std::string() : "the port's driver leaves this out of its dcbnl operations";
}

std::vector<Entry> entries(std::string_view port, const PortState& state) {
  std::vector<Path> paths = {Path(kDcbx, {port}), Path(kPause, {port}), Path(kPfc, {port}),
                             Path(kTrust, {port})};
  for (std::size_t priority = 0; priority < kPriorities; ++priority)
    paths.push_back(Path(kBufferSize, {port, std::to_string(priority)}));
  for (const auto& [number, one] : state.classes)
    for (const RowId row : kClassRows) paths.push_back(Path(row, {port, std::to_string(number)}));
  std::vector<Entry> out;
  for (const Path one : paths)
    if (const Value value = value_of(one, state)) out.push_back({one, 0, value});
  return out;
}

Value value_of(Path entry, const PortState& state) {
  switch (entry.row()) {
    case kPfc: return state.dcb.pfc ? lossless(*state.dcb.pfc) : Value{};
    case kDcbx: return state.dcb.mode ? Value::text(mode_words(*state.dcb.mode)) : Value{};
    case kPause: return state.pause ? Value::boolean(*state.pause) : Value{};
    case kTrust: return state.trust ? Value::text(trust_words(*state.trust)) : Value{};
    case kBufferSize: {
      const auto priority = priority_of(entry.key(1));
      if (!priority || !state.dcb.buffer) return Value{};
      const std::uint8_t at = state.dcb.buffer->prio2buffer[*priority];
      return at == 0 ? Value{} : Value::integer(state.dcb.buffer->buffer_size[at]);
    }
    default: return is_class_row(entry.row()) ? class_value(entry, state.classes) : Value{};
  }
}

Result<Done> overlay(const Change& change, PortState& state) {
  switch (change.path.row()) {
    case kPfc: return overlay_pfc(change, *state.dcb.pfc);
    case kDcbx: return overlay_mode(change, *state.dcb.mode);
    case kTrust: return overlay_trust(change, *state.trust);
    case kPause:
      if (change.want.kind() != Value::Kind::boolean)
        return wrong(change, "true or false, and can't be unset");
      state.pause = change.want.as_boolean();
      return Done{};
    default: {
      if (is_class_row(change.path.row())) return overlay_class(change, state.classes);
      const auto priority = priority_of(change.path.key(1));
      if (!priority) return wrong(change, "a key from 0 to 7, a priority");
      return overlay_size(change, *priority, *state.dcb.buffer);
    }
  }
}

Result<Done> settle_classes(const std::vector<Path>& named, PortState& state) {
  for (const Path one : named) {
    const auto number = below(IEEE_8021QAZ_MAX_TCS, one.key(1));
    const auto found = number ? state.classes.find(static_cast<unsigned>(*number)) : state.classes.end();
    if (found != state.classes.end() && found->second.priorities.empty())
      return Error{ErrorKind::invalid_spec, Path(kClass, {one.key(0), one.key(1)}).text() +
                                                " has no priority: a port's traffic class is made of the "
                                                "priorities that map to it"};
  }
  dcb::place_priorities(state.classes);
  return dcb::check(state.classes, *state.dcb.ets);
}

std::string native(const Change& change) {
  const std::string port(change.path.key(0));
  switch (change.path.row()) {
    case kPfc: return "dcb pfc set dev " + port + pfc_words(change.want);
    case kDcbx: return "dcb dcbx set dev " + port + " " + change.want.to_string();
    case kPause: {
      const std::string on = change.want && change.want.as_boolean() ? "on" : "off";
      return "ethtool -A " + port + " rx " + on + " tx " + on;
    }
    case kTrust:
      return "dcb apptrust set dev " + port + " order " + change.want.to_string() +
             "  # without a trust table: by whether there are entries of DSCPs";
    case kBufferSize: {
      const std::string priority(change.path.key(1));
      const std::string buffer = change.want ? priority : "0";
      return "dcb buffer set dev " + port + " prio-buffer " + priority + ":" + buffer + " buffer-size " +
             priority + ":" + (change.want ? change.want.to_string() : "0") +
             "  # or another buffer that is free";
    }
    default: return is_class_row(change.path.row()) ? class_words(change) : std::string();
  }
}

}  // namespace lockstep::dcb_map
