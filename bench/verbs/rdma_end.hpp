// Whether an endpoint supports RDMA: decides a benchmark's transport before anything runs.
//
// Promises: an endpoint supports RDMA if its address is on its own port here and an RDMA device is on that
// port; whether traffic can pass (GID, MTU, route, port state) is decided by the pre-check, so that a faulty
// device is not treated as a missing one. Refuses: a port in a network namespace: a twin's ports are veth,
// and RDMA devices belong to the machine (rxe of Linux 6.1 has no data path elsewhere).
#pragma once

#include "bench/tcp/run.hpp"
#include "bench/verbs/precheck.hpp"

namespace lockstep::bench::verbs {

struct RdmaEnd {
  std::string device;              // "mlx5_0"; empty: none
  std::string why_not;             // "no RDMA device on gpu1:rail0: ..."
  std::uint8_t traffic_class = 0;  // of its packets: DSCP << 2 | ECN
};

RdmaEnd find_rdma_end(const HostFiles& files, const ProbeEndpoint& at, const Call& call);
// `facts` are those of the machine of `at`.
RdmaEnd rdma_end_of(const ProbeEndpoint& at, const Facts& facts);

}  // namespace lockstep::bench::verbs
