// The GPUs of a host: from PCI, with what NVIDIA's management library or AMD's driver reports for
// each.
//
// AMD: /sys/bus/pci/devices/*/ras/features ("feature mask: 0x..."; bit 0 is the memory controller,
// UMC: drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c), /sys/module/amdgpu/version (only out-of-tree drivers
// have one). Promises: changes nothing; without an NVIDIA GPU the library is not loaded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drivers/linux/host/nvml.hpp"
#include "drivers/linux/host/pci.hpp"

namespace lockstep {

struct HostGpu {
  PciFunction pci;
  std::optional<NvmlGpu> nvml;      // none: unknown to NVML, or NVML was not queried
  std::optional<bool> amd_ecc;      // none: not AMD's, or its driver does not report it
  std::optional<PciDistance> near;  // to the nearest NIC of the fabric; none: there is no NIC
};

struct HostGpus {
  std::vector<HostGpu> all;
  std::vector<PciFunction> nics;      // of the fabric
  std::optional<Error> nvml_missing;  // there are NVIDIA GPUs, and NVML is missing (unsupported) or failed
  std::string driver;                 // version; empty: no driver is loaded, or it has none

  bool any_of(std::uint32_t vendor) const;
};

// `functions`: of read_pci().
HostGpus read_gpus(const HostFiles& files, const std::vector<PciFunction>& functions, Nvml& nvml,
                   const Call& call);

}  // namespace lockstep
