#include "drivers/linux/rdma/port_file.hpp"

namespace lockstep::rdma {
namespace {

constexpr std::string_view kBnxtConfigfs = "/sys/kernel/config/bnxt_re";

NumberFile in_bnxt_configfs(const RocePort& port, std::string_view name) {
  const std::string entry = std::string(kBnxtConfigfs) + "/" + port.device;
  const std::string folder = entry + "/ports/" + std::to_string(port.number) + "/cc/";
  return {folder + std::string(name), entry, folder + "apply", true};
}

}  // namespace

std::string name_of(const RocePort& port) {
  return port.device + (port.driver.empty() ? "" : " (" + port.driver + ")");
}

bool is_bnxt(const RocePort& port) { return port.driver == "bnxt_en"; }
bool is_mlx5(const RocePort& port) { return port.driver == "mlx5_core"; }

std::string ofed_folder(const RocePort& port) { return "/sys/class/net/" + port.netdev + "/ecn"; }

NumberFile find_file(const HostFiles& files, const RocePort& port, const PortFile& setting) {
  const auto at = [&files](std::string path) {
    return files.exists(path) ? NumberFile{std::move(path)} : NumberFile{};
  };
  if (!setting.ofed.empty())
    if (NumberFile ofed = at(ofed_folder(port) + "/" + std::string(setting.ofed)); !ofed.path.empty())
      return ofed;
  if (is_bnxt(port)) {
    if (setting.bnxt_configfs.empty()) return {};
    if (files.exists(kBnxtConfigfs)) return in_bnxt_configfs(port, setting.bnxt_configfs);
    return at("/sys/kernel/debug/bnxt_re/" + port.pci + "/cc_config/" + std::string(setting.bnxt_debugfs));
  }
  if (!is_mlx5(port) || setting.mlx5.empty()) return {};
  return at("/sys/kernel/debug/mlx5/" + port.pci + "/cc_params/" + std::string(setting.mlx5));
}

std::string why_no_file(const RocePort& port, const PortFile& setting) {
  if (port.driver == "rxe") return "rxe: software RDMA ignores congestion marks and sends no CNP";
  const bool has =
      (is_mlx5(port) && !setting.mlx5.empty()) || (is_bnxt(port) && !setting.bnxt_configfs.empty());
  if (!has) return name_of(port) + ": its driver has no file for it that is known here";
  return name_of(port) + ": its driver's file is not there: mount debugfs on /sys/kernel/debug, or configfs";
}

}  // namespace lockstep::rdma
