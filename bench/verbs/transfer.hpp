// Transfers: the loops that post, poll and time, one for each role of a workload.
//
// Promises: each ends when its iterations or duration are through, when no completion came for the workload's
// stall time, at the deadline, or when `interruption` says why (asked each millisecond at least while nothing
// completes); whichever it was is in Transfer::failure, with what had been completed until then. The first
// completion error ends it, in words. One clock reading a posted list or round trip. Refuses: nothing; the
// workload has been checked (workload.hpp).
#pragma once

#include <functional>

#include "bench/verbs/work_queue.hpp"
#include "bench/verbs/workload.hpp"

namespace lockstep::bench::verbs {

// The memory of both ends, alike: each queue pair has `slots` slots of `stride` bytes, message N of a queue
// pair is in slot N mod slots. Latency: slot 0 is sent from and slot 1 received into.
struct Layout {
  std::uint32_t stride = 0;
  std::uint32_t slots = 0;
  std::uint32_t header = 0;  // before each received message: 40 bytes of GRH over UD (ibv_post_recv(3))
  std::uint64_t bytes() const { return std::uint64_t{queue_pairs} * slots * stride; }
  std::uint64_t offset(std::size_t queue_pair, std::uint64_t message) const {
    return (queue_pair * slots + message % slots) * stride;
  }
  std::uint32_t queue_pairs = 1;
};
Layout layout_of(const Workload& workload);

struct Memory {
  std::uint8_t* local = nullptr;
  std::uint32_t local_key = 0;
  std::uint64_t remote = 0;
  std::uint32_t remote_key = 0;
};

// Empty: go on. Else why not; a far end that is through is told by `finished`.
using Interruption = std::function<Failure()>;

struct Surroundings {
  WorkQueue* queue = nullptr;
  Memory memory;
  Layout layout;
  bool inlined = false;    // the device takes messages of this size in the work request
  ibv_ah* peer = nullptr;  // UD: how to reach it
  std::uint32_t peer_number = 0;
  std::uint32_t peer_key = 0;
  std::uint64_t deadline_ns = 0;  // CLOCK_MONOTONIC
  Interruption interruption;
  // For a role that follows the other end: how many messages (round trips, with the warm-up) the other end
  // has done, once it has said so; asked when nothing comes.
  std::function<std::optional<std::uint64_t>()> told;
};

// Before the first of its messages may come.
Failure post_receives(const Surroundings& at, const Workload& workload);

Transfer send_bandwidth(const Surroundings& at, const Workload& workload);     // write, read, send
Transfer receive_bandwidth(const Surroundings& at, const Workload& workload);  // send's other end
Transfer read_latency(const Surroundings& at, const Workload& workload);
Transfer write_ping(const Surroundings& at, const Workload& workload);
Transfer write_pong(const Surroundings& at, const Workload& workload);
Transfer send_ping(const Surroundings& at, const Workload& workload);  // RC and UD
Transfer send_pong(const Surroundings& at, const Workload& workload);

}  // namespace lockstep::bench::verbs
