// The linux driver: one host or network namespace behind the driver seam.
//
// Promises: a namespace is entered anew at each call, so one that was deleted and made again is met fresh; it
// is read in a few dumps; changes are made one at a time, each acknowledged by the kernel, those of one
// port's egress scheduler together (they are one qdisc), those that reset a port first (they make it anew).
// What was not asked for is left alone: foreign routes and rules (ours carry protocol 76), addresses, qdiscs.
// Refuses: an older leader's epoch, a guard's revision that has moved on (conflict), undo by the device (the
// kernel has none).
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "drivers/driver.hpp"

namespace lockstep {

struct LinuxTarget {
  std::string device;      // the name in observations
  std::string netns_path;  // "/run/netns/gpu1"; empty: this machine's own
  // The ports' speeds are made by software (veth), and so are their classes and ECN marks. False: the ports
  // have speeds of their own. What carries their classes, queueing/carrier.hpp says.
  bool software_rate = true;
  // Where /sys, /proc and /etc are found: another folder is a recorded machine, for tests.
  std::filesystem::path root = "/";
  // NVIDIA's management library, as dlopen(3) looks for it; tests name a stub.
  std::string nvml_library = "libnvidia-ml.so.1";
  // The control socket of the lldpd that runs there: interface[*]/peer and lldp-agent are read from it.
  // Empty: not read.
  std::string lldpd_socket;
  // Ends what is left of that lldpd and starts it again; none: that is somebody else's work (systemd's).
  std::function<Result<Done>(const Call&)> restart_lldpd{};
};

Attached make_linux_driver(LinuxTarget target);

}  // namespace lockstep
