// Settings of NICs' firmware: what each may be, and how a person sets it (which the kernel sets:
// devlink_settings.hpp). All are taken over at the firmware's next reset or the host's next boot.
//
// Sources: Mellanox/mstflint@b9d9e844 mlxconfig/mlxconfig_dbs/mlxconfig_host.db (names, widths, words);
// torvalds/linux@011d133b drivers/net/ethernet/mellanox/mlx5/core/lib/nv_param.c (devlink, from Linux 6.18
// on); ROCm gpu-cluster-networking documentation (niccli). Promises: a firmware has more of them than are
// here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

struct FirmwareSetting {
  std::string_view name;
  std::string_view words{};  // "true, false"; empty: a number
  std::uint32_t most = 0;    // of a number
  std::string_view with{};   // it is there only where this one is true
  bool by_port = false;      // its name ends with the port's number: NAME_P1, NAME_P2
};

// Null: none of that name is known of that platform.
const FirmwareSetting* find_firmware_setting(std::string_view platform, std::string_view name);
std::vector<std::string_view> firmware_settings(std::string_view platform);
// "true, false", "a number of 0 to 63"; empty: the setting takes the value.
std::string why_not(const FirmwareSetting& setting, std::string_view value);
// "mlxconfig -d PCI set SRIOV_EN=1"; empty: the platform's tool is not known.
std::string how_to_set(std::string_view platform, std::string_view name, std::string_view value);

}  // namespace lockstep
