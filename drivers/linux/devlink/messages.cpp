#include "drivers/linux/devlink/messages.hpp"

#include <linux/devlink.h>
#include <linux/genetlink.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <span>

#include "drivers/linux/generic_netlink.hpp"

namespace lockstep::devlink {
namespace {

using netlink::after_genl;
using netlink::Attribute;
using netlink::AttributeWalk;
using netlink::Bytes;
using netlink::Request;

using Table = netlink::AttributeTable<DEVLINK_ATTR_MAX + 1>;

constexpr std::string_view kCmodes[] = {"runtime", "driverinit", "permanent"};
constexpr std::string_view kFlavours[] = {"physical", "cpu",     "dsa",    "pcipf",
                                          "pcivf",    "virtual", "unused", "pcisf"};
constexpr std::string_view kEswitchModes[] = {"legacy", "switchdev"};

// Rates from here on don't fit a Value in bit/s: it has 60 bits, including the sign (specs/model/value.hpp).
constexpr std::uint64_t kRateEnd = 1ULL << 56;

std::string word(std::span<const std::string_view> words, std::uint16_t number) {
  return number < words.size() ? std::string(words[number]) : std::to_string(number);
}

Error incomplete(std::string_view what) {
  return Error{ErrorKind::transient,
               "devlink: a " + std::string(what) + " without its device, number or name"};
}

// A message's attributes and its device.
struct Opened {
  Table table;
  Handle device;
};
Result<Opened> open(Bytes payload, std::string_view what) {
  TRY(auto table, Table::parse(after_genl(payload), what));
  Handle device{table.text(DEVLINK_ATTR_BUS_NAME), table.text(DEVLINK_ATTR_DEV_NAME)};
  if (device.bus.empty() || device.name.empty()) return incomplete(what);
  return Opened{table, std::move(device)};
}

// None: the value is absent, which for a flag means "false"; or its type is unknown.
std::optional<std::string> value_text(Table& value, std::uint8_t type) {
  constexpr auto kData = DEVLINK_ATTR_PARAM_VALUE_DATA;
  const auto number = [](auto read) {
    return read ? std::optional(std::to_string(*read)) : std::optional<std::string>();
  };
  if (type == kFlag) return value.has(kData) ? "true" : "false";
  if (type == kU8) return number(value.number<std::uint8_t>(kData));
  if (type == kU16) return number(value.number<std::uint16_t>(kData));
  if (type == kU32) return number(value.number<std::uint32_t>(kData));
  if (type == kString && value.has(kData)) return value.text(kData);
  return std::nullopt;
}

Result<std::map<std::uint8_t, std::string>> decode_values(Bytes list, std::uint8_t type) {
  std::map<std::uint8_t, std::string> out;
  AttributeWalk values(list);
  for (Attribute one; values.next(one);) {
    TRY(auto value, Table::parse(one.payload, "parameter's value"));
    const auto cmode = value.number<std::uint8_t>(DEVLINK_ATTR_PARAM_VALUE_CMODE);
    auto text = value_text(value, type);
    TRY_DONE(value.sound("parameter's value"));
    if (cmode && text) out.insert_or_assign(*cmode, *std::move(text));
  }
  TRY_DONE(values.finish("parameter's values"));
  return out;
}

template <class T>
Result<Done> put_number_in(Request& request, const Parameter& parameter, std::string_view text) {
  T number{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  // Any other notation ("064") would never compare equal.
  if (code != std::errc() || end != text.data() + text.size() || std::to_string(number) != text)
    return Error{ErrorKind::invalid_spec,
                 "devlink parameter " + parameter.name + " takes a decimal number up to " +
                     std::to_string(std::numeric_limits<T>::max()) + ", not '" + std::string(text) + "'"};
  request.put_number(DEVLINK_ATTR_PARAM_VALUE_DATA, number);
  return Done{};
}

Result<Done> put_value(Request& request, const Parameter& parameter, std::string_view text) {
  constexpr auto kData = DEVLINK_ATTR_PARAM_VALUE_DATA;
  switch (parameter.type) {
    case kU8: return put_number_in<std::uint8_t>(request, parameter, text);
    case kU16: return put_number_in<std::uint16_t>(request, parameter, text);
    case kU32: return put_number_in<std::uint32_t>(request, parameter, text);
    case kString: request.put_text(kData, text); return Done{};
    case kFlag:
      if (text != "true" && text != "false")
        return Error{ErrorKind::invalid_spec, "devlink parameter " + parameter.name +
                                                  " takes true or false, not '" + std::string(text) + "'"};
      if (text == "true") request.put_flag(kData);
      return Done{};
    default:
      return Error{ErrorKind::unsupported, "devlink parameter " + parameter.name + " has a type, " +
                                               std::to_string(parameter.type) + ", that is not known here"};
  }
}

}  // namespace

Result<std::optional<Handle>> decode_device(Bytes payload) {
  TRY(auto opened, open(payload, "device"));
  return std::optional(std::move(opened.device));
}

Result<std::optional<Port>> decode_port(Bytes payload) {
  TRY(auto opened, open(payload, "port"));
  auto& [table, device] = opened;
  const auto index = table.number<std::uint32_t>(DEVLINK_ATTR_PORT_INDEX);
  Port out;
  out.netdev = table.number<std::uint32_t>(DEVLINK_ATTR_PORT_NETDEV_IFINDEX).value_or(0);
  out.netdev_name = table.text(DEVLINK_ATTR_PORT_NETDEV_NAME);
  out.flavour = table.number<std::uint16_t>(DEVLINK_ATTR_PORT_FLAVOUR);
  const bool external = table.number<std::uint8_t>(DEVLINK_ATTR_PORT_EXTERNAL).value_or(0) != 0;
  const auto function = table.number<std::uint16_t>(DEVLINK_ATTR_PORT_PCI_VF_NUMBER);
  TRY_DONE(table.sound("port"));
  if (!index) return incomplete("port");
  if (!external) out.virtual_function = function;
  out.device = std::move(device);
  out.index = *index;
  return std::optional(std::move(out));
}

Result<std::optional<Info>> decode_info(Bytes payload) {
  TRY(auto opened, open(payload, "device's info"));
  Info out;
  out.device = std::move(opened.device);
  out.driver = opened.table.text(DEVLINK_ATTR_INFO_DRIVER_NAME);
  out.serial = opened.table.text(DEVLINK_ATTR_INFO_SERIAL_NUMBER);
  AttributeWalk all(after_genl(payload));
  for (Attribute one; all.next(one);) {
    std::string kind;
    if (one.type == DEVLINK_ATTR_INFO_VERSION_FIXED) kind = "fixed";
    if (one.type == DEVLINK_ATTR_INFO_VERSION_RUNNING) kind = "running";
    if (one.type == DEVLINK_ATTR_INFO_VERSION_STORED) kind = "stored";
    if (kind.empty()) continue;
    TRY(const auto version, Table::parse(one.payload, "version"));
    out.versions.push_back({version.text(DEVLINK_ATTR_INFO_VERSION_NAME),
                            version.text(DEVLINK_ATTR_INFO_VERSION_VALUE), std::move(kind)});
    if (out.versions.back().name.empty()) return incomplete("version");
  }
  TRY_DONE(all.finish("device's info"));
  return std::optional(std::move(out));
}

Result<std::optional<Parameter>> decode_parameter(Bytes payload) {
  TRY(auto opened, open(payload, "parameter"));
  TRY(auto inside, Table::parse(opened.table.bytes(DEVLINK_ATTR_PARAM), "parameter"));
  Parameter out;
  out.device = std::move(opened.device);
  out.name = inside.text(DEVLINK_ATTR_PARAM_NAME);
  const auto type = inside.number<std::uint8_t>(DEVLINK_ATTR_PARAM_TYPE);
  TRY_DONE(inside.sound("parameter"));
  if (out.name.empty() || !type) return incomplete("parameter");
  out.type = *type;
  TRY(out.values, decode_values(inside.bytes(DEVLINK_ATTR_PARAM_VALUES_LIST), out.type));
  return std::optional(std::move(out));
}

Result<std::optional<Reporter>> decode_reporter(Bytes payload) {
  TRY(auto opened, open(payload, "health reporter"));
  TRY(auto inside, Table::parse(opened.table.bytes(DEVLINK_ATTR_HEALTH_REPORTER), "health reporter"));
  Reporter out;
  out.device = std::move(opened.device);
  out.port = opened.table.number<std::uint32_t>(DEVLINK_ATTR_PORT_INDEX);
  out.name = inside.text(DEVLINK_ATTR_HEALTH_REPORTER_NAME);
  // DEVLINK_HEALTH_REPORTER_STATE_HEALTHY is 0 (net/devlink.h).
  const auto state = inside.number<std::uint8_t>(DEVLINK_ATTR_HEALTH_REPORTER_STATE);
  out.errors = inside.number<std::uint64_t>(DEVLINK_ATTR_HEALTH_REPORTER_ERR_COUNT).value_or(0);
  out.recoveries = inside.number<std::uint64_t>(DEVLINK_ATTR_HEALTH_REPORTER_RECOVER_COUNT).value_or(0);
  TRY_DONE(opened.table.sound("health reporter"));
  TRY_DONE(inside.sound("health reporter"));
  if (out.name.empty() || !state) return incomplete("health reporter");
  out.healthy = *state == 0;
  return std::optional(std::move(out));
}

Result<std::optional<Rate>> decode_rate(Bytes payload) {
  TRY(auto opened, open(payload, "rate"));
  auto& [table, device] = opened;
  Rate out;
  out.port = table.number<std::uint32_t>(DEVLINK_ATTR_PORT_INDEX);
  out.node = table.text(DEVLINK_ATTR_RATE_NODE_NAME);
  out.parent = table.text(DEVLINK_ATTR_RATE_PARENT_NODE_NAME);
  out.share = table.number<std::uint64_t>(DEVLINK_ATTR_RATE_TX_SHARE).value_or(0);
  out.max = table.number<std::uint64_t>(DEVLINK_ATTR_RATE_TX_MAX).value_or(0);
  TRY_DONE(table.sound("rate"));
  if (!out.port && out.node.empty()) return incomplete("rate");
  if (out.max >= kRateEnd) return Error{ErrorKind::transient, "devlink: a rate of 2^56 bytes/s or more"};
  out.device = std::move(device);
  return std::optional(std::move(out));
}

Result<std::optional<SharedBuffer>> decode_buffer(Bytes payload) {
  TRY(auto opened, open(payload, "shared buffer"));
  auto& [table, device] = opened;
  const auto index = table.number<std::uint32_t>(DEVLINK_ATTR_SB_INDEX);
  SharedBuffer out;
  out.size = table.number<std::uint32_t>(DEVLINK_ATTR_SB_SIZE).value_or(0);
  out.ingress_pools = table.number<std::uint16_t>(DEVLINK_ATTR_SB_INGRESS_POOL_COUNT).value_or(0);
  out.egress_pools = table.number<std::uint16_t>(DEVLINK_ATTR_SB_EGRESS_POOL_COUNT).value_or(0);
  TRY_DONE(table.sound("shared buffer"));
  if (!index) return incomplete("shared buffer");
  out.device = std::move(device);
  out.index = *index;
  return std::optional(std::move(out));
}

Result<std::optional<Pool>> decode_pool(Bytes payload) {
  TRY(auto opened, open(payload, "pool"));
  auto& [table, device] = opened;
  const auto buffer = table.number<std::uint32_t>(DEVLINK_ATTR_SB_INDEX);
  const auto index = table.number<std::uint16_t>(DEVLINK_ATTR_SB_POOL_INDEX);
  const auto type = table.number<std::uint8_t>(DEVLINK_ATTR_SB_POOL_TYPE);
  const auto threshold = table.number<std::uint8_t>(DEVLINK_ATTR_SB_POOL_THRESHOLD_TYPE);
  Pool out;
  out.size = table.number<std::uint32_t>(DEVLINK_ATTR_SB_POOL_SIZE).value_or(0);
  TRY_DONE(table.sound("pool"));
  if (!buffer || !index || !type) return incomplete("pool");
  out.device = std::move(device);
  out.buffer = *buffer;
  out.index = *index;
  out.egress = *type == DEVLINK_SB_POOL_TYPE_EGRESS;
  out.dynamic = threshold == DEVLINK_SB_THRESHOLD_TYPE_DYNAMIC;
  return std::optional(std::move(out));
}

Result<std::optional<Binding>> decode_binding(Bytes payload) {
  TRY(auto opened, open(payload, "buffer binding"));
  auto& [table, device] = opened;
  const auto port = table.number<std::uint32_t>(DEVLINK_ATTR_PORT_INDEX);
  const auto buffer = table.number<std::uint32_t>(DEVLINK_ATTR_SB_INDEX);
  const auto traffic_class = table.number<std::uint16_t>(DEVLINK_ATTR_SB_TC_INDEX);
  const auto type = table.number<std::uint8_t>(DEVLINK_ATTR_SB_POOL_TYPE);
  const auto pool = table.number<std::uint16_t>(DEVLINK_ATTR_SB_POOL_INDEX);
  const auto threshold = table.number<std::uint32_t>(DEVLINK_ATTR_SB_THRESHOLD);
  TRY_DONE(table.sound("buffer binding"));
  if (!port || !buffer || !traffic_class || !type || !pool) return incomplete("buffer binding");
  return std::optional(Binding{std::move(device), *port, *buffer, *traffic_class,
                               *type == DEVLINK_SB_POOL_TYPE_EGRESS, *pool, threshold.value_or(0)});
}

Result<std::optional<std::uint16_t>> decode_eswitch(Bytes payload) {
  TRY(auto opened, open(payload, "eswitch"));
  const auto mode = opened.table.number<std::uint16_t>(DEVLINK_ATTR_ESWITCH_MODE);
  TRY_DONE(opened.table.sound("eswitch"));
  return mode;
}

std::string cmode_words(std::uint8_t cmode) { return word(kCmodes, cmode); }
std::string flavour_words(std::uint16_t flavour) { return word(kFlavours, flavour); }
std::string eswitch_words(std::uint16_t mode) { return word(kEswitchModes, mode); }

std::optional<std::uint16_t> eswitch_of(std::string_view words) {
  const auto found = std::find(std::begin(kEswitchModes), std::end(kEswitchModes), words);
  if (found == std::end(kEswitchModes)) return std::nullopt;
  return static_cast<std::uint16_t>(found - std::begin(kEswitchModes));
}

Request dump_request(std::uint16_t family, std::uint8_t command) {
  Request out(family, NLM_F_DUMP);
  out.header(genlmsghdr{command, DEVLINK_GENL_VERSION, 0});
  return out;
}

Request device_request(std::uint16_t family, std::uint8_t command, const Handle& device) {
  Request out(family, NLM_F_ACK);
  out.header(genlmsghdr{command, DEVLINK_GENL_VERSION, 0});
  out.put_text(DEVLINK_ATTR_BUS_NAME, device.bus).put_text(DEVLINK_ATTR_DEV_NAME, device.name);
  return out;
}

Result<Request> parameter_request(std::uint16_t family, const Parameter& parameter, std::uint8_t cmode,
                                  std::string_view text) {
  Request out = device_request(family, DEVLINK_CMD_PARAM_SET, parameter.device);
  out.put_text(DEVLINK_ATTR_PARAM_NAME, parameter.name);
  out.put_number(DEVLINK_ATTR_PARAM_TYPE, parameter.type);
  TRY_DONE(put_value(out, parameter, text));
  out.put_number(DEVLINK_ATTR_PARAM_VALUE_CMODE, cmode);
  return out;
}

Request eswitch_request(std::uint16_t family, const Handle& device, std::uint16_t mode) {
  Request out = device_request(family, DEVLINK_CMD_ESWITCH_SET, device);
  out.put_number(DEVLINK_ATTR_ESWITCH_MODE, mode);
  return out;
}

Request rate_request(std::uint16_t family, const Handle& device, std::uint32_t port, std::uint64_t max) {
  Request out = device_request(family, DEVLINK_CMD_RATE_SET, device);
  out.put_number(DEVLINK_ATTR_PORT_INDEX, port).put_number(DEVLINK_ATTR_RATE_TX_MAX, max);
  return out;
}

Request recover_request(std::uint16_t family, const Reporter& reporter) {
  Request out = device_request(family, DEVLINK_CMD_HEALTH_REPORTER_RECOVER, reporter.device);
  if (reporter.port) out.put_number(DEVLINK_ATTR_PORT_INDEX, *reporter.port);
  out.put_text(DEVLINK_ATTR_HEALTH_REPORTER_NAME, reporter.name);
  return out;
}

}  // namespace lockstep::devlink
