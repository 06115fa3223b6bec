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
  // Files of a SONiC switch; empty: where SONiC has them.
  struct SonicFiles {
    std::string databases{};
    std::string config{};
    std::string checkpoints{};
    std::string models{};
  };
  SonicFiles sonic{};
};

// Of linux, frr and sonic. Attached::machine is set.
Attached attach_local(DriverName driver, const LocalDevice& target);

// SONiC's YANG models: where LOCKSTEP_SONIC_YANG says that they are, or where a switch has them. Empty: they
// are not here, or libyang is not.
std::string sonic_models();

// As Attached::machine has it, of this machine.
std::string this_machine();

// Discovery, whatever the specs say.
Result<DiscoveredHost> discover_local(const std::optional<LocalDevice>& in_twin, const Call& call);

}  // namespace lockstep
