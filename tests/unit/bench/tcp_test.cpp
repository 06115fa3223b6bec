#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <set>
#include <string_view>

#include "drivers/posix/in_namespace.hpp"
#include "tests/needs.hpp"
#include "tests/unit/bench/lab.hpp"

namespace lockstep::bench {
namespace {

using std::chrono::milliseconds;

class Tcp : public testing::Test {
 protected:
  void SetUp() override {
    LOCKSTEP_NEEDS_ROOT("makes network namespaces");
    plan_.benchmark = "test";
    plan_.timing.connect = milliseconds(400);
    plan_.timing.warm_up = milliseconds(20);
    plan_.timing.window = milliseconds(60);
    plan_.timing.stall = milliseconds(400);
    plan_.timing.slack = milliseconds(1000);
  }

  void TearDown() override {
    for (const int pid : pids_) {
      EXPECT_EQ(kill(pid, 0), -1) << "probe " << pid << " outlived the run";
      EXPECT_EQ(errno, ESRCH);
    }
  }

  std::vector<Measurement> measure(std::stop_token stop = {}) {
    auto made = run(
        plan_, endpoints_,
        [this](const Progress& step) {
          if (step.what == Progress::What::probe_started) pids_.push_back(step.pid);
          if (watcher_) watcher_(step);
        },
        std::move(stop));
    EXPECT_TRUE(made) << made.error().text();
    return made ? *std::move(made) : std::vector<Measurement>{};
  }

  // a and b at the two ends of a veth pair where a sends at most 100 Mb/s.
  void shaped_pair() {
    lab_.pair("a", "b");
    for (const char* node : {"a", "b"})
      EXPECT_EQ(run_program({"tc", "-n", lab_.netns(node).substr(11), "qdisc", "add", "dev", "eth0", "root",
                             "tbf", "rate", "100mbit", "burst", "32k", "limit", "256k"}),
                0);
    add("a", "10.97.0.1");
    add("b", "10.97.0.2");
    for (ProbeEndpoint& one : endpoints_) one.link_rate = 100'000'000;
  }

  void add(const std::string& node, const std::string& address) {
    endpoints_.push_back(lab_.endpoint(node, address));
  }

  void three_behind_router(int mtu = 1500) {
    lab_.behind_router({"a", "b", "c"}, mtu);
    for (const char* node : {"a", "b", "c"})
      add(node, std::string("10.97.") + std::to_string(endpoints_.size() + 1) + ".1");
  }

  Lab lab_;
  TcpPlan plan_;
  std::vector<ProbeEndpoint> endpoints_;
  std::vector<int> pids_;
  std::function<void(const Progress&)> watcher_;
};

TEST_F(Tcp, StreamOfAShapedPairIsBoundByItsShaper) {
  shaped_pair();
  plan_.rounds = {{{0, 1}}, {{1, 0}}};
  plan_.timing.warm_up = milliseconds(150);
  plan_.timing.window = milliseconds(200);
  const auto made = measure();
  ASSERT_EQ(made.size(), 2U);
  for (const Measurement& one : made) {
    ASSERT_TRUE(one.ok()) << one.error;
    EXPECT_EQ(one.seen.samples.size(), 3U);
    ASSERT_TRUE(one.nominal);
    EXPECT_NEAR(*one.nominal, 1e8 * 1448 / 1514, 1);
    // On a busy machine a window may include what was queued before it, or lose time: only the order of
    // magnitude is certain (an unshaped veth transfers a hundred times as much).
    EXPECT_LT(one.value, *one.nominal * 3);
    EXPECT_GT(one.value, *one.nominal * 0.2);
  }
  EXPECT_EQ(made[0].subject(), "a:eth0 -> b:eth0");
}

// A router with two equal links to the far end: its counters show which one a flow took. It hashes by the
// five-tuple, as a Fabric does, and not by a hash that the packets have from their sockets.
class TcpFlows : public Tcp {
 protected:
  void SetUp() override {
    Tcp::SetUp();
    if (IsSkipped()) return;
    lab_.add("a");
    const std::string router = lab_.add("router");
    lab_.add("b");
    lab_.link("a", "eth0", "router", "a");
    lab_.link("router", "left", "b", "left");
    lab_.link("router", "right", "b", "right");
    ASSERT_EQ(run_program({"ip", "netns", "exec", router, "sysctl", "-qw", "net.ipv4.ip_forward=1",
                           "net.ipv4.fib_multipath_hash_policy=3", "net.ipv4.fib_multipath_hash_fields=55"}),
              0);
    for (const char* const line : {"addr add 10.98.0.1/30 dev eth0", "route add default via 10.98.0.2"})
      lab_.ip("a", line);
    for (const char* const line :
         {"addr add 10.98.0.2/30 dev a", "addr add 10.98.1.1/30 dev left", "addr add 10.98.2.1/30 dev right",
          "route add 10.98.3.1 nexthop via 10.98.1.2 nexthop via 10.98.2.2"})
      lab_.ip("router", line);
    for (const char* const line : {"addr add 10.98.1.2/30 dev left", "addr add 10.98.2.2/30 dev right",
                                   "addr add 10.98.3.1/32 dev lo", "route add default via 10.98.2.1"})
      lab_.ip("b", line);
    add("a", "10.98.0.1");
    add("b", "10.98.3.1");
    plan_.repeats = 1;
    plan_.timing.warm_up = milliseconds(10);
    plan_.timing.window = milliseconds(50);
    plan_.iterations = 3;
  }

  // The bytes that the router has sent to the far end, by link.
  std::array<std::uint64_t, 2> sent() const {
    std::array<std::uint64_t, 2> out{};
    EXPECT_TRUE(in_namespace(lab_.netns("router"), [&] {
      ifaddrs* all = nullptr;
      ASSERT_EQ(::getifaddrs(&all), 0);
      for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr->sa_family != AF_PACKET || one->ifa_data == nullptr) continue;
        const auto bytes = static_cast<const rtnl_link_stats*>(one->ifa_data)->tx_bytes;
        if (one->ifa_name == std::string_view("left")) out[0] = bytes;
        if (one->ifa_name == std::string_view("right")) out[1] = bytes;
      }
      ::freeifaddrs(all);
    }));
    return out;
  }
  // Whether the traffic of this plan takes the left link.
  bool goes_left() {
    const auto before = sent();
    for (const Measurement& one : measure()) EXPECT_TRUE(one.ok()) << one.error;
    const auto after = sent();
    return after[0] - before[0] > after[1] - before[1];
  }
  void expect_fixed() {
    std::set<bool> seen;
    for (std::uint64_t flows = 1; flows <= 3 || (seen.size() < 2 && flows <= 40); ++flows) {
      plan_.flows = flows;
      const bool left = goes_left();
      seen.insert(left);
      for (int again = 0; again < 2; ++again) EXPECT_EQ(goes_left(), left) << "flows " << flows;
    }
    EXPECT_EQ(seen.size(), 2U) << "other numbers are other flows";
  }
};

TEST_F(TcpFlows, OfPlansWithTheSameNumberTakeTheSamePath) {
  plan_.rounds = {{{0, 1}}};
  expect_fixed();
}

TEST_F(TcpFlows, OfLatencyTakeTheSamePath) {
  plan_.workload = Workload::request_response;
  plan_.rounds = {{{0, 1}}};
  expect_fixed();
}

TEST_F(TcpFlows, OfRingsTakeTheSamePath) {
  plan_.workload = Workload::ring_allreduce;
  plan_.group_rounds = {{{"ring", {0, 1}}}};
  plan_.sizes = {65536};
  expect_fixed();
}

TEST_F(Tcp, ReadBandwidthMeasuresTheOtherDirection) {
  lab_.pair("a", "b");
  EXPECT_EQ(run_program({"tc", "-n", lab_.netns("b").substr(11), "qdisc", "add", "dev", "eth0", "root", "tbf",
                         "rate", "20mbit", "burst", "32k", "limit", "256k"}),
            0);
  add("a", "10.97.0.1");
  add("b", "10.97.0.2");
  plan_.rounds = {{{0, 1}}};
  plan_.timing.warm_up = milliseconds(100);
  plan_.timing.window = milliseconds(150);
  plan_.workload = Workload::write_bandwidth;
  const auto write = measure();
  plan_.workload = Workload::read_bandwidth;
  const auto read = measure();
  ASSERT_TRUE(write.at(0).ok()) << write[0].error;
  ASSERT_TRUE(read.at(0).ok()) << read[0].error;
  EXPECT_GT(write[0].value, 60e6);
  EXPECT_LT(read[0].value, 25e6);
}

TEST_F(Tcp, RequestResponseGivesAFullHistogram) {
  lab_.pair("a", "b");
  add("a", "10.97.0.1");
  add("b", "10.97.0.2");
  plan_.workload = Workload::request_response;
  plan_.rounds = {{{0, 1}}};
  const auto made = measure();
  ASSERT_EQ(made.size(), 1U);
  ASSERT_TRUE(made[0].ok()) << made[0].error;
  EXPECT_EQ(made[0].metric, Metric::latency);
  ASSERT_TRUE(made[0].seen.histogram);
  EXPECT_GT(made[0].seen.histogram->count(), 10U);
  EXPECT_GT(made[0].value, 1e-7);
  EXPECT_LT(made[0].value, 0.1);
}

TEST_F(Tcp, LargeRequestsAreReassembled) {
  lab_.pair("a", "b");
  add("a", "10.97.0.1");
  add("b", "10.97.0.2");
  plan_.workload = Workload::request_response;
  plan_.message_bytes = 60'000;
  plan_.rounds = {{{0, 1}}};
  const auto made = measure();
  ASSERT_TRUE(made.at(0).ok()) << made[0].error;
  EXPECT_GT(made[0].seen.histogram->count(), 3U);
}

TEST_F(Tcp, RingAllReduceIsCorrectAndReportsBusbwAndSkew) {
  three_behind_router();
  plan_.workload = Workload::ring_allreduce;
  plan_.group_rounds = {{{"rail0", {0, 1, 2}}}};
  plan_.sizes = {4, 100'004, 262'144};  // below a float per rank, not a multiple of the ranks, a normal one
  plan_.iterations = 10;
  for (ProbeEndpoint& one : endpoints_) one.link_rate = 10'000'000'000;
  const auto made = measure();
  ASSERT_EQ(made.size(), 6U);
  for (const Measurement& one : made) {
    ASSERT_TRUE(one.ok()) << one.error;
    EXPECT_EQ(one.seen.samples.size(), 10U);
    EXPECT_EQ(one.ranks, (std::vector<std::string>{"a:eth0", "b:eth0", "c:eth0"}));
    for (const double sample : one.seen.samples) EXPECT_GE(sample, 0);
  }
  EXPECT_EQ(made[0].metric, Metric::busbw);
  EXPECT_EQ(made[1].metric, Metric::step_skew);
  EXPECT_TRUE(made[0].nominal);
  EXPECT_FALSE(made[1].nominal);
}

TEST_F(Tcp, CorruptedDataIsDetected) {
  three_behind_router();
  plan_.workload = Workload::ring_allreduce;
  plan_.group_rounds = {{{"rail0", {0, 1, 2}}}};
  plan_.sizes = {65'536};
  plan_.iterations = 5;
  plan_.fault = TcpPlan::Fault::corrupt_one_element;
  const auto made = measure();
  ASSERT_EQ(made.size(), 2U);
  for (const Measurement& one : made) {
    EXPECT_EQ(one.trouble, Trouble::wrong) << one.error;
    EXPECT_NE(one.error.find("element"), std::string::npos) << one.error;
    EXPECT_EQ(one.seen.count(), 0U);
  }
}

TEST_F(Tcp, AnAddressThatDropsTimesOutAndDelaysNoOtherPair) {
  three_behind_router();
  lab_.ip("router", "route add blackhole 10.97.2.1/32");
  plan_.rounds = {{{0, 1}, {0, 2}}};
  const auto made = measure();
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].trouble, Trouble::path);
  EXPECT_EQ(made[0].error, "a:eth0: connect timed out");
  EXPECT_TRUE(made[1].ok()) << made[1].error;
}

TEST_F(Tcp, AMissingRouteIsReportedAsNoRoute) {
  lab_.pair("a", "b");
  add("a", "10.97.0.1");
  add("b", "10.97.0.2");
  lab_.ip("b", "addr add 10.98.0.1/32 dev lo");
  endpoints_[1].endpoint.address = "10.98.0.1";
  plan_.rounds = {{{0, 1}}};
  const auto made = measure();
  EXPECT_EQ(made.at(0).trouble, Trouble::path);
  EXPECT_NE(made[0].error.find("a:eth0: no route"), std::string::npos) << made[0].error;
}

TEST_F(Tcp, ReportsAMissingAddress) {
  lab_.pair("a", "b");
  add("a", "10.97.0.77");
  add("b", "10.97.0.2");
  plan_.rounds = {{{0, 1}}};
  const auto made = measure();
  EXPECT_EQ(made.at(0).trouble, Trouble::path);
  EXPECT_NE(made[0].error.find("a:eth0: the address is not on this endpoint"), std::string::npos)
      << made[0].error;
}

// The router port towards a has a smaller MTU than a assumes: full-sized packets are dropped silently.
TEST_F(Tcp, AnMtuMismatchIsReportedAsABlackHole) {
  three_behind_router(9000);
  EXPECT_EQ(run_program({"ip", "netns", "exec", lab_.netns("a").substr(11), "ethtool", "-K", "eth0", "tso",
                         "off", "gso", "off"}),
            0);
  lab_.ip("router", "link set dev a mtu 1500");
  plan_.rounds = {{{0, 1}, {2, 1}}};
  const auto made = measure();
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].trouble, Trouble::path);
  EXPECT_NE(made[0].error.find("black hole"), std::string::npos) << made[0].error;
  EXPECT_TRUE(made[1].ok()) << made[1].error;

  plan_.workload = Workload::ring_allreduce;
  plan_.group_rounds = {{{"rail0", {0, 1, 2}}}};
  plan_.sizes = {1'000'000};
  const auto ring = measure();
  ASSERT_EQ(ring.size(), 2U);
  EXPECT_EQ(ring[0].trouble, Trouble::path);
  EXPECT_NE(ring[0].error.find("a:eth0 -> b:eth0: stalled"), std::string::npos) << ring[0].error;
}

TEST_F(Tcp, AProbeKilledMidStreamFailsItsPairsOnly) {
  three_behind_router();
  lab_.ip("router", "route add blackhole 10.97.3.1/32");
  plan_.rounds = {{{0, 1}, {0, 2}}, {{1, 0}}};
  plan_.repeats = 1;
  plan_.timing.window = milliseconds(700);
  int receiver = -1;
  watcher_ = [&](const Progress& step) {
    if (step.what == Progress::What::probe_started && step.endpoint == 1 && receiver < 0) receiver = step.pid;
    // The connect to c is abandoned after 400 ms: by then the stream from a to b is in its window of 700 ms.
    if (step.what != Progress::What::pair_done || step.measurement->to != "c:eth0") return;
    EXPECT_EQ(step.done, 1U);
    EXPECT_EQ(kill(receiver, SIGKILL), 0);
  };
  const auto made = measure();
  ASSERT_EQ(made.size(), 3U);
  EXPECT_EQ(made[0].trouble, Trouble::tool) << made[0].error;
  EXPECT_NE(made[0].error.find("b:eth0"), std::string::npos) << made[0].error;
  EXPECT_NE(made[0].error.find("signal 9"), std::string::npos) << made[0].error;
  EXPECT_TRUE(made[2].ok()) << "a new probe serves the next round: " << made[2].error;
}

TEST_F(Tcp, AnUnreachableEndpointIsNoFaultOfTheFabric) {
  three_behind_router();
  endpoints_[1].unreachable = "it is unreachable from this machine";
  plan_.rounds = {{{0, 1}, {0, 2}}};
  const auto made = measure();
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].trouble, Trouble::tool);
  EXPECT_EQ(made[0].error, "b:eth0: it is unreachable from this machine");
  EXPECT_TRUE(made[1].ok()) << made[1].error;
}

TEST_F(Tcp, AStopEndsTheRunAndReportsWhatWasNotMeasured) {
  lab_.pair("a", "b");
  add("a", "10.97.0.1");
  add("b", "10.97.0.2");
  plan_.rounds = {{{0, 1}}, {{1, 0}}};
  plan_.timing.window = std::chrono::hours(1);
  std::stop_source stop;
  watcher_ = [&](const Progress& step) {
    if (step.what == Progress::What::probe_started) stop.request_stop();
  };
  const auto made = measure(stop.get_token());
  ASSERT_EQ(made.size(), 2U);
  for (const Measurement& one : made) EXPECT_EQ(one.trouble, Trouble::cancelled);
}

TEST_F(Tcp, AMissingNamespaceIsAToolError) {
  lab_.pair("a", "b");
  add("a", "10.97.0.1");
  add("b", "10.97.0.2");
  endpoints_[0].netns = "/run/netns/lsbench-none";
  plan_.rounds = {{{0, 1}}};
  const auto made = measure();
  EXPECT_EQ(made.at(0).trouble, Trouble::tool);
  EXPECT_NE(made[0].error.find("cannot enter /run/netns/lsbench-none"), std::string::npos) << made[0].error;
}

TEST(TcpPlan, AMissingExecutableIsAToolError) {
  TcpPlan plan;
  plan.executable = "/nonexistent/lockstep";
  plan.rounds = {{{0, 1}}};
  const std::vector<ProbeEndpoint> endpoints(2);
  const auto made = run(plan, endpoints);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->at(0).trouble, Trouble::tool);
}

TEST(TcpPlan, DoesNotSupportWorkloadsThatNeedRdma) {
  TcpPlan plan;
  plan.workload = Workload::write_latency;
  plan.rounds = {{{0, 1}}};
  const std::vector<ProbeEndpoint> endpoints(2);
  const auto made = run(plan, endpoints);
  ASSERT_TRUE(made);
  ASSERT_EQ(made->size(), 1U);
  EXPECT_EQ(made->at(0).trouble, Trouble::transport);
  EXPECT_EQ(made->at(0).metric, Metric::latency);
}

TEST(TcpPlan, RefusesUnknownEndpoints) {
  TcpPlan plan;
  plan.rounds = {{{0, 5}}};
  const std::vector<ProbeEndpoint> endpoints(2);
  EXPECT_FALSE(run(plan, endpoints));
  plan.rounds = {{{1, 1}}};
  EXPECT_FALSE(run(plan, endpoints));
  plan.rounds.clear();
  plan.workload = Workload::ring_allreduce;
  plan.group_rounds = {{{"g", {0, 0}}}};
  plan.sizes = {1024};
  EXPECT_FALSE(run(plan, endpoints));
}

}  // namespace
}  // namespace lockstep::bench
