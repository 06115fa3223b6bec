// firmware[*]: firmware versions of NICs, by the platform's name in specs/platforms.
//
// A NIC's version is what its RDMA device tells (fw_ver: Documentation/ABI/stable/sysfs-class-infiniband);
// which NICs are of a platform is told by their PCI ids (pci.ids; for thor2: bnxt_pci_tbl in the kernel's
// bnxt.c). Where no ids of a platform are known, as of pollara-400, which pci.ids does not name, that is
// said. Read and compared, never written: flashing is the vendor's tool's matter, and takes a reset.
#include <algorithm>

#include "drivers/linux/host/map.hpp"
#include "drivers/linux/host/pci.hpp"

namespace lockstep {
namespace {

using host_map::kFirmware;

struct PlatformId {
  std::string_view platform;
  std::uint32_t vendor;
  std::uint32_t device;
};
constexpr PlatformId kPlatformIds[] = {
    {"connectx-6-dx", 0x15b3, 0x101d}, {"connectx-7", 0x15b3, 0x1021}, {"connectx-8", 0x15b3, 0x1023},
    {"bluefield-3", 0x15b3, 0xa2dc},   {"e810", 0x8086, 0x1591},       {"e810", 0x8086, 0x1592},
    {"e810", 0x8086, 0x1593},          {"e810", 0x8086, 0x1599},       {"e810", 0x8086, 0x159a},
    {"e810", 0x8086, 0x159b},          {"thor2", 0x14e4, 0x1760}};

bool has_ids(std::string_view platform) {
  return std::any_of(std::begin(kPlatformIds), std::end(kPlatformIds),
                     [&](const PlatformId& one) { return one.platform == platform; });
}

bool is_of(const PciFunction& nic, std::string_view platform) {
  return std::any_of(std::begin(kPlatformIds), std::end(kPlatformIds), [&](const PlatformId& one) {
    return one.platform == platform && one.vendor == nic.vendor && one.device == nic.device;
  });
}

class Firmware final : public HostSetting {
 public:
  Firmware(HostFiles files, SharedPci pci) : files_(std::move(files)), pci_(std::move(pci)) {}

  std::vector<Incapable> incapable(const Scope& scope, const Call&) override {
    std::vector<Incapable> out;
    for (const std::string& platform : scope.names(kFirmware)) {
      const auto version = version_of(platform);
      if (!version) continue;  // read() tells
      std::string have = "which NICs are of platform " + platform + " is not known here";
      if (*version)
        have = platform + " runs " + version->to_string() + "; firmware is flashed by hand";
      else if (has_ids(platform))
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
        if (!is_of(nic, platform)) continue;
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
