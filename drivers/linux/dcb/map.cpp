#include "drivers/linux/dcb/map.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace lockstep::dcb_map {
namespace {

using dcb::PortState;

constexpr std::size_t kPriorities = 8;  // 802.1Q: three bits
constexpr std::int64_t kSizeMax = UINT32_MAX;

// dcb-dcbx(8), in the order in which it prints them.
constexpr std::array<std::pair<std::string_view, std::uint8_t>, 5> kModes{{
    {"host", DCB_CAP_DCBX_HOST},
    {"lld-managed", DCB_CAP_DCBX_LLD_MANAGED},
    {"cee", DCB_CAP_DCBX_VER_CEE},
    {"ieee", DCB_CAP_DCBX_VER_IEEE},
    {"static", DCB_CAP_DCBX_STATIC},
}};

struct NotCarried {
  RowId row;
  std::string_view why;
};
constexpr NotCarried kNotCarried[] = {
    {row("interface[*]/buffer[*]/xoff"),
     "dcbnl has no pause threshold: the port takes it from its buffer, the MTU and the PFC delay"},
    {row("interface[*]/trust"),
     "the port can by its DSCP rules, which this version of the linux driver does not set"},
    {row("interface[*]/pfc-watchdog/action"), "dcbnl has no PFC watchdog"},
    {row("interface[*]/pfc-watchdog/detection-time"), "dcbnl has no PFC watchdog"},
    {row("interface[*]/pfc-watchdog/restoration-time"), "dcbnl has no PFC watchdog"},
};

Error wrong(const Change& change, std::string_view takes) {
  return Error{ErrorKind::invalid_spec, change.path.text() + " takes " + std::string(takes)};
}

std::optional<std::size_t> priority_of(std::string_view text) {
  std::size_t out = 0;
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  if (read.ec != std::errc{} || read.ptr != end || out >= kPriorities) return std::nullopt;
  return out;
}

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
Result<std::uint8_t> own_buffer(const dcbnl_buffer& buffer, std::size_t priority, Path leaf) {
  const std::uint8_t at = buffer.prio2buffer[priority];
  if (at != 0 && alone_in_its_buffer(buffer, priority)) return at;
  const auto is_free = [&](std::size_t number) {
    return number != 0 && std::ranges::count(buffer.prio2buffer, number) == 0;
  };
  for (const std::size_t number : {priority, 1UL, 2UL, 3UL, 4UL, 5UL, 6UL, 7UL})
    if (is_free(number)) return static_cast<std::uint8_t>(number);
  return Error{ErrorKind::refused, leaf.text() + ": other priorities have all buffers of the port"};
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

std::vector<RowId> rows() {
  std::vector<RowId> out = {kPfc, kDcbx, kPause, kBufferSize};
  for (const NotCarried& one : kNotCarried) out.push_back(one.row);
  return out;
}

std::string lacking(RowId row, const PortState& state) {
  if (row == kPause) return state.no_pause;
  if (!state.no_dcb.empty()) return state.no_dcb;
  for (const NotCarried& one : kNotCarried)
    if (one.row == row) return std::string(one.why);
  const bool there = row == kPfc    ? state.dcb.pfc.has_value()
                     : row == kDcbx ? state.dcb.mode.has_value()
                                    : state.dcb.buffer.has_value();
  return there ? std::string() : "the port's driver leaves this out of its dcbnl operations";
}

std::vector<Leaf> leaves(std::string_view port, const PortState& state) {
  std::vector<Path> paths = {Path(kDcbx, {port}), Path(kPause, {port}), Path(kPfc, {port})};
  for (std::size_t priority = 0; priority < kPriorities; ++priority)
    paths.push_back(Path(kBufferSize, {port, std::to_string(priority)}));
  std::vector<Leaf> out;
  for (const Path one : paths)
    if (const Value value = value_of(one, state)) out.push_back({one, 0, value});
  return out;
}

Value value_of(Path leaf, const PortState& state) {
  switch (leaf.row()) {
    case kPfc: return state.dcb.pfc ? lossless(*state.dcb.pfc) : Value{};
    case kDcbx: return state.dcb.mode ? Value::text(mode_words(*state.dcb.mode)) : Value{};
    case kPause: return state.pause ? Value::boolean(*state.pause) : Value{};
    case kBufferSize: {
      const auto priority = priority_of(leaf.key(1));
      if (!priority || !state.dcb.buffer) return Value{};
      const std::uint8_t at = state.dcb.buffer->prio2buffer[*priority];
      return at == 0 ? Value{} : Value::integer(state.dcb.buffer->buffer_size[at]);
    }
    default: return Value{};
  }
}

Result<Done> overlay(const Change& change, PortState& state) {
  switch (change.path.row()) {
    case kPfc: return overlay_pfc(change, *state.dcb.pfc);
    case kDcbx: return overlay_mode(change, *state.dcb.mode);
    case kPause:
      if (change.want.kind() != Value::Kind::boolean)
        return wrong(change, "true or false, and can't be unset");
      state.pause = change.want.as_boolean();
      return Done{};
    default: {
      const auto priority = priority_of(change.path.key(1));
      if (!priority) return wrong(change, "a key from 0 to 7, a priority");
      return overlay_size(change, *priority, *state.dcb.buffer);
    }
  }
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
    case kBufferSize: {
      const std::string priority(change.path.key(1));
      const std::string buffer = change.want ? priority : "0";
      return "dcb buffer set dev " + port + " prio-buffer " + priority + ":" + buffer + " buffer-size " +
             priority + ":" + (change.want ? change.want.to_string() : "0") +
             "  # or another buffer that is free";
    }
    default: return {};
  }
}

}  // namespace lockstep::dcb_map
