// Transfers: the loops that post, poll and time, one for each role of a workload.
//
// Promises: each ends when its iterations or duration are complete, when no completion came for the
// workload's stall time, at the deadline, or when `interruption` returns a reason (called about every
// 10 ms); Transfer::failure has the cause, with what had been completed until then. The
// first completion error ends it, as text. One clock reading per posted list or round trip. The workload must
// have been checked (workload.hpp).
#pragma once

#include <functional>

#include "bench/verbs/work_queue.hpp"
#include "bench/verbs/workload.hpp"

namespace lockstep::bench::verbs {

// The memory layout, the same at both ends: each queue pair has `slots` slots of `stride` bytes, message N of
// a queue pair is in slot N mod slots. Latency: slot 0 is sent from and slot 1 received into.
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

// Empty: continue. Else the reason to stop; a far end that has finished is reported by `finished`.
using Interruption = std::function<Failure()>;

struct Surroundings {
  WorkQueue* queue = nullptr;
  Memory memory;
  Layout layout;
  bool inlined = false;    // the device accepts messages of this size in the work request
  ibv_ah* peer = nullptr;  // UD: the far end's address handle
  std::uint32_t peer_number = 0;
  std::uint32_t peer_key = 0;
  std::uint64_t deadline_ns = 0;  // CLOCK_MONOTONIC
  Interruption interruption;
  // For a role that follows the other end: how many messages (round trips, with the warm-up) the other end
  // has done, once it has reported it; called when nothing arrives.
  std::function<std::optional<std::uint64_t>()> told;
};

// Call before the first message can arrive.
Failure post_receives(const Surroundings& at, const Workload& workload);

Transfer send_bandwidth(const Surroundings& at, const Workload& workload);     // write, read, send
Transfer receive_bandwidth(const Surroundings& at, const Workload& workload);  // send's other end
Transfer read_latency(const Surroundings& at, const Workload& workload);
Transfer write_ping(const Surroundings& at, const Workload& workload);
Transfer write_pong(const Surroundings& at, const Workload& workload);
Transfer send_ping(const Surroundings& at, const Workload& workload);  // RC and UD
Transfer send_pong(const Surroundings& at, const Workload& workload);

}  // namespace lockstep::bench::verbs
