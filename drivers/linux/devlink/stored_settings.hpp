// Firmware settings of a NIC as NVIDIA's own tool reads them: those that the kernel has no parameter for.
//
// Reads through mstconfig (mstflint) or mlxconfig (MFT), whose output is the same: Mellanox/mstflint@b9d9e844
// mlxconfig/mlxcfg_ui.cpp, printConfHeader and printSingleParam. The tool is only ever queried (`query`),
// with a PCI address from sysfs; its arguments contain nothing from a spec.
//
// Promises: values are in the specs' form ("true", "BALANCED", "8"); they are the stored ones, in effect
// after the next reset or boot. A setting that the firmware does not have is absent.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "drivers/linux/host/files.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "drivers/posix/call.hpp"

namespace lockstep::devlink {

using StoredSettings = std::map<std::string, std::string, std::less<>>;

// For the NIC that the port belongs to. Unsupported: not one of NVIDIA's, or neither tool is installed.
Result<StoredSettings> stored_settings(const HostFiles& files, const Link& port, const Call& call);

// From the tool's output. Refused: it contains no table.
Result<StoredSettings> parse_stored_settings(std::string_view printed);

}  // namespace lockstep::devlink
