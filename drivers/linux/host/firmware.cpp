// firmware[*]: firmware versions of NICs, by the platform's name in specs/platforms.
//
// A NIC's version is reported by its RDMA device (fw_ver: Documentation/ABI/stable/sysfs-class-infiniband).
// If a platform's PCI ids are unknown (nic_platform.hpp), that is reported. Read and compared, never written:
// flashing is done with the vendor's tool, and requires a reset.
#include <algorithm>

#include "drivers/linux/host/map.hpp"
#include "drivers/linux/host/nic_platform.hpp"
#include "drivers/linux/host/pci.hpp"

namespace lockstep {
namespace {

using host_map::kFirmware;

class Firmware final : public HostSetting {
 public:
  Firmware(HostFiles files, SharedPci pci) : files_(std::move(files)), pci_(std::move(pci)) {}

  std::vector<Incapable> incapable(const Scope& scope, const Call&) override {
    std::vector<Incapable> out;
    for (const std::string& platform : scope.names(kFirmware)) {
      const auto version = version_of(platform);
      if (!version) continue;  // reported by read()
      std::string have = "which NICs are of platform " + platform + " is not known here";
      if (*version)
        have = platform + " runs " + version->to_string() + "; firmware is flashed manually";
      else if (has_pci_ids(platform))
        have = "no NIC here is a " + platform + " with an RDMA device to ask";
      out.push_back({kFirmware, {platform}, std::move(have), version->kind() != Value::Kind::none});
    }
    return out;
  }

  void read(HostReading& out, const Call&) override {
    for (const std::string& platform : out.scope.names(kFirmware)) {
      const auto version = version_of(platform);
      if (version)
        out.add(Path(kFirmware, {platform}), *version);
      else
        out.fails(kFirmware, version.error(), {platform});
    }
  }

 private:
  Result<Value> version_of(const std::string& platform) const {
    std::vector<std::string> versions;
    const auto functions = pci_->functions();
    for (const PciFunction& nic : *functions)
      for (const std::string& device : nic.rdma_devices) {
        if (nic_platform(nic) != platform) continue;
        TRY(std::string version, files_.line(pci_path(nic.address) + "/infiniband/" + device + "/fw_ver"));
        versions.push_back(std::move(version));
      }
    std::sort(versions.begin(), versions.end());
    versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
    if (versions.empty()) return Value{};
    return versions.size() == 1 ? Value::text(versions.front()) : Value::set(versions);
  }

  HostFiles files_;
  SharedPci pci_;
};

}  // namespace

OneSetting firmware_setting(const LinuxTarget& target, const SharedPci& pci) {
  return std::make_unique<Firmware>(HostFiles(target.root), pci);
}

}  // namespace lockstep
