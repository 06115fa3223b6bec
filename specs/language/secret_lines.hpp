// Lines of a text that may contain a secret written by mistake: excerpts do not show them.
//
// Promises: decided by the text alone, so that it works if the file can't be parsed, or has more errors than
// are reported: a key named like a secret (`secret`, `password`, `token` ...) hides its line and everything
// indented below it, unless its value states where the secret is kept (systemd:, file:, env:); within
// `credentials` only such values are shown. Hiding too many lines only costs a look at the file; a secret in
// a CI log can't be taken back.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

namespace lockstep {

// Line numbers, from 1.
std::set<std::uint32_t> lines_with_secrets(std::string_view text);

}  // namespace lockstep
