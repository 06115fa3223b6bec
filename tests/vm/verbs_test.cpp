// Verbs workloads over Soft-RoCE: every operation with its bytes checked, and obstacles that are reported.
#include <linux/capability.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "bench/verbs/run.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/usage.hpp"
#include "tests/vm/port_faults.hpp"
#include "tests/vm/roce_ports.hpp"
#include "tests/vm/verbs_pair.hpp"

namespace lockstep {
namespace {

Call soon() { return Call{.deadline = within(10), .stop = {}}; }

class Verbs : public RxeLab {
 protected:
  // On a busy machine an emulated CPU pauses for longer than the usual timeout of 67 ms; rxe then retransmits
  // packets that were not lost, and sometimes refuses its own retransmission. 17 means 0.54 s.
  static constexpr int kPatient = 17;
  Ran run(json workload, const json& more = json::object()) {
    if (!workload.contains("timeout")) workload["timeout"] = kPatient;
    return run_between(endpoint(0), endpoint(1), workload, more);
  }
  static void expect_good(const Ran& ran) {
    EXPECT_EQ(ran.client_exit, 0) << ran.client.dump();
    EXPECT_TRUE(ran.client.value("ok", false)) << ran.client.dump();
    EXPECT_TRUE(ran.server.is_object() && ran.server.value("ok", false)) << ran.server.dump();
  }
  static std::string error_of(const Ran& ran) { return ran.client.value("error", ""); }

  // Packets that the device of the server received.
  std::uint64_t packets_received() const {
    std::uint64_t out = 0;
    std::ifstream("/sys/class/infiniband/" + endpoint(1).device + "/ports/1/hw_counters/rcvd_pkts") >> out;
    return out;
  }
  // Packets marked by RED at the port of the client (tc_red_xstats).
  std::uint64_t marked_by_red() const {
    std::uint64_t out = 0;
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    EXPECT_TRUE(socket);
    netlink::Request request(RTM_GETQDISC, NLM_F_DUMP);
    tcmsg header{};
    header.tcm_ifindex = static_cast<int>(index_of(endpoint(0).port));
    request.header(header);
    EXPECT_TRUE(socket->dump(
        request, soon(),
        [&out](const netlink::Message& message) -> Result<Done> {
          TRY(const auto frame, netlink::framed<tcmsg>(message.payload, "qdisc"));
          TRY(auto table, netlink::AttributeTable<TCA_MAX + 1>::parse(frame.attributes, "qdisc"));
          const auto told = netlink::read_as<tc_red_xstats>(table.bytes(TCA_XSTATS));
          if (table.text(TCA_KIND) == "red" && told) out += told->marked;
          return Done{};
        },
        [&out] { out = 0; }));
    return out;
  }
};

TEST_F(Verbs, EveryOperationRunsAndItsBytesAreCorrect) {
  for (const char* operation : {"write", "read", "send"}) {
    const Ran wide = run({{"operation", operation}, {"bytes", 16384}, {"iterations", 200}});
    expect_good(wide);
    EXPECT_EQ(wide.client["result"].value("completed", 0), 200);
    EXPECT_GT(wide.client["result"].value("bytesPerSecond", 0.0), 0);
    EXPECT_EQ(wide.client["integrity"].value("checkedBytes", 0), 4 * 16384);
    const Ran fast =
        run({{"operation", operation}, {"measure", "latency"}, {"bytes", 64}, {"iterations", 300}});
    expect_good(fast);
    EXPECT_EQ(fast.client["result"]["latencyNs"].value("samples", 0), 300);
    EXPECT_GT(fast.client["result"]["latencyNs"].value("p99", 0.0), 0);
    EXPECT_GE(fast.client["integrity"].value("checkedBytes", 0), 63);
  }
}

TEST_F(Verbs, DatagramsTravelInBothDirections) {
  const Ran ran = run(
      {{"operation", "send"}, {"service", "UD"}, {"measure", "latency"}, {"bytes", 64}, {"iterations", 300}});
  expect_good(ran);
  EXPECT_EQ(ran.client["result"]["latencyNs"].value("samples", 0), 300);
  EXPECT_EQ(ran.client["integrity"].value("checkedBytes", 0), 128);
}

TEST_F(Verbs, SeveralQueuePairsAndADurationInsteadOfACount) {
  for (const char* operation : {"write", "read", "send"}) {
    const Ran ran = run({{"operation", operation},
                         {"bytes", 4096},
                         {"iterations", 0},
                         {"durationMs", 300},
                         {"queuePairs", 4},
                         {"depth", 32},
                         {"batch", 8},
                         {"signalEvery", 8},
                         {"warmUp", 64}});
    expect_good(ran);
    EXPECT_GT(ran.client["result"].value("completed", 0), 0);
    EXPECT_GT(ran.client["integrity"].value("checkedBytes", 0), 0);
  }
}

TEST_F(Verbs, RunsWithTheSameFlowHaveTheSameSourcePorts) {
  static constexpr std::size_t kQueuePairs = 4;
  const auto ports = [this](std::uint64_t flow) {
    RoceSourcePorts packets(endpoint(0).port);
    expect_good(run({{"bytes", 64}, {"iterations", 64}, {"queuePairs", kQueuePairs}, {"flow", flow}}));
    return packets.seen();
  };
  const std::set<unsigned> first = ports(7);
  EXPECT_EQ(first.size(), kQueuePairs);
  EXPECT_EQ(ports(7), first);
  EXPECT_NE(ports(8), first);
  EXPECT_NE(ports(0), ports(0)) << "the device's choice goes by queue pair numbers, which are new";
}

// The usage that a reduced MTU of a port waits for (engine: quiet_check.hpp). The oracle is the number of
// queue pairs that the run requests.
TEST_F(Verbs, QueuePairsUseTheirPortsMtuWhileTheyAreConnected) {
  LinuxUsage usage(LinuxTarget{});
  const auto open = [&]() -> std::uint64_t {
    const auto use = usage.of(*Path::parse("interface[" + endpoint(0).port + "]/mtu"), soon());
    EXPECT_TRUE(use) << use.error().text();
    return use ? use->open : 0;
  };
  EXPECT_EQ(open(), 0U) << "those of management are nobody's";
  std::atomic<bool> over = false;
  std::thread running([&] {
    expect_good(run({{"bytes", 4096}, {"iterations", 2000}, {"queuePairs", 4}}));
    over = true;
  });
  std::uint64_t most = 0;
  while (!over) most = std::max(most, open());
  running.join();
  EXPECT_EQ(most, 4U);
  EXPECT_EQ(open(), 0U);
}

// The change of a signal at one end, by name.
std::uint64_t moved(const json& counters, const std::string& signal) {
  std::uint64_t out = 0;
  for (const json& one : counters)
    if (one.value("signal", "") == signal) out += one.value("by", std::uint64_t{0});
  return out;
}

TEST_F(Verbs, MarksAreCountedAtTheQueueForEctTraffic) {
  mark_behind_40mbps(endpoint(0).port);
  constexpr int kNotEct = 104;
  constexpr int kEct0 = 106;  // RFC 3168: DSCP 26 with ECT(0)
  for (const int traffic_class : {kNotEct, kEct0}) {
    const std::uint64_t before = marked_by_red();
    const Ran ran = run({{"bytes", 4096}, {"iterations", 200}, {"trafficClass", traffic_class}});
    expect_good(ran);
    EXPECT_GE(moved(ran.client["counters"]["client"], "packets-sent"), 200U) << ran.client["counters"].dump();
    EXPECT_GE(moved(ran.client["counters"]["server"], "packets-received"), 200U)
        << ran.client["counters"].dump();
    if (traffic_class == kEct0)
      EXPECT_GT(marked_by_red(), before);
    else
      EXPECT_EQ(marked_by_red(), before);
  }
}

TEST_F(Verbs, ReportsAWrongByte) {
  for (const char* operation : {"write", "read", "send"})
    for (const char* measure : {"bandwidth", "latency"}) {
      const Ran ran = run({{"operation", operation},
                           {"measure", measure},
                           {"bytes", 4096},
                           {"iterations", 50},
                           {"fault", "corrupt-one-byte"}});
      EXPECT_EQ(ran.client.value("trouble", ""), "wrong") << ran.client.dump();
      EXPECT_NE(error_of(ran).find("byte 0 of slot"), std::string::npos) << ran.client.dump();
    }
}

TEST_F(Verbs, ToleratesLossAndReportsAPathWithTotalLossInTime) {
  lose(endpoint(0).port, 0.02);
  const Ran some = run({{"operation", "write"}, {"bytes", 4096}, {"iterations", 500}});
  expect_good(some);
  lose(endpoint(0).port, 1);
  const Time begin = std::chrono::steady_clock::now();
  const Ran none = run({{"operation", "write"}, {"bytes", 4096}, {"iterations", 500}, {"timeout", 14}},
                       {{"precheck", "skip"}, {"deadlineMs", 15000}});
  EXPECT_EQ(none.client_exit, 2);
  EXPECT_NE(error_of(none).find("RETRY_EXC_ERR"), std::string::npos) << none.client.dump();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  const Ran checked = run({{"operation", "write"}});
  EXPECT_EQ(checked.client.value("trouble", ""), "transport") << checked.client.dump();
}

TEST_F(Verbs, TheDeadlineEndsLongRetries) {
  expect_good(run({{"bytes", 4096}, {"iterations", 10}}));  // from here on the neighbours are resolved
  lose(endpoint(0).port, 1);
  // 4.096 us * 2^21 and six retries: a minute.
  const Ran ran = run({{"operation", "write"}, {"bytes", 4096}, {"timeout", 21}, {"stallMs", 60000}},
                      {{"precheck", "skip"}, {"deadlineMs", 8000}});
  EXPECT_EQ(ran.client_exit, 2);
  EXPECT_NE(error_of(ran).find("deadline"), std::string::npos) << ran.client.dump();
}

TEST_F(Verbs, ReportsAPeerThatDies) {
  for (const char* measure : {"bandwidth", "latency"}) {
    std::uint16_t port = 0;
    Process server = start_server(endpoint(0), endpoint(1), port);
    Process client = start_probe(client_order(
        endpoint(0), endpoint(1), port, {{"measure", measure}, {"iterations", 0}, {"durationMs", 30000}}));
    const std::uint64_t before = packets_received();
    const Time deadline = within(20);
    while (packets_received() < before + 100 && std::chrono::steady_clock::now() < deadline) {
    }
    server.kill();
    const json said = json::parse(client.line(within(20)), nullptr, false);
    ASSERT_TRUE(said.is_object()) << measure;
    EXPECT_EQ(said.value("trouble", ""), "path") << said.dump();
    EXPECT_NE(said.value("error", "").find("its program ended or died"), std::string::npos) << said.dump();
  }
}

TEST_F(Verbs, ReportsObstaclesBeforeTraffic) {
  const auto why = [&](const json& workload, const json& more = json::object()) {
    const Ran ran = run(workload, more);
    EXPECT_EQ(ran.client.value("trouble", ""), "transport") << ran.client.dump();
    EXPECT_FALSE(ran.client.contains("result")) << ran.client.dump();
    return error_of(ran);
  };
  EXPECT_EQ(
      why(json::object(), {{"device", "rxe2"}}),
      "rxe2 does not have a RoCE v2 GID of 10.0.0.1 (0000:0000:0000:0000:0000:ffff:0a00:0001): rxe1 has it "
      "as RoCE v2 on h1");
  set_mtu("", endpoint(0).port, 1500);
  EXPECT_EQ(why({{"pathMtu", 4096}}), "h1's MTU of 1500 gives an RDMA MTU of 1024, below the 4096 asked for");
  set_mtu("", endpoint(0).port, 4200);
  set_mtu(RxeFabric::switch_netns(), endpoint(1).far_port, 1500);
  EXPECT_NE(why(json::object()).find("packets of 4156 bytes do not pass to 10.0.0.2, small ones do"),
            std::string::npos);
  set_mtu(RxeFabric::switch_netns(), endpoint(1).far_port, 4200);
  expect_good(run({{"iterations", 10}}));
}

TEST_F(Verbs, ReportsAnUnresponsiveNeighbour) {
  lose(endpoint(0).port, 1);  // before the neighbour is resolved
  const Ran ran = run(json::object());
  EXPECT_EQ(error_of(ran).find("10.0.0.2 does not answer on h1 (neighbor "), 0U) << ran.client.dump();
}

TEST_F(Verbs, ReportsAMemlockLimitBeforeTheKernelRefuses) {
  // The bounding set belongs to the thread: processes that it starts lack the capability even as root.
  std::thread without([&] {
    ASSERT_EQ(prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK), 0);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
    const rlimit low{65536, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &low), 0);
    const Ran checked = run({{"bytes", 131072}});
    const Ran tried = run({{"bytes", 131072}}, {{"precheck", "skip"}});
    EXPECT_EQ(setrlimit(RLIMIT_MEMLOCK, &before), 0);
    EXPECT_EQ(checked.client.value("trouble", ""), "transport") << checked.client.dump();
    EXPECT_NE(error_of(checked).find("may lock 65536 bytes of memory"), std::string::npos)
        << checked.client.dump();
    EXPECT_NE(error_of(tried).find("RLIMIT_MEMLOCK"), std::string::npos) << tried.client.dump();
  });
  without.join();
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "verbs-probe")
    return lockstep::bench::verbs::verbs_probe_main(argc - 1, argv + 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
