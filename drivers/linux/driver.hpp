// The linux driver: one host or network namespace behind the driver interface.
//
// Promises: the namespace is entered anew at each call, so one that was deleted and recreated is picked up;
// it is read in a few dumps; changes are made one at a time, each acknowledged by the kernel, except that
// those of one port's egress scheduler are made together (they are one qdisc); changes that reset a port come
// first (they recreate it). What was not requested is left alone: foreign routes and rules (ours have
// protocol 76), addresses, qdiscs. Refuses: an older leader's epoch, a guard's revision that no longer
// matches (conflict), rollback by the device (the kernel has none).
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "drivers/driver.hpp"

namespace lockstep {

struct LinuxTarget {
  std::string device;      // the name in observations
  std::string netns_path;  // "/run/netns/gpu1"; empty: this machine's own
  // The ports' speeds are enforced by software (veth), and so are their classes and ECN marks. False: the
  // ports have speeds of their own. queueing/carrier.hpp describes what then implements their classes.
  bool software_rate = true;
  // Where /sys, /proc and /etc are found: a folder other than / is a recorded machine, for tests.
  std::filesystem::path root = "/";
  // NVIDIA's management library, as passed to dlopen(3); tests name a stub.
  std::string nvml_library = "libnvidia-ml.so.1";
  // The control socket of the lldpd that runs there, from which interface[*]/peer and lldp-agent are read.
  // Empty: not read.
  std::string lldpd_socket;
  // Kills what is left of that lldpd and starts it again; none: another service does that (systemd).
  std::function<Result<Done>(const Call&)> restart_lldpd{};
};

Attached make_linux_driver(LinuxTarget target);

}  // namespace lockstep
