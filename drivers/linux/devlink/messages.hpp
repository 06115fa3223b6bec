// devlink's messages over generic netlink: bytes in and out, no I/O.
//
// Promises: a message is checked like all netlink (netlink.hpp); what the device does not report is left
// empty. A nullopt is a message of no interest. Refuses messages without their device, number or name.
// Formats: linux/devlink.h, Documentation/networking/devlink; the content of each message: net/core/devlink.c
// of Linux 6.1. A decoder takes a message's payload with its generic header.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/linux/netlink.hpp"

namespace lockstep::devlink {

struct Handle {
  std::string bus;   // "pci"
  std::string name;  // "0000:3b:00.0"
  std::string text() const { return bus + "/" + name; }
  auto operator<=>(const Handle&) const = default;
};

struct Port {
  Handle device;
  std::uint32_t index = 0;
  std::uint32_t netdev = 0;              // interface index; 0: none, or in another network namespace
  std::string netdev_name;               // of the same interface
  std::optional<std::uint16_t> flavour;  // DEVLINK_PORT_FLAVOUR_*
  // Of a port that represents a virtual function in switchdev mode, on this machine (not on the host that a
  // NIC with processors of its own is plugged into).
  std::optional<std::uint16_t> virtual_function;
};

struct Version {
  std::string name;  // "fw.mgmt"
  std::string value;
  std::string kind;  // "fixed", "running", "stored"
};
struct Info {
  Handle device;
  std::string driver;
  std::string serial;
  std::vector<Version> versions;
};

// Values by DEVLINK_PARAM_CMODE_*, as text: a number in decimals, "true", "false", or a string.
struct Parameter {
  Handle device;
  std::string name;
  std::uint8_t type = 0;  // kU8 ...
  std::map<std::uint8_t, std::string> values;
};
// DEVLINK_ATTR_PARAM_TYPE holds a netlink attribute type (NLA_U8 ... of net/netlink.h, which is not uapi).
inline constexpr std::uint8_t kU8 = 1;
inline constexpr std::uint8_t kU16 = 2;
inline constexpr std::uint8_t kU32 = 3;
inline constexpr std::uint8_t kString = 5;
inline constexpr std::uint8_t kFlag = 6;

struct Reporter {
  Handle device;
  std::optional<std::uint32_t> port;  // none: of the device as a whole
  std::string name;                   // "fw_fatal"
  bool healthy = true;
  std::uint64_t errors = 0;
  std::uint64_t recoveries = 0;
};

// Of a port, or of a node, which is a group of ports.
struct Rate {
  Handle device;
  std::optional<std::uint32_t> port;
  std::string node;
  std::string parent;
  std::uint64_t share = 0;  // bytes/s guaranteed
  std::uint64_t max = 0;    // bytes/s; 0: unlimited
};

struct SharedBuffer {
  Handle device;
  std::uint32_t index = 0;
  std::uint32_t size = 0;  // bytes
  std::uint16_t ingress_pools = 0;
  std::uint16_t egress_pools = 0;
};
struct Pool {
  Handle device;
  std::uint32_t buffer = 0;
  std::uint16_t index = 0;
  bool egress = false;
  std::uint32_t size = 0;  // bytes
  bool dynamic = false;    // its thresholds are shares of the free space, as alpha; else bytes
};
// The pool that a port's traffic class draws from.
struct Binding {
  Handle device;
  std::uint32_t port = 0;
  std::uint32_t buffer = 0;
  std::uint16_t traffic_class = 0;
  bool egress = false;
  std::uint16_t pool = 0;
  std::uint32_t threshold = 0;  // bytes, or alpha as 2^(threshold-10) of a dynamic pool (linux/devlink.h)
};

Result<std::optional<Handle>> decode_device(netlink::Bytes payload);
Result<std::optional<Port>> decode_port(netlink::Bytes payload);
Result<std::optional<Info>> decode_info(netlink::Bytes payload);
Result<std::optional<Parameter>> decode_parameter(netlink::Bytes payload);
Result<std::optional<Reporter>> decode_reporter(netlink::Bytes payload);
Result<std::optional<Rate>> decode_rate(netlink::Bytes payload);
Result<std::optional<SharedBuffer>> decode_buffer(netlink::Bytes payload);
Result<std::optional<Pool>> decode_pool(netlink::Bytes payload);
Result<std::optional<Binding>> decode_binding(netlink::Bytes payload);
// DEVLINK_ESWITCH_MODE_*; none: the device does not report it.
Result<std::optional<std::uint16_t>> decode_eswitch(netlink::Bytes payload);

// devlink(8)'s names: "runtime", "physical", "legacy"; a number without a name is printed as it is.
std::string cmode_words(std::uint8_t cmode);
std::string flavour_words(std::uint16_t flavour);
std::string eswitch_words(std::uint16_t mode);
std::optional<std::uint16_t> eswitch_of(std::string_view words);

// Requests: a dump of everything of one kind (DEVLINK_CMD_PORT_GET ...), and requests about one device.
netlink::Request dump_request(std::uint16_t family, std::uint8_t command);
netlink::Request device_request(std::uint16_t family, std::uint8_t command, const Handle& device);
// Refuses (invalid_spec) a text that is not a value of the parameter's type.
Result<netlink::Request> parameter_request(std::uint16_t family, const Parameter& parameter,
                                           std::uint8_t cmode, std::string_view text);
netlink::Request eswitch_request(std::uint16_t family, const Handle& device, std::uint16_t mode);
netlink::Request rate_request(std::uint16_t family, const Handle& device, std::uint32_t port,
                              std::uint64_t max);
netlink::Request recover_request(std::uint16_t family, const Reporter& reporter);

}  // namespace lockstep::devlink
