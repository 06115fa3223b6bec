// Offloads by the short words of ethtool(8) ("tso", "rxhash") or by the kernel's own names
// ("rx-udp-gro-forwarding"): which features of the kernel each stands for.
//
// Promises: a word is on when any of its features is active, as `ethtool -k` tells it; tso is told by the two
// that every port with it has. Refuses nothing: of a word that this kernel does not know nothing is told.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/linux/ethtool/messages.hpp"

namespace lockstep::ethtool {

// Names of features, each at its bit.
using FeatureNames = std::vector<std::string>;

// Told of every port, asked for or not.
inline constexpr std::string_view kUsualOffloads[] = {"gro", "gso", "tso"};

bool is_known(std::string_view word, const FeatureNames& names);
// None: this kernel knows no such word.
std::optional<bool> is_on(std::string_view word, const Features& features, const FeatureNames& names);
// Those of a word's features that the port's driver lets be changed; none: the port has it fixed.
std::vector<std::string> changeable(std::string_view word, const Features& features,
                                    const FeatureNames& names);

}  // namespace lockstep::ethtool
