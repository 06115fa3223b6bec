// Interned texts: equal text has equal id, for the life of the program, in every thread.
//
// Promises: text(id) never moves and needs no lock; ids differ between runs and order nothing. The pool only
// grows, so it is for names, keys and configuration values, which are bounded by the cluster; counters and
// other values that never repeat must not be put in it.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

using TextId = std::uint32_t;  // 0 is the empty text

TextId intern(std::string_view text);
std::string_view interned_text(TextId id);

}  // namespace lockstep
