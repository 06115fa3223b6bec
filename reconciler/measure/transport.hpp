// The transport that a benchmark runs over, and why.
//
// Promises: pure. `rdma` runs where both ends of a pair support it; the other pairs are unknown, each with
// its reason. `auto` selects RDMA if every endpoint of the fabric supports it and the workload can run over
// it, else TCP, with the reason. Refuses a workload that neither transport supports: nothing runs, and
// `not_to_be_had` is the reason.
#pragma once

#include <string>
#include <vector>

#include "bench/verbs/rdma_end.hpp"

namespace lockstep {

struct TransportChoice {
  Transport runs = Transport::tcp;  // never automatic
  std::string why;                  // for `auto` only: "no RDMA device on gpu1:rail0: ..."
  std::string not_to_be_had;        // empty: it runs
};

// The benchmark's own setting, else the suite's.
Transport asked_transport(const Benchmark& benchmark, Transport suite);

// `ends`: all endpoints; ignored for TCP.
TransportChoice choose_transport(const Benchmark& benchmark, Transport suite,
                                 const std::vector<bench::verbs::RdmaEnd>& ends);

}  // namespace lockstep
