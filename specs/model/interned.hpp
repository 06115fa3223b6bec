// Interned texts: equal text has an equal id, for the life of the program, in every thread.
//
// Promises: text(id) never moves and needs no lock; ids differ between runs and imply no order. The pool only
// grows, so it is for names, keys and configuration values, which are bounded by the cluster; never put
// counters or other values that do not repeat into it.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

using TextId = std::uint32_t;  // 0 is the empty text

TextId intern(std::string_view text);
std::string_view interned_text(TextId id);

}  // namespace lockstep
