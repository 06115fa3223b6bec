#include "drivers/linux/host/nic_platform.hpp"

#include <algorithm>

namespace lockstep {
namespace {

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

}  // namespace

std::string_view nic_platform(const PciFunction& nic) {
  const auto* const found = std::ranges::find_if(kPlatformIds, [&](const PlatformId& one) {
    return one.vendor == nic.vendor && one.device == nic.device;
  });
  return found == std::end(kPlatformIds) ? "" : found->platform;
}

bool has_pci_ids(std::string_view platform) {
  return std::ranges::find(kPlatformIds, platform, &PlatformId::platform) != std::end(kPlatformIds);
}

}  // namespace lockstep
