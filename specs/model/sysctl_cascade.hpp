// Kernel parameters that set other parameters when they are written.
#pragma once

#include <array>
#include <string_view>

#include "specs/model/schema.hpp"

namespace lockstep {

// Whether the row's key is the name of a parameter below /proc/sys.
constexpr bool is_kernel_parameter(const Row& row) { return row.pattern == "sysctl[*]"; }

struct SysctlCascade {
  std::string_view written;
  std::string_view begin;  // prefix of the names that are set as well; `end` is their suffix
  std::string_view end;
};
// inet_forward_change() in net/ipv4/devinet.c and addrconf_forward_change() in net/ipv6/addrconf.c;
// ip_forward in Documentation/networking/ip-sysctl.rst.
inline constexpr std::array kSysctlCascades{
    SysctlCascade{"net.ipv4.ip_forward", "net.ipv4.conf.", ".forwarding"},
    SysctlCascade{"net.ipv4.conf.all.forwarding", "net.ipv4.conf.", ".forwarding"},
    SysctlCascade{"net.ipv6.conf.all.forwarding", "net.ipv6.conf.", ".forwarding"},
};

constexpr bool sets_too(std::string_view written, std::string_view other) {
  for (const SysctlCascade& one : kSysctlCascades)
    if (one.written == written && other != written && other.starts_with(one.begin) &&
        other.ends_with(one.end) && !other.starts_with("net.ipv4.conf.all.") &&
        !other.starts_with("net.ipv6.conf.all."))
      return true;
  return false;
}

}  // namespace lockstep
