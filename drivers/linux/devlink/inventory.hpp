// What each devlink device of a namespace reports, as facts to print: versions, ports, parameters, health
// reporters, rates, shared buffers, and the number of virtual functions.
//
// Promises: changes nothing; what a device does not report is empty. If the kernel has no devlink there
// are no devices. Fails if any kind can't be read, as a partial inventory would be mistaken for a complete
// one.
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

// In the calling thread's namespace, sorted by device.
Result<std::vector<DeviceFacts>> read_inventory(const HostFiles& files, const Call& call);

}  // namespace lockstep::devlink
