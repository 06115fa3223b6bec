// The transport that a benchmark runs over, and why.
//
// Promises: pure. `rdma` runs where both ends of a pair have it; the other pairs are unknown, each with its
// reason. `auto` takes RDMA where every endpoint of the fabric has it and the workload is one that it
// carries, else TCP, and says why. Refuses: what neither carries: nothing runs, and `not_to_be_had` is the
// reason.
#pragma once

#include <string>
#include <vector>

#include "bench/verbs/rdma_end.hpp"

namespace lockstep {

struct TransportChoice {
  Transport runs = Transport::tcp;  // never automatic
  std::string why;                  // of `auto` only: "no RDMA device on gpu1:rail0: ..."
  std::string not_to_be_had;        // empty: it runs
};

// The benchmark's own word, else the suite's.
Transport asked_transport(const Benchmark& benchmark, Transport suite);

// `ends`: of all endpoints; not looked at where TCP is asked for.
TransportChoice choose_transport(const Benchmark& benchmark, Transport suite,
                                 const std::vector<bench::verbs::RdmaEnd>& ends);

}  // namespace lockstep
