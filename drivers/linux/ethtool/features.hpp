// Offloads by ethtool(8)'s short names ("tso", "rxhash") or by the kernel's own names
// ("rx-udp-gro-forwarding"): the kernel features that each corresponds to.
//
// Promises: an offload is on if any of its features is active, as in `ethtool -k`; tso is determined by the
// two features that every port with tso has. Refuses nothing: a name that this kernel does not know is not
// reported.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/linux/ethtool/messages.hpp"

namespace lockstep::ethtool {

// Names of features, each at its bit.
using FeatureNames = std::vector<std::string>;

// Reported for every port, requested or not.
inline constexpr std::string_view kUsualOffloads[] = {"gro", "gso", "tso"};

bool is_known(std::string_view word, const FeatureNames& names);
// None: this kernel does not know the name.
std::optional<bool> is_on(std::string_view word, const Features& features, const FeatureNames& names);
// Those of an offload's features that the port's driver allows to be changed; none: fixed on this port.
std::vector<std::string> changeable(std::string_view word, const Features& features,
                                    const FeatureNames& names);

}  // namespace lockstep::ethtool
