#include "drivers/linux/dcb/map.hpp"

#include <algorithm>
#include <array>

#include "drivers/linux/dcb/map_row.hpp"
#include "drivers/mapped/map_table.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::dcb_map {
namespace {

using dcb::PortState;

constexpr std::int64_t kSizeMax = UINT32_MAX;
// dcb-dcbx(8), in its output order.
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

std::optional<std::size_t> priority_of(std::string_view text) { return below(kPriorities, text); }

Value pfc(Path, const PortState& state) {
  if (!state.dcb.pfc) return {};
  std::vector<std::string> out;
  for (std::size_t priority = 0; priority < kPriorities; ++priority)
    if ((state.dcb.pfc->pfc_en >> priority & 1U) != 0) out.push_back(std::to_string(priority));
  return Value::set(std::move(out));
}

Result<Done> overlay_pfc(const Change& change, PortState& state) {
  if (change.want.kind() != Value::Kind::list)
    return wrong(change, "a list of priorities, and can't be unset");
  unsigned wanted = 0;
  for (const std::string_view one : change.want.as_list()) {
    const auto priority = priority_of(one);
    if (!priority) return wrong(change, "priorities from 0 to 7");
    wanted |= 1U << *priority;
  }
  state.dcb.pfc->pfc_en = static_cast<std::uint8_t>(wanted);
  return Done{};
}

// "dcb pfc set dev rail0 prio-pfc all:off 3:on"
std::string pfc_words(const Change& change) {
  std::string out = "dcb pfc set dev " + std::string(change.path.key(0)) + " prio-pfc all:off";
  for (const std::string_view one : change.want.as_list()) out += " " + std::string(one) + ":on";
  return out;
}

Value mode(Path, const PortState& state) {
  return state.dcb.mode ? Value::text(mode_words(*state.dcb.mode)) : Value{};
}

Result<Done> overlay_mode(const Change& change, PortState& state) {
  constexpr std::string_view kTakes =
      "words of host, lld-managed, cee, ieee and static, in this order, and can't be unset";
  if (change.want.kind() != Value::Kind::text) return wrong(change, kTakes);
  unsigned wanted = 0;
  const std::string text = " " + std::string(change.want.as_text()) + " ";
  for (const auto& [word, bit] : kModes)
    if (text.find(" " + std::string(word) + " ") != std::string::npos) wanted |= bit;
  if (mode_words(static_cast<std::uint8_t>(wanted)) != change.want.as_text()) return wrong(change, kTakes);
  state.dcb.mode = static_cast<std::uint8_t>(wanted);
  return Done{};
}

std::string dcbx_words(const Change& change) {
  return "dcb dcbx set dev " + std::string(change.path.key(0)) + " " + change.want.to_string();
}

Value pause(Path, const PortState& state) { return state.pause ? Value::boolean(*state.pause) : Value{}; }

Result<Done> overlay_pause(const Change& change, PortState& state) {
  if (change.want.kind() != Value::Kind::boolean) return wrong(change, "true or false, and can't be unset");
  state.pause = change.want.as_boolean();
  return Done{};
}

std::string pause_words(const Change& change) {
  const std::string on = change.want && change.want.as_boolean() ? "on" : "off";
  return "ethtool -A " + std::string(change.path.key(0)) + " rx " + on + " tx " + on;
}

bool alone_in_its_buffer(const dcbnl_buffer& buffer, std::size_t priority) {
  return std::ranges::count(buffer.prio2buffer, buffer.prio2buffer[priority]) == 1;
}

// Finds a buffer for one priority: its current one if no other priority uses that, else an empty one,
// preferably of the same number.
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

Value size(Path entry, const PortState& state) {
  const auto priority = priority_of(entry.key(1));
  if (!priority || !state.dcb.buffer) return {};
  const std::uint8_t at = state.dcb.buffer->prio2buffer[*priority];
  return at == 0 ? Value{} : Value::integer(state.dcb.buffer->buffer_size[at]);
}

Result<Done> overlay_size(const Change& change, PortState& state) {
  const auto priority = priority_of(change.path.key(1));
  if (!priority) return wrong(change, "a key from 0 to 7, a priority");
  dcbnl_buffer& buffer = *state.dcb.buffer;
  if (!change.want) {
    if (alone_in_its_buffer(buffer, *priority) && buffer.prio2buffer[*priority] != 0)
      buffer.buffer_size[buffer.prio2buffer[*priority]] = 0;
    buffer.prio2buffer[*priority] = 0;
    return Done{};
  }
  const std::int64_t bytes = change.want.kind() == Value::Kind::integer ? change.want.as_integer() : -1;
  if (bytes < 0 || bytes > kSizeMax) return wrong(change, "bytes");
  TRY(const std::uint8_t own, own_buffer(buffer, *priority, change.path));
  buffer.prio2buffer[*priority] = own;
  buffer.buffer_size[own] = static_cast<std::uint32_t>(bytes);
  return Done{};
}

Value cable_length(Path, const PortState& state) {
  if (!state.dcb.pfc || state.headroom != dcb::Headroom::by_cable) return {};
  return Value::integer(state.dcb.pfc->delay);
}

Result<Done> overlay_cable_length(const Change& change, PortState& state) {
  const std::int64_t metres = change.want.kind() == Value::Kind::integer ? change.want.as_integer() : 0;
  if (metres <= 0) return wrong(change, "metres, and can't be unset");
  if (metres > dcb::kCableMetresMax)
    return Error{ErrorKind::refused, change.path.text() + ": the port's driver counts with " +
                                         std::to_string(dcb::kCableMetresMax) +
                                         " m at most, and drops a longer cable without a word: PFC can't be "
                                         "lossless over it here"};
  state.dcb.pfc->delay = static_cast<std::uint16_t>(metres);
  return Done{};
}

// "dcb pfc set dev rail0 delay 30"
std::string cable_length_words(const Change& change) {
  if (!change.want) return {};  // a port always has one
  return "dcb pfc set dev " + std::string(change.path.key(0)) + " delay " + change.want.to_string() +
         "  # metres for mlx5";
}

std::string size_words(const Change& change) {
  const std::string priority(change.path.key(1));
  const std::string buffer = change.want ? priority : "0";
  return "dcb buffer set dev " + std::string(change.path.key(0)) + " prio-buffer " + priority + ":" + buffer +
         " buffer-size " + priority + ":" + (change.want ? change.want.to_string() : "0") +
         "  # or use another free buffer number";
}

Value trust(Path, const PortState& state) {
  if (!state.trust) return {};
  std::string out;
  for (const std::uint8_t one : *state.trust) {
    const auto known = std::ranges::find(kSelectors, one, &std::pair<std::string_view, std::uint8_t>::second);
    const std::string word = known == kSelectors.end() ? std::to_string(one) : std::string(known->first);
    out += (out.empty() ? "" : " ") + word;
  }
  return Value::text(out.empty() ? kNothing : std::string_view(out));
}

Result<Done> overlay_trust(const Change& change, PortState& state) {
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
  state.trust = std::move(out);
  return Done{};
}

std::string apptrust_words(const Change& change) {
  return "dcb apptrust set dev " + std::string(change.path.key(0)) + " order " + change.want.to_string() +
         "  # without a trust table: by whether there are entries of DSCPs";
}

constexpr MapRow kRows[] = {
    {row("interface[*]/cable-length"), Object::cable, cable_length, overlay_cable_length, cable_length_words},
    {row("interface[*]/dcbx"), Object::mode, mode, overlay_mode, dcbx_words},
    {row("interface[*]/pause"), Object::pause, pause, overlay_pause, pause_words},
    {row("interface[*]/pfc"), Object::pfc, pfc, overlay_pfc, pfc_words},
    {row("interface[*]/trust"), Object::trust, trust, overlay_trust, apptrust_words},
    {row("interface[*]/buffer[*]/size"), Object::buffers, size, overlay_size, size_words},
};
static_assert(has_each_row_once(kRows));

// Rows that no port implements through dcbnl.
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

// Null: no port supports it.
const MapRow* row_of(RowId id) {
  const MapRow* const one = find_row(kRows, id);
  return one == nullptr ? find_row(class_rows(), id) : one;
}

bool has(Object object, const PortState& state) {
  switch (object) {
    case Object::mode: return state.dcb.mode.has_value();
    case Object::pause: return state.no_pause.empty();
    case Object::pfc: return state.dcb.pfc.has_value();
    case Object::cable: return state.dcb.pfc && state.headroom == dcb::Headroom::by_cable;
    case Object::buffers: return state.dcb.buffer.has_value();
    case Object::ets:
    case Object::entries: return state.dcb.ets.has_value();
    case Object::rates: return state.dcb.ets.has_value() && state.dcb.maxrate.has_value();
    case Object::trust: return state.trust.has_value();
  }
  return false;
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

bool is_class_row(RowId id) { return find_row(class_rows(), id) != nullptr; }

bool is_headroom_of(Path entry, std::uint8_t priorities) {
  const auto object = object_of(entry.row());
  if (object == Object::cable) return priorities != 0;
  const auto priority = object == Object::buffers ? priority_of(entry.key(1)) : std::nullopt;
  return priority && (priorities >> *priority & 1U) != 0;
}

std::optional<Object> object_of(RowId id) {
  const MapRow* const one = row_of(id);
  return one == nullptr ? std::nullopt : std::optional(one->object);
}

std::vector<RowId> rows(bool classes) {
  std::vector<RowId> out = written_rows_of(kRows);
  if (classes)
    for (const MapRow& one : class_rows()) out.push_back(one.row);
  for (const NotCarried& one : kNotCarried) out.push_back(one.row);
  return out;
}

std::string lacking(RowId id, const PortState& state) {
  const auto object = object_of(id);
  if (object == Object::pause) return state.no_pause;
  if (!state.no_dcb.empty()) return state.no_dcb;
  if (!object) return std::string(find_row(kNotCarried, id)->why);
  if (has(*object, state)) return {};
  if (*object == Object::cable && state.dcb.pfc)
    return "the port's driver takes no length of cable: its headroom is what buffer[*]/size says, or its "
           "firmware's own";
  return "the port's driver leaves this out of its dcbnl operations";
}

std::vector<Entry> entries(std::string_view port, const PortState& state) {
  std::vector<Entry> out;
  const auto add = [&](const MapRow& one, Path path) {
    if (const Value value = one.read(path, state)) out.push_back({path, 0, value});
  };
  for (const MapRow& one : kRows) {
    if (one.object != Object::buffers) add(one, Path(one.row, {port}));
    for (std::size_t priority = 0; one.object == Object::buffers && priority < kPriorities; ++priority)
      add(one, Path(one.row, {port, std::to_string(priority)}));
  }
  for (const auto& [number, its] : state.classes)
    for (const MapRow& one : class_rows()) add(one, Path(one.row, {port, std::to_string(number)}));
  return out;
}

Value value_of(Path entry, const PortState& state) {
  const MapRow* const one = row_of(entry.row());
  return one == nullptr ? Value{} : one->read(entry, state);
}

Result<Done> overlay(const Change& change, PortState& state) {
  const MapRow* const one = row_of(change.path.row());
  if (one == nullptr) return Error{ErrorKind::unsupported, change.path.text() + ": dcbnl has none such"};
  return one->write(change, state);
}

std::string native(const Change& change) {
  const MapRow* const one = row_of(change.path.row());
  return one == nullptr ? std::string() : one->native(change);
}

}  // namespace lockstep::dcb_map
