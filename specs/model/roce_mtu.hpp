// The largest RoCE v2 packets that a port can send.
#pragma once

#include <cstdint>

namespace lockstep {

// Bytes of all headers that a packet may have: IPv6, UDP, BTH, those of XRC and of atomics, ICRC (Linux
// include/rdma/ib_addr.h, iboe_get_mtu).
inline constexpr std::uint32_t kRoceHeaders = 40 + 8 + 12 + 4 + 28 + 4;

// The largest path MTU of RDMA (IBTA 1.4, 9.2: 256 to 4096 bytes, powers of two) whose packets fit a port of
// this MTU with all those headers. 0: none fits.
constexpr std::uint32_t roce_mtu(std::int64_t port_mtu) {
  for (const std::uint32_t mtu : {4096U, 2048U, 1024U, 512U, 256U})
    if (port_mtu >= mtu + kRoceHeaders) return mtu;
  return 0;
}

}  // namespace lockstep
