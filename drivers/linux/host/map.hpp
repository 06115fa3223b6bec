// The map between entries and a host's settings: the only file of this folder that names rows.
#pragma once

#include "drivers/linux/host/settings.hpp"
#include "drivers/mapped/map_table.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::host_map {

inline constexpr RowId kGovernor = row("cpu/governor");
inline constexpr RowId kIrqAffinity = row("cpu/irq-affinity");
inline constexpr RowId kFirmware = row("firmware[*]");
inline constexpr RowId kGpuCount = row("gpu/count");
inline constexpr RowId kGpuDirect = row("gpu/direct[*]");
inline constexpr RowId kGpuDriver = row("gpu/driver");
inline constexpr RowId kGpuEcc = row("gpu/ecc");
inline constexpr RowId kGpuNicAffinity = row("gpu/nic-affinity");
inline constexpr RowId kGpuPersistence = row("gpu/persistence");
inline constexpr RowId kKernelModule = row("kernel/module[*]");
inline constexpr RowId kKernelParameter = row("kernel/parameter[*]");
inline constexpr RowId kKernelVersion = row("kernel/version");
inline constexpr RowId kMemlock = row("memlock");
inline constexpr RowId kNcclAdaptiveRouting = row("nccl/adaptive-routing");
inline constexpr RowId kNcclCrossNic = row("nccl/cross-nic");
inline constexpr RowId kNcclGidIndex = row("nccl/gid-index");
inline constexpr RowId kNcclHca = row("nccl/hca");
inline constexpr RowId kNcclQps = row("nccl/qps-per-connection");
inline constexpr RowId kNcclServiceLevel = row("nccl/service-level");
inline constexpr RowId kNcclSplit = row("nccl/split-data-on-qps");
inline constexpr RowId kNcclTrafficClass = row("nccl/traffic-class");
inline constexpr RowId kPackage = row("package[*]");
inline constexpr RowId kAcs = row("pcie/acs");
inline constexpr RowId kMaxReadRequest = row("pcie/max-read-request");
inline constexpr RowId kService = row("service[*]");

struct MapRow {
  RowId row;
  // Makes the object that reads and, if `write`, writes the row. Rows that are read together share one.
  OneSetting (*setting)(const LinuxTarget&, const SharedPci&);
  bool write;
  std::string (*native)(const Change&);  // null: nothing writes it
};

inline constexpr MapRow kRows[] = {
    {kGovernor, governor_setting, true, governor_words},
    {kIrqAffinity, irq_affinity_setting, true, irq_affinity_words},
    {kAcs, pcie_setting, true, acs_words},
    {kMaxReadRequest, pcie_setting, true, max_read_request_words},
    {kMemlock, memlock_setting, true, memlock_words},
    {kNcclAdaptiveRouting, nccl_setting, true, nccl_words},
    {kNcclCrossNic, nccl_setting, true, nccl_words},
    {kNcclGidIndex, nccl_setting, true, nccl_words},
    {kNcclHca, nccl_setting, true, nccl_words},
    {kNcclQps, nccl_setting, true, nccl_words},
    {kNcclServiceLevel, nccl_setting, true, nccl_words},
    {kNcclSplit, nccl_setting, true, nccl_words},
    {kNcclTrafficClass, nccl_setting, true, nccl_words},
    {kKernelModule, kernel_setting, true, module_words},
    {kKernelParameter, kernel_setting, false, nullptr},
    {kKernelVersion, kernel_setting, false, nullptr},
    {kPackage, packages_setting, false, nullptr},
    {kService, services_setting, true, service_words},
    {kFirmware, firmware_setting, false, nullptr},
    {kGpuCount, gpu_setting, false, nullptr},
    {kGpuDirect, gpu_direct_setting, false, nullptr},
    {kGpuDriver, gpu_setting, false, nullptr},
    {kGpuEcc, gpu_setting, true, ecc_words},
    {kGpuNicAffinity, gpu_setting, false, nullptr},
    {kGpuPersistence, gpu_setting, true, persistence_words},
};
static_assert(has_each_row_once(kRows));

}  // namespace lockstep::host_map
