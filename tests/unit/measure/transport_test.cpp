// The transport of a benchmark, by what its endpoints support.
#include "reconciler/measure/transport.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using bench::verbs::RdmaEnd;

const RdmaEnd kHas{"mlx5_0", "", 0};
const RdmaEnd kLacks{"", "no RDMA device on gpu2:rail0: this machine has none", 0};

Benchmark benchmark(Workload workload) {
  Benchmark out;
  out.workload = {workload, {}, true};
  return out;
}

TEST(TransportOf, AutoIsRdmaIfEveryEndpointHasItAndReportsWhyNot) {
  const Benchmark asked = benchmark(Workload::stream);
  const TransportChoice all = choose_transport(asked, Transport::automatic, {kHas, kHas});
  EXPECT_EQ(all.runs, Transport::rdma);
  EXPECT_EQ(all.why, "every endpoint has an RDMA device");
  const TransportChoice one = choose_transport(asked, Transport::automatic, {kHas, kLacks});
  EXPECT_EQ(one.runs, Transport::tcp);
  EXPECT_EQ(one.why, "no RDMA device on gpu2:rail0: this machine has none");
  const TransportChoice none = choose_transport(asked, Transport::automatic, {kLacks, kLacks, kLacks});
  EXPECT_EQ(none.why, "no RDMA device on gpu2:rail0: this machine has none (and 2 more endpoints without)");
  EXPECT_EQ(none.not_to_be_had, "");
}

TEST(TransportOf, RdmaRunsWhereAnyEndpointHasIt) {
  const Benchmark asked = benchmark(Workload::write_bandwidth);
  const TransportChoice some = choose_transport(asked, Transport::rdma, {kHas, kLacks});
  EXPECT_EQ(some.runs, Transport::rdma);
  EXPECT_EQ(some.not_to_be_had, "");
  EXPECT_EQ(choose_transport(asked, Transport::rdma, {kLacks}).not_to_be_had, kLacks.why_not);
}

TEST(TransportOf, TheBenchmarkOverridesTheSuite) {
  Benchmark asked = benchmark(Workload::write_bandwidth);
  asked.transport = {Transport::tcp, {}, true};
  EXPECT_EQ(choose_transport(asked, Transport::rdma, {}).runs, Transport::tcp);
  EXPECT_EQ(choose_transport(asked, Transport::rdma, {}).why, "");
}

TEST(TransportOf, ReportsWorkloadsThatOneTransportDoesNotSupport) {
  const Benchmark ring = benchmark(Workload::ring_allreduce);
  EXPECT_EQ(choose_transport(ring, Transport::rdma, {kHas}).not_to_be_had,
            "ring-allreduce does not run over RDMA");
  const TransportChoice by_itself = choose_transport(ring, Transport::automatic, {kHas});
  EXPECT_EQ(by_itself.runs, Transport::tcp);
  EXPECT_EQ(by_itself.not_to_be_had, "");
  const TransportChoice latency =
      choose_transport(benchmark(Workload::write_latency), Transport::automatic, {kLacks});
  EXPECT_EQ(latency.not_to_be_had,
            "write-latency needs RDMA: no RDMA device on gpu2:rail0: this machine has none");
}

}  // namespace
}  // namespace lockstep
