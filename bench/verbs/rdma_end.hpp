// Has an endpoint RDMA? What a benchmark's transport is chosen by, before anything runs.
//
// Promises: an endpoint has RDMA if its address is on its own port here and an RDMA device is on that port;
// whether that can carry anything (GID, MTU, route, port state) is the pre-check's to say, so that a device
// with a fault is not taken for one that is not there. Refuses: a port in a network namespace: a twin's are
// veth, and RDMA devices are the machine's own (rxe of Linux 6.1 has no data path elsewhere).
#pragma once

#include "bench/tcp/run.hpp"
#include "bench/verbs/precheck.hpp"

namespace lockstep::bench::verbs {

struct RdmaEnd {
  std::string device;              // "mlx5_0"; empty: none
  std::string why_not;             // "no RDMA device on gpu1:rail0: ..."
  std::uint8_t traffic_class = 0;  // of what it sends: DSCP << 2 | ECN
};

RdmaEnd find_rdma_end(const HostFiles& files, const ProbeEndpoint& at, const Call& call);
// `facts` are of the machine where `at` is to be.
RdmaEnd rdma_end_of(const ProbeEndpoint& at, const Facts& facts);

}  // namespace lockstep::bench::verbs
