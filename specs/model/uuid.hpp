// UUIDs of version 4: unique names without coordination.
//
// Promises: the text is RFC 9562's (section 4): 32 hexadecimal digits in lower case, in groups of 8, 4, 4, 4
// and 12. Read in either case. Refuses whatever is not of version 4 and its variant (section 5.4).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

// From random bits, six of which are replaced by version and variant.
std::string uuid_v4(std::array<std::uint8_t, 16> random);
// In lower case; none: not such a UUID.
std::optional<std::string> parse_uuid_v4(std::string_view text);

}  // namespace lockstep
