// Data Center Bridging (802.1Q: PFC, ETS, DCBX) as the kernel's dcbnl messages: bytes in and out, no I/O.
//
// Promises: a message is checked like all netlink (netlink.hpp); a part that the port's driver does not
// support is left empty. Refuses an attribute whose size is not that of the kernel's structure, and an
// impossible table entry (a priority above 7). Formats: linux/dcbnl.h, net/dcb/dcbnl.c. Quirk: a set that the
// port's driver refuses is acknowledged with 0, and its errno is in one byte of the reply that precedes the
// acknowledgement.
#pragma once

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "drivers/linux/netlink.hpp"

namespace lockstep::dcb {

// Added to linux/dcbnl.h in Linux 6.3: DCB_ATTR_DCB_APP_TRUST_TABLE, a nest of selectors of one byte each,
// under the same attribute as their entries in the app table, and the selector and attribute that were added
// with it.
inline constexpr std::uint16_t kAppTrustTable = 11;
inline constexpr std::uint16_t kDcbApp = 2;        // DCB_ATTR_DCB_APP
inline constexpr std::uint8_t kSelectorPcp = 255;  // DCB_APP_SEL_PCP

struct PortDcb {
  std::optional<ieee_ets> ets;
  std::optional<ieee_pfc> pfc;
  std::optional<ieee_maxrate> maxrate;  // kbit/s by traffic class; 0: unbounded
  std::optional<dcbnl_buffer> buffer;
  std::vector<dcb_app> apps;
  // Selectors, the most trusted first. None: no trust table (Linux < 6.3, or a driver without one).
  std::optional<std::vector<std::uint8_t>> trust;
  std::optional<std::uint8_t> mode;  // DCB_CAP_DCBX_*
  // What the DCBX peer announced, if the port's driver reports it.
  std::optional<ieee_ets> peer_ets;
  std::optional<ieee_pfc> peer_pfc;
};

// The request of DCB_CMD_IEEE_GET, and the payload of its reply.
netlink::Request get_request(std::string_view port);
Result<PortDcb> decode_port(netlink::Bytes payload);

// `attribute`: DCB_ATTR_IEEE_PFC with an ieee_pfc and so on.
template <class T>
netlink::Request set_request(std::string_view port, std::uint16_t attribute, const T& value);
netlink::Request set_mode_request(std::string_view port, std::uint8_t mode);
// `command`: DCB_CMD_IEEE_SET adds the entries, DCB_CMD_IEEE_DEL removes them. The kernel processes them in
// order and stops at the first that the port's driver refuses.
netlink::Request app_request(std::string_view port, std::uint8_t command, std::span<const dcb_app> entries);
netlink::Request trust_request(std::string_view port, std::span<const std::uint8_t> selectors);

// The payload of a set's reply: 0, or the errno of the port's driver, cut to eight bits (bnxt's ENOTSUPP,
// 524, reads as ENOMEM). For a mode the kernel reports only that it was refused (EINVAL here).
Result<int> decode_refusal(netlink::Bytes payload);

// The beginning of every request.
netlink::Request request(std::uint16_t type, std::uint8_t command, std::string_view port);

template <class T>
netlink::Request set_request(std::string_view port, std::uint16_t attribute, const T& value) {
  netlink::Request out = request(RTM_SETDCB, DCB_CMD_IEEE_SET, port);
  const std::size_t nest = out.open_nest(DCB_ATTR_IEEE);
  out.put_number(attribute, value);
  out.close_nest(nest);
  return out;
}

}  // namespace lockstep::dcb
