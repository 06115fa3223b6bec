#include "drivers/linux/ethtool/features.hpp"

#include <algorithm>

namespace lockstep::ethtool {
namespace {

// Grouped as in ethtool(8) (its common.c, off_flag_def): by the beginning and end of a feature's name.
struct Word {
  std::string_view word;
  std::string_view begin;
  std::string_view end = {};
};
constexpr Word kWords[] = {{"rx", "rx-checksum"},
                           {"tx", "tx-checksum-"},
                           {"sg", "tx-scatter-gather"},
                           {"tso", "tx-tcp", "-segmentation"},
                           {"gso", "tx-generic-segmentation"},
                           {"gro", "rx-gro"},
                           {"lro", "rx-lro"},
                           {"rxvlan", "rx-vlan-hw-parse"},
                           {"txvlan", "tx-vlan-hw-insert"},
                           {"ntuple", "rx-ntuple-filter"},
                           {"rxhash", "rx-hashing"}};

bool belongs(std::string_view feature, std::string_view word) {
  const auto* const found = std::ranges::find(kWords, word, &Word::word);
  if (found == std::end(kWords)) return feature == word;
  // Words for several features; the others are whole names ("rx-gro" is not "rx-gro-hw").
  const bool several = found->begin.ends_with('-') || !found->end.empty() || word == "sg";
  if (!several) return feature == found->begin;
  return feature.starts_with(found->begin) && feature.ends_with(found->end);
}

// Excludes tx-tcp-accecn-segmentation and the like: Linux 6.18 leaves that one on when a port can segment
// nothing (netdev_fix_features drops the older ones only).
bool tells(std::string_view feature, std::string_view word) {
  if (word != "tso") return belongs(feature, word);
  return feature == "tx-tcp-segmentation" || feature == "tx-tcp6-segmentation";
}

}  // namespace

bool is_known(std::string_view word, const FeatureNames& names) {
  return std::ranges::any_of(names, [&](const std::string& name) { return tells(name, word); });
}

std::optional<bool> is_on(std::string_view word, const Features& features, const FeatureNames& names) {
  std::optional<bool> out;
  for (std::size_t at = 0; at < names.size(); ++at)
    if (!names[at].empty() && tells(names[at], word)) out = out.value_or(false) || bit(features.active, at);
  return out;
}

std::vector<std::string> changeable(std::string_view word, const Features& features,
                                    const FeatureNames& names) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < names.size(); ++at)
    if (!names[at].empty() && belongs(names[at], word) && bit(features.changeable, at))
      out.push_back(names[at]);
  return out;
}

}  // namespace lockstep::ethtool
