#include "specs/platforms/firmware_settings.hpp"

#include <algorithm>
#include <charconv>
#include <span>

namespace lockstep {
namespace {

constexpr std::string_view kSwitch = "true, false";

constexpr FirmwareSetting kMlx5[] = {
    {.name = "ADVANCED_PCI_SETTINGS", .words = kSwitch},
    {.name = "ATS_ENABLED", .words = kSwitch},
    {.name = "CNP_802P_PRIO", .most = 7, .by_port = true},
    {.name = "CNP_DSCP", .most = 63, .by_port = true},
    {.name = "CQE_COMPRESSION", .words = "BALANCED, AGGRESSIVE"},
    {.name = "LINK_TYPE", .words = "IB, ETH", .by_port = true},
    {.name = "MAX_ACC_OUT_READ", .most = 65535, .with = "ADVANCED_PCI_SETTINGS"},
    {.name = "NUM_OF_VFS", .most = 65535},
    {.name = "PCI_WR_ORDERING", .words = "per_mkey, force_relax", .with = "ADVANCED_PCI_SETTINGS"},
    {.name = "ROCE_ADAPTIVE_ROUTING_EN", .words = kSwitch},
    {.name = "ROCE_CC_PRIO_MASK", .most = 255, .by_port = true},
    {.name = "ROCE_CONTROL", .words = "DEVICE_DEFAULT, ROCE_DISABLE, ROCE_ENABLE"},
    {.name = "SRIOV_EN", .words = kSwitch},
    {.name = "USER_PROGRAMMABLE_CC", .words = kSwitch},
};
constexpr FirmwareSetting kThor[] = {
    {.name = "pcie_relaxed_ordering", .words = kSwitch},
    {.name = "support_rdma", .words = kSwitch},
};

struct Vendor {
  std::string_view prefix;  // prefix of its platforms' names
  std::string_view tool;
  std::span<const FirmwareSetting> settings;
};
constexpr Vendor kVendors[] = {
    {"connectx-", "mlxconfig -d PCI set", kMlx5},
    {"bluefield-", "mlxconfig -d PCI set", kMlx5},
    {"thor", "niccli, NVM option", kThor},
};

const Vendor* vendor_of(std::string_view platform) {
  const auto* const at =
      std::find_if(std::begin(kVendors), std::end(kVendors),
                   [platform](const Vendor& one) { return platform.starts_with(one.prefix); });
  return at == std::end(kVendors) ? nullptr : at;
}

bool is_called(const FirmwareSetting& one, std::string_view name) {
  if (!one.by_port) return name == one.name;
  return name.starts_with(one.name) &&
         (name.substr(one.name.size()) == "_P1" || name.substr(one.name.size()) == "_P2");
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t comma = std::min(words.find(", "), words.size());
    if (words.substr(0, comma) == word) return true;
    words.remove_prefix(std::min(comma + 2, words.size()));
  }
  return false;
}

}  // namespace

const FirmwareSetting* find_firmware_setting(std::string_view platform, std::string_view name) {
  const Vendor* const vendor = vendor_of(platform);
  if (vendor == nullptr) return nullptr;
  const auto at = std::find_if(vendor->settings.begin(), vendor->settings.end(),
                               [name](const FirmwareSetting& one) { return is_called(one, name); });
  return at == vendor->settings.end() ? nullptr : &*at;
}

std::vector<std::string_view> firmware_settings(std::string_view platform) {
  std::vector<std::string_view> out;
  if (const Vendor* const vendor = vendor_of(platform))
    for (const FirmwareSetting& one : vendor->settings) out.push_back(one.name);
  return out;
}

std::string why_not(const FirmwareSetting& setting, std::string_view value) {
  if (!setting.words.empty()) return has_word(setting.words, value) ? "" : std::string(setting.words);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool fits = error == std::errc{} && end == value.data() + value.size() && number <= setting.most;
  return fits ? "" : "a number of 0 to " + std::to_string(setting.most);
}

std::string how_to_set(std::string_view platform, std::string_view name, std::string_view value) {
  const Vendor* const vendor = vendor_of(platform);
  if (vendor == nullptr) return {};
  const std::string_view said = value == "true" ? "1" : value == "false" ? "0" : value;
  return std::string(vendor->tool) + " " + std::string(name) + "=" + std::string(said);
}

}  // namespace lockstep
