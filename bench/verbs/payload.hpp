// Payload: what each end's memory holds before a run, and whether it holds the right bytes after it.
//
// Promises: what is sent is the pattern, what is received into is its complement, so that a message that did
// not arrive is seen. After the run each slot that a message was due in is compared byte by byte, at the end
// that received it (the reader, for read). The last byte of a write's round trip is its mark and is not
// compared (latency.cpp). Contents repeat: a message that was lost and then overwritten by a later one of the
// same slot is not told apart; counting completions is for that.
#pragma once

#include <span>

#include "bench/verbs/transfer.hpp"

namespace lockstep::bench::verbs {

enum class Role : std::uint8_t { client, server };
constexpr auto words(Role) { return std::to_array<std::string_view>({"client", "server"}); }

void prepare(std::span<std::uint8_t> region, const Workload& workload, Role role);
// `sent`: by queue pair, as the client counted. Of an end that received nothing, nothing is checked.
Integrity verify(std::span<const std::uint8_t> region, const Workload& workload, Role role,
                 std::span<const std::uint64_t> sent);

}  // namespace lockstep::bench::verbs
