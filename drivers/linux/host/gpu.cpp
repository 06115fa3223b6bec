#include "drivers/linux/host/gpu.hpp"

#include <algorithm>
#include <charconv>

namespace lockstep {
namespace {

std::optional<bool> amd_memory_ecc(const HostFiles& files, const std::string& address) {
  const auto line = files.line(pci_path(address) + "/ras/features");
  constexpr std::string_view kHead = "feature mask: 0x";
  if (!line || !line->starts_with(kHead)) return std::nullopt;
  std::uint32_t mask = 0;
  const char* const begin = line->data() + kHead.size();
  if (std::from_chars(begin, line->data() + line->size(), mask, 16).ec != std::errc{}) return std::nullopt;
  return (mask & 1U) != 0;
}

void read_nvml(HostGpus& out, Nvml& nvml, const Call& call) {
  auto state = nvml.read(call);
  if (!state) {
    out.nvml_missing = std::move(state.error());
    return;
  }
  out.driver = state->driver;
  for (const NvmlGpu& one : state->gpus)
    for (HostGpu& gpu : out.all)
      if (gpu.pci.address == one.pci) gpu.nvml = one;
}

}  // namespace

bool HostGpus::any_of(std::uint32_t vendor) const {
  return std::any_of(all.begin(), all.end(), [&](const HostGpu& one) { return one.pci.vendor == vendor; });
}

HostGpus read_gpus(const HostFiles& files, const std::vector<PciFunction>& functions, Nvml& nvml,
                   const Call& call) {
  HostGpus out;
  out.nics = fabric_nics(functions);
  for (const PciFunction& one : functions) {
    if (!is_gpu(one)) continue;
    HostGpu gpu;
    gpu.pci = one;
    if (one.vendor == kPciVendorAmd) gpu.amd_ecc = amd_memory_ecc(files, one.address);
    for (const PciFunction& nic : out.nics)
      gpu.near = std::min(gpu.near.value_or(PciDistance::sys), distance_between(one, nic));
    out.all.push_back(std::move(gpu));
  }
  if (out.any_of(kPciVendorNvidia)) read_nvml(out, nvml, call);
  if (!out.driver.empty()) return out;
  // The version of a driver without NVML: out-of-tree modules have one (MODULE_VERSION).
  for (const auto& [vendor, module] : {std::pair{kPciVendorNvidia, "nvidia"}, {kPciVendorAmd, "amdgpu"}}) {
    const auto version = files.line("/sys/module/" + std::string(module) + "/version");
    if (version && out.any_of(vendor)) out.driver = *version;
  }
  return out;
}

}  // namespace lockstep
