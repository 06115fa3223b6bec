// gpu/count, gpu/driver, gpu/ecc, gpu/nic-affinity and gpu/persistence.
//
// count: the GPUs that answer: for NVIDIA those that NVML can query, or, without NVML, those on the PCI bus.
// ecc: memory ECC as currently in effect; if another mode is pending until the GPU's next reset, a text with
// both. nic-affinity: "nearest" if every GPU has a NIC of the fabric without a host bridge in between (PIX or
// PXB: what NCCL uses for GPUDirect RDMA by default; NCCL's user guide, NCCL_NET_GDR_LEVEL), else a text with
// the GPUs that have none and the distance of their nearest one. Written: ECC and persistence of NVIDIA's
// GPUs, by NVML. AMD's have no persistence mode, and their ECC is a parameter of amdgpu at boot.
#include "drivers/linux/host/gpu.hpp"
#include "drivers/linux/host/map.hpp"

namespace lockstep {
namespace {

using host_map::kGpuCount;
using host_map::kGpuDriver;
using host_map::kGpuEcc;
using host_map::kGpuNicAffinity;
using host_map::kGpuPersistence;

Value ecc_of(const NvmlGpu& gpu) {
  if (!gpu.ecc) return {};
  const Value now = Value::boolean(*gpu.ecc);
  if (gpu.ecc_after_reset.value_or(*gpu.ecc) == *gpu.ecc) return now;
  return Value::text(now.to_string() + ", " + Value::boolean(*gpu.ecc_after_reset).to_string() +
                     " after a reset");
}

Value ecc_in_common(const HostGpus& gpus) {
  std::vector<Value> values;
  for (const HostGpu& one : gpus.all) {
    if (one.nvml && one.nvml->ecc) values.push_back(ecc_of(*one.nvml));
    if (one.amd_ecc) values.push_back(Value::boolean(*one.amd_ecc));
  }
  return in_common(values);
}

Value persistence_in_common(const HostGpus& gpus) {
  std::vector<Value> values;
  for (const HostGpu& one : gpus.all)
    if (one.nvml && one.nvml->persistence) values.push_back(Value::boolean(*one.nvml->persistence));
  return in_common(values);
}

Value nic_affinity_of(const HostGpus& gpus) {
  std::string far;
  for (const HostGpu& one : gpus.all)
    if (one.near && *one.near > PciDistance::pxb)
      far += (far.empty() ? "" : ", ") + one.pci.address + " " + std::string(to_string(*one.near));
  return Value::text(far.empty() ? "nearest" : far);
}

std::string on_or_off(const Change& change) { return change.want == Value::boolean(true) ? "1" : "0"; }

class Gpus final : public HostSetting {
 public:
  Gpus(const LinuxTarget& target, SharedPci pci)
      : files_(target.root), pci_(std::move(pci)), nvml_(target.root, target.nvml_library) {}

  std::vector<Incapable> incapable(const Scope&, const Call& call) override {
    const HostGpus gpus = read_gpus(files_, *pci_->functions(), nvml_, call);
    std::vector<Incapable> out;
    const auto lacks = [&out](RowId row, std::string why, bool by_hand = false) {
      out.push_back({row, {}, std::move(why), by_hand});
    };
    if (gpus.all.empty()) {
      for (const RowId row : {kGpuDriver, kGpuEcc, kGpuNicAffinity, kGpuPersistence})
        lacks(row, "no NVIDIA or AMD GPU in /sys/bus/pci/devices");
      return out;
    }
    const std::string driver = gpus.driver.empty() ? "no driver that reports a version is loaded"
                                                   : "driver " + gpus.driver + " is loaded";
    lacks(kGpuDriver, driver + "; another is installed manually, and takes a reboot", true);
    if (gpus.nics.empty()) lacks(kGpuNicAffinity, "no PCI network controller in /sys/bus/pci/devices");
    if (failed(gpus)) return out;  // reported by read()
    const std::string missing = gpus.nvml_missing ? gpus.nvml_missing->text() : "";
    if (!gpus.any_of(kPciVendorNvidia)) {
      lacks(kGpuPersistence, "AMD's GPUs have no persistence mode");
      lacks(kGpuEcc, "ECC of AMD's GPUs is set at boot (amdgpu.ras_enable)");
      return out;
    }
    if (!persistence_in_common(gpus))
      lacks(kGpuPersistence, missing.empty() ? "no GPU here has a persistence mode" : missing);
    if (!ecc_in_common(gpus)) lacks(kGpuEcc, missing.empty() ? "no GPU here has an ECC mode" : missing);
    return out;
  }

  void read(HostReading& out, const Call& call) override {
    const HostGpus gpus = read_gpus(files_, *pci_->functions(), nvml_, call);
    if (!gpus.all.empty() && !gpus.nics.empty()) out.add(kGpuNicAffinity, nic_affinity_of(gpus));
    if (!gpus.driver.empty()) out.add(kGpuDriver, Value::text(gpus.driver));
    if (failed(gpus)) {
      for (const RowId row : {kGpuCount, kGpuEcc, kGpuPersistence}) out.fails(row, *gpus.nvml_missing);
      return;
    }
    std::size_t answering = 0;
    for (const HostGpu& one : gpus.all) {
      const bool asked = one.pci.vendor == kPciVendorNvidia && !gpus.nvml_missing;
      if (!asked || (one.nvml && one.nvml->lost.empty())) ++answering;
    }
    out.add(kGpuCount, Value::integer(answering));
    out.add(kGpuEcc, ecc_in_common(gpus));
    out.add(kGpuPersistence, persistence_in_common(gpus));
  }

  Result<Done> set(const Change& change, const Call& call) override {
    TRY(const bool on, wanted_boolean(change));
    return change.path.row() == kGpuEcc ? nvml_.set_ecc(on, call) : nvml_.set_persistence(on, call);
  }

 private:
  // NVML exists, and failed.
  static bool failed(const HostGpus& gpus) {
    return gpus.nvml_missing && gpus.nvml_missing->kind != ErrorKind::unsupported;
  }

  HostFiles files_;
  SharedPci pci_;
  Nvml nvml_;
};

}  // namespace

std::string ecc_words(const Change& change) {
  return "nvidia-smi -e " + on_or_off(change) + "  # in force after a reset";
}

std::string persistence_words(const Change& change) { return "nvidia-smi -pm " + on_or_off(change); }

OneSetting gpu_setting(const LinuxTarget& target, const SharedPci& pci) {
  return std::make_unique<Gpus>(target, pci);
}

}  // namespace lockstep
