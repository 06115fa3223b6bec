// The file in which a driver keeps one number of a RoCE port's congestion control.
//
// MLNX_OFED: /sys/class/net/PORT/ecn/; the upstream mlx5 driver: debugfs (infiniband/hw/mlx5/cong.c);
// Broadcom's bnxt_re: configfs, upstream: debugfs (infiniband/hw/bnxt_re/debugfs.c). Promises: changes
// nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drivers/linux/rdma/number_file.hpp"

namespace lockstep::rdma {

struct RocePort {
  std::string netdev;
  std::string device;
  std::string driver;
  std::string pci;
  std::string link_layer;
  std::uint32_t number = 0;
};

// "mlx5_0 (mlx5_core)"
std::string name_of(const RocePort& port);
bool is_bnxt(const RocePort& port);
bool is_mlx5(const RocePort& port);

// One setting's name in each driver; empty: that driver has no equivalent.
struct PortFile {
  std::string_view ofed;  // under ecn/
  std::string_view mlx5;  // under cc_params/
  std::string_view bnxt_configfs{};
  std::string_view bnxt_debugfs{};
};

std::string ofed_folder(const RocePort& port);
// Without a path: the driver has none, or the file does not exist.
NumberFile find_file(const HostFiles& files, const RocePort& port, const PortFile& setting);
std::string why_no_file(const RocePort& port, const PortFile& setting);

}  // namespace lockstep::rdma
