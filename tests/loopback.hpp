// Brings up the loopback of this thread's network namespace, which is down in a new one.
#pragma once

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

namespace lockstep {

inline bool bring_loopback_up() {
  const int any = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq loopback{};
  std::snprintf(loopback.ifr_name, sizeof loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP;
  const bool up = ::ioctl(any, SIOCSIFFLAGS, &loopback) == 0;
  ::close(any);
  return up;
}

}  // namespace lockstep
