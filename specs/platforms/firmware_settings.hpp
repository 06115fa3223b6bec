// Settings of NIC firmware: allowed values, and the command that sets each (those that the kernel sets:
// devlink_settings.hpp). All take effect at the firmware's next reset or the host's next boot.
//
// Sources: Mellanox/mstflint@b9d9e844 mlxconfig/mlxconfig_dbs/mlxconfig_host.db (names, widths, words);
// torvalds/linux@011d133b drivers/net/ethernet/mellanox/mlx5/core/lib/nv_param.c (devlink, from Linux 6.18
// on); ROCm gpu-cluster-networking documentation (niccli). The tables are not complete: a firmware has more
// settings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

struct FirmwareSetting {
  std::string_view name;
  std::string_view words{};  // "true, false"; empty: a number
  std::uint32_t most = 0;    // maximum of a number
  std::string_view with{};   // the setting exists only while this one is true
  bool by_port = false;      // its name ends with the port's number: NAME_P1, NAME_P2
};

// Null: the platform has no known setting of that name.
const FirmwareSetting* find_firmware_setting(std::string_view platform, std::string_view name);
std::vector<std::string_view> firmware_settings(std::string_view platform);
// "true, false", "a number of 0 to 63"; empty: the value is allowed.
std::string why_not(const FirmwareSetting& setting, std::string_view value);
// "mlxconfig -d PCI set SRIOV_EN=1"; empty: the platform's tool is not known.
std::string how_to_set(std::string_view platform, std::string_view name, std::string_view value);

}  // namespace lockstep
