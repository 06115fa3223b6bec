// Settings of NIC firmware that the kernel exposes as permanent devlink parameters.
//
// Source: torvalds/linux@011d133b drivers/net/ethernet/mellanox/mlx5/core/lib/nv_param.c, from Linux 6.18 on.
// One table keeps spec diagnostics, the drivers and host policies consistent. Header-only, because
// drivers/linux links no spec library but the model.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace lockstep {

struct DevlinkSetting {
  std::string_view name;  // the vendor's
  std::string_view parameter;
  bool is_word = false;  // one of a set of words: upper case in the firmware, lower case in devlink
};
inline constexpr DevlinkSetting kDevlinkSettings[] = {{"CQE_COMPRESSION", "cqe_compress_type", true},
                                                      {"NUM_OF_VFS", "total_vfs"},
                                                      {"SRIOV_EN", "enable_sriov"}};

// Null: devlink has no parameter for that setting.
constexpr const DevlinkSetting* find_devlink_setting(std::string_view name) {
  for (const DevlinkSetting& one : kDevlinkSettings)
    if (one.name == name) return &one;
  return nullptr;
}

inline std::string to_devlink(const DevlinkSetting& setting, std::string_view value) {
  std::string out(value);
  if (setting.is_word)
    std::ranges::transform(out, out.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}
inline std::string from_devlink(const DevlinkSetting& setting, std::string_view value) {
  std::string out(value);
  if (setting.is_word)
    std::ranges::transform(out, out.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

}  // namespace lockstep
