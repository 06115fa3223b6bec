// The output of `lockstep render`: the desired state of one device, independent of its actual state.
//
// Identical ports are one line. Effects, which are only verified, are separate from settings.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reconciler/report/terminal.hpp"
#include "reconciler/session/native_calls.hpp"
#include "reconciler/session/opened_cluster.hpp"

namespace lockstep {

std::string rendered_device_text(const OpenedCluster& cluster, DeviceIndex device, const Terminal& terminal);
nlohmann::json rendered_device_json(const OpenedCluster& cluster, DeviceIndex device);

// The calls as comments and shell commands, grouped by subject. For reading only: some lines represent
// several calls, or have a word in capitals for a value that only the device knows.
std::string native_device_text(const OpenedCluster& cluster, DeviceIndex device, const NativeDevice& native);
// A configuration file, preceded by a comment (starting with "!") that names its device.
std::string native_file_text(const OpenedCluster& cluster, DeviceIndex device,
                             const NativeDevice::File& file);

}  // namespace lockstep
