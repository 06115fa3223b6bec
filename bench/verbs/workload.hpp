// Workload: what runs between two RDMA endpoints; Transfer: the result at one end. Plain data, and its JSON
// form.
//
// Promises: from_json validates everything: an unknown key, a value of another type or out of range, and a
// combination that can't run (read over UD, a window that never frees itself) are an error that names the
// key; to_json of a workload reads back equal. Refuses: a retry count of 7 and an RNR retry count of 7, which
// mean "for ever" (InfiniBand Architecture Specification, volume 1, 9.7.5.2.8 for RNR; for the other, rxe
// only: rxe_comp.c, 6.1, line 703): a dead peer must be detected.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/histogram.hpp"
#include "bench/measurement.hpp"
#include "bench/tcp/wire.hpp"

namespace lockstep::bench::verbs {

enum class Operation : std::uint8_t { write, read, send };
enum class Service : std::uint8_t { reliable, datagram };  // RC, UD
enum class Measure : std::uint8_t { bandwidth, latency };
constexpr auto words(Operation) { return std::to_array<std::string_view>({"write", "read", "send"}); }
constexpr auto words(Service) { return std::to_array<std::string_view>({"RC", "UD"}); }
constexpr auto words(Measure) { return std::to_array<std::string_view>({"bandwidth", "latency"}); }

// For tests, by name; never set in production.
enum class Fault : std::uint8_t { none, corrupt_one_byte };
constexpr auto words(Fault) { return std::to_array<std::string_view>({"none", "corrupt-one-byte"}); }

template <class E>
constexpr std::string_view word(E value) {
  return words(E{})[static_cast<std::size_t>(value)];
}

struct Workload {
  Operation operation = Operation::write;
  Service service = Service::reliable;
  Measure measure = Measure::bandwidth;
  std::uint32_t bytes = 65536;      // per message
  std::uint64_t iterations = 1000;  // messages (round trips) that count, on all queue pairs; 0: by duration
  std::uint32_t duration_ms = 0;    // used if iterations is 0
  std::uint64_t warm_up = 0;        // additional messages (round trips) before those
  std::uint32_t queue_pairs = 1;    // latency: 1
  std::uint32_t depth = 128;        // messages in flight on a queue pair
  std::uint32_t batch = 16;  // work requests in one posted list, of up to 64 KiB: one system call with rxe
  std::uint32_t signal_every = 64;   // messages per completion
  std::uint32_t inline_bytes = 220;  // messages up to this size go in the work request, if possible
  std::uint8_t traffic_class = 0;    // DSCP << 2 | ECN
  std::uint32_t path_mtu = 0;        // 0: the lesser of both ports' active MTUs
  // 4.096 us * 2^timeout without an acknowledgement (IBA volume 1, 9.7.6.1.3), then a retry: 67 ms, 7
  // attempts in all.
  std::uint8_t timeout = 14;
  std::uint8_t retries = 6;
  // 20.48 ms (timer value 22; IBA volume 1, table 45) until a retry to a receiver that had no buffer posted.
  std::uint8_t rnr_timer = 22;
  std::uint8_t rnr_retries = 6;
  std::uint32_t stall_ms = 3000;  // gives up, with an error, after this long without a completion
  std::uint64_t seed = 1;         // of the payload
  // RC: runs with the same number use the same UDP source ports, queue pair by queue pair, so that a hash of
  // the five-tuple selects the same path, if the device derives a port from the flow label, as rxe, mlx5,
  // irdma, hns and mana do (rdma_get_udp_sport, include/rdma/ib_verbs.h). 0: the device chooses.
  std::uint64_t flow = 0;
  Fault fault = Fault::none;
  bool operator==(const Workload&) const = default;
};

Json to_json(const Workload& workload);
Result<Workload> workload_from(const Json& json);
Result<Done> check(const Workload& workload);

// Why a transfer ended early. `trouble` as in bench/measurement.hpp.
struct Failure {
  Trouble trouble = Trouble::none;
  std::string text;
};

struct Transfer {
  std::uint64_t completed = 0;  // messages or round trips that count
  // All of them by queue pair, with the warm-up: what the far end must have received.
  std::vector<std::uint64_t> sent;
  std::uint64_t elapsed_ns = 0;
  // ns. Bandwidth: from the post of a signalled message's list to its completion. Latency: half the round
  // trip, or the whole of it for read, which is one by itself.
  Histogram seen;
  Failure failure;
};

struct Integrity {
  std::uint64_t checked = 0;  // bytes
  std::string wrong;          // empty: all of them match the pattern
};

Json to_json(const Transfer& transfer, const Workload& workload);

}  // namespace lockstep::bench::verbs
