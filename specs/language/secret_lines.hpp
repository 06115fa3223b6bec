// Lines of a text that may hold a secret which was written by mistake: no excerpt shows them.
//
// Promises: decided by the text alone, so that it holds where the file can't be parsed, or has more errors
// than are reported: a key that is called as secrets are (`secret`, `password`, `token` ...) hides its line
// and what is indented below it, unless its value says where the secret is kept (systemd:, file:, env:);
// of what is inside of `credentials` only that is shown. A
// line too many costs a look into the file; one too few is in a CI log for good.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

namespace lockstep {

// Line numbers, from 1.
std::set<std::uint32_t> lines_with_secrets(std::string_view text);

}  // namespace lockstep
