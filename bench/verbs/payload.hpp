// Payload: fills each end's memory before a run, and verifies the received bytes after it.
//
// Promises: the send buffer holds the pattern, the receive buffer its complement, so that a missing message
// is detected. After the run each slot in which a message was expected is compared byte by byte, at the end
// that received it (the reader, for read). The last byte of a write's round trip is its mark and is not
// compared (latency.cpp). Contents repeat: a message that was lost and whose slot a later one has overwritten
// is not detected here, but by counting completions.
#pragma once

#include <span>

#include "bench/verbs/transfer.hpp"

namespace lockstep::bench::verbs {

enum class Role : std::uint8_t { client, server };
constexpr auto words(Role) { return std::to_array<std::string_view>({"client", "server"}); }

void prepare(std::span<std::uint8_t> region, const Workload& workload, Role role);
// `sent`: by queue pair, as the client counted. At an end that received nothing, nothing is checked.
Integrity verify(std::span<const std::uint8_t> region, const Workload& workload, Role role,
                 std::span<const std::uint64_t> sent);

}  // namespace lockstep::bench::verbs
