// Faults by name, for `lockstep twin break`: each breaks one thing in a twin's device the way it breaks in
// real networks.
//
// Promises: made natively (netlink, the daemon's vty, /proc/sys, a signal to the twin's own daemon), only
// inside the twin's namespaces, and each reports exactly what it did and what was there before. Faults can't
// be reverted here: detecting and healing them is the reconciler's work (tested in tests/twin). What cuts an
// agent off can't be healed through it, so that the faults agent-* are ended here, by "off"; so are sonic-*,
// as SONiC's daemons are not Lockstep's to repair. Refuses, with nothing changed: a fault of an agent in a
// twin without agents, one of SONiC on another device, an unknown fault, a missing or meaningless argument, a
// device, daemon, port, table or address that does not exist (`lo` is no port: it has no cable), a rate that
// slows nothing down, a parameter outside net.* (it would be this machine's), the death of a daemon that
// nothing would start again.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/posix/call.hpp"
#include "reconciler/twin/places.hpp"
#include "reconciler/twin/state.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// One line each, as typed in a shell: "gpu1: ip link set rail0 mtu 1500 (was 9000)".
using FaultLines = std::vector<std::string>;

struct FaultOrder {
  TwinReport twin;  // when the order came
  std::string device;
  DevicePlaces at;
  std::vector<std::string> arguments;  // after the device
  Call call;

  // Argument number i, or the default if it was not given.
  std::string argument(std::size_t i, std::string_view otherwise = {}) const {
    return i < arguments.size() ? arguments[i] : std::string(otherwise);
  }
};

struct Fault {
  std::string_view name;
  std::string_view arguments;  // "DEVICE PORT [MTU=1500]"
  std::string_view what;       // what goes wrong
  std::string_view shown_by;   // the entries of `drift`, or other output, that show it; and what ends it
  std::string_view native;     // how it is done
  std::size_t least = 0;       // arguments after the device
  std::size_t most = 0;
  bool of_agents = false;  // needs a twin with agents
  bool of_sonic = false;   // needs a device that runs SONiC
  Result<FaultLines> (*make)(const FaultOrder& order) = nullptr;
};

// All of them, by name.
std::span<const Fault> faults();

// `words`: the device and its arguments. The twin must be up.
Result<FaultLines> break_twin(const std::string& cluster, const std::string& fault,
                              const std::vector<std::string>& words, const Call& call);

}  // namespace lockstep
