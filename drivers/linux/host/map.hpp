// The rows of host readiness that the linux driver carries: the one place of this folder that names entries.
#pragma once

#include "specs/model/schema_rows.hpp"

namespace lockstep::host_map {

inline constexpr RowId kGovernor = row("cpu/governor");
inline constexpr RowId kIrqAffinity = row("cpu/irq-affinity");
inline constexpr RowId kFirmware = row("firmware[*]");
inline constexpr RowId kGpuCount = row("gpu/count");
inline constexpr RowId kGpuDriver = row("gpu/driver");
inline constexpr RowId kGpuEcc = row("gpu/ecc");
inline constexpr RowId kGpuNicAffinity = row("gpu/nic-affinity");
inline constexpr RowId kGpuPersistence = row("gpu/persistence");
inline constexpr RowId kKernelModule = row("kernel/module[*]");
inline constexpr RowId kKernelParameter = row("kernel/parameter[*]");
inline constexpr RowId kKernelVersion = row("kernel/version");
inline constexpr RowId kMemlock = row("memlock");
inline constexpr RowId kNcclHca = row("nccl/hca");
inline constexpr RowId kNcclTrafficClass = row("nccl/traffic-class");
inline constexpr RowId kPackage = row("package[*]");
inline constexpr RowId kAcs = row("pcie/acs");
inline constexpr RowId kMaxReadRequest = row("pcie/max-read-request");
inline constexpr RowId kService = row("service[*]");

}  // namespace lockstep::host_map
