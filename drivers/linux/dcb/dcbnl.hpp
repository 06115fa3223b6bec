// Data Center Bridging (802.1Q: PFC, ETS, DCBX) as the kernel's dcbnl speaks of it: bytes in and out, no I/O.
//
// Promises: a message is checked as all netlink is (netlink.hpp); a part that the port's driver lacks is left
// empty. Refuses an attribute whose size is not that of the kernel's structure, and a table entry that can't
// be (a priority above 7). Formats: linux/dcbnl.h, net/dcb/dcbnl.c. Quirk: a set that the port's driver
// refuses is acknowledged with 0, and its errno hides in one byte of the reply that comes before the
// acknowledgement.
#pragma once

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "drivers/linux/netlink.hpp"

namespace lockstep::dcb {

struct PortDcb {
  std::optional<ieee_ets> ets;
  std::optional<ieee_pfc> pfc;
  std::optional<dcbnl_buffer> buffer;
  std::vector<dcb_app> apps;
  std::optional<std::uint8_t> mode;  // DCB_CAP_DCBX_*
};

// What DCB_CMD_IEEE_GET asks for, and the payload that answers.
netlink::Request get_request(std::string_view port);
Result<PortDcb> decode_port(netlink::Bytes payload);

// `attribute`: DCB_ATTR_IEEE_PFC with an ieee_pfc and so on.
template <class T>
netlink::Request set_request(std::string_view port, std::uint16_t attribute, const T& value);
netlink::Request set_mode_request(std::string_view port, std::uint8_t mode);

// The payload that answers a set: 0, or the errno of the port's driver. Of a mode the kernel says only that
// it was refused (EINVAL here).
Result<int> decode_refusal(netlink::Bytes payload);

// The front of every request.
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
