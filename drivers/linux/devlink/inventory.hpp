// What each devlink device of a namespace tells, as facts to print: versions, ports, parameters, health
// reporters, rates, shared buffers, and how many virtual functions there are.
//
// Promises: changes nothing; what a device does not tell is empty. Where the kernel has no devlink there are
// no devices. Refuses, with its error, a kind that can't be read: half of an inventory would be taken for
// all of it.
#pragma once

#include "drivers/linux/devlink/client.hpp"
#include "drivers/linux/host/files.hpp"

namespace lockstep::devlink {

struct DeviceFacts {
  Handle device;
  Info info;
  std::optional<std::uint16_t> eswitch;
  std::optional<std::uint32_t> functions;  // SR-IOV
  std::optional<std::uint32_t> functions_max;
  std::vector<Port> ports;
  std::vector<Parameter> parameters;
  std::vector<Reporter> reporters;
  std::vector<Rate> rates;
  std::vector<SharedBuffer> buffers;
  std::vector<Pool> pools;
  std::vector<Binding> bindings;
};

// In the calling thread's namespace, by device.
Result<std::vector<DeviceFacts>> read_inventory(const HostFiles& files, const Call& call);

}  // namespace lockstep::devlink
