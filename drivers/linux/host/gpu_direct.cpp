// gpu/direct[*]: whether an RDMA NIC can access the memory of NVIDIA's GPUs, by each method and by any:
// "ready", or what prevents it.
//
// dmabuf: the GPUs use the open kernel module (according to /proc/driver/nvidia/version), and the kernel is
// 5.12 or newer, since when mlx5 registers such memory (NVIDIA GPU Operator and NCCL's user guide, "GPUDirect
// RDMA" and NCCL_DMABUF_ENABLE). peermem: the module nvidia_peermem is loaded, or its predecessor
// nv_peer_mem. Permissions of processes and support in CUDA are not checked. Read, never written: modules at
// boot are handled by kernel/module[*].
#include <algorithm>

#include "drivers/linux/host/map.hpp"
#include "specs/model/version.hpp"

namespace lockstep {
namespace {

using host_map::kGpuDirect;

constexpr std::string_view kReady = "ready";
constexpr std::string_view kVersionFile = "/proc/driver/nvidia/version";
constexpr std::string_view kDmabufKernel = ">=5.12";

class GpuDirectSetting final : public HostSetting {
 public:
  GpuDirectSetting(HostFiles files, SharedPci pci) : files_(std::move(files)), pci_(std::move(pci)) {}

  std::vector<Incapable> incapable(const Scope&, const Call&) override {
    if (has_nvidia()) return {};
    return {{kGpuDirect, {}, "no NVIDIA GPU in /sys/bus/pci/devices; of others it is not known here"}};
  }

  void read(HostReading& out, const Call&) override {
    if (!has_nvidia()) return;
    const auto dmabuf = why_no_dmabuf();
    const std::string peermem = why_no_peermem();
    if (!dmabuf) {
      for (const std::string_view way : {"dmabuf", "any"})
        out.fails(kGpuDirect, dmabuf.error(), {std::string(way)});
    } else {
      tell(out, "dmabuf", *dmabuf);
      tell(out, "any", dmabuf->empty() || peermem.empty() ? "" : *dmabuf + "; " + peermem);
    }
    tell(out, "peermem", peermem);
  }

 private:
  static void tell(HostReading& out, std::string_view way, std::string_view why_not) {
    out.add(Path(kGpuDirect, {way}), Value::text(why_not.empty() ? kReady : why_not));
  }

  bool has_nvidia() const {
    const auto functions = pci_->functions();
    return std::any_of(functions->begin(), functions->end(),
                       [](const PciFunction& one) { return is_gpu(one) && one.vendor == kPciVendorNvidia; });
  }

  std::string why_no_peermem() const {
    const bool loaded =
        files_.exists("/sys/module/nvidia_peermem") || files_.exists("/sys/module/nv_peer_mem");
    return loaded ? "" : "the module nvidia_peermem is not loaded";
  }

  Result<std::string> why_no_dmabuf() const {
    const auto module = files_.read(kVersionFile);
    if (!module && module.error().kind == ErrorKind::unsupported)
      return std::string("the module nvidia is not loaded");
    if (!module) return module.error();
    if (module->find("Open Kernel Module") == std::string::npos)
      return std::string("the module nvidia is not the open one (") + std::string(kVersionFile) + ")";
    TRY(const std::string kernel, files_.line("/proc/sys/kernel/osrelease"));
    if (!version_meets(kernel, kDmabufKernel)) return "kernel " + kernel + " is older than 5.12";
    return std::string();
  }

  HostFiles files_;
  SharedPci pci_;
};

}  // namespace

OneSetting gpu_direct_setting(const LinuxTarget& target, const SharedPci& pci) {
  return std::make_unique<GpuDirectSetting>(HostFiles(target.root), pci);
}

}  // namespace lockstep
