// The drivers of devices on this machine: of the machine itself, under its host policy, and of devices in its
// twins. The command line and lockstep-agent attach the same ones.
#pragma once

#include <optional>
#include <string>

#include "drivers/driver.hpp"
#include "drivers/linux/discover.hpp"
#include "specs/language/device_set.hpp"

namespace lockstep {

struct LocalDevice {
  struct InTwin {
    std::string id;
    bool lldp = false;  // an lldpd runs in every device
  };
  std::string device;
  std::string cluster;           // the name that the specs give it
  std::optional<InTwin> twin{};  // none: this machine
};

// Of linux and frr. Attached::machine is set.
Attached attach_local(DriverName driver, const LocalDevice& target);

// As Attached::machine has it, of this machine.
std::string this_machine();

// Discovery, whatever the specs say.
Result<DiscoveredHost> discover_local(const std::optional<LocalDevice>& in_twin, const Call& call);

}  // namespace lockstep
