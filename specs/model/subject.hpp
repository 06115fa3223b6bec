// subject_of: the thing that an entry is a part of, so that reports group related entries under one title.
#pragma once

#include <string_view>

#include "specs/model/schema.hpp"

namespace lockstep {

// The beginning of an entry's text: "interface[rail0]" of interface[rail0]/class[3]/dscp, "bgp" of bgp/asn;
// for a collection whose members have no parts, its name: "sysctl". `text` may be folded
// (interface[rail[0-1]]/mtu).
std::string_view subject_of(RowId row, std::string_view text);

}  // namespace lockstep
