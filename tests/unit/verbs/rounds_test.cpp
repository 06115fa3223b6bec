// Pairs over RDMA as a suite runs them, with scripted probes.
#include "bench/verbs/rounds.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/tcp/cpu.hpp"

namespace lockstep::bench::verbs {
namespace {

namespace fs = std::filesystem;

const Json kListening{{"event", "listening"}, {"port", 7000}};

class RdmaRounds : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "lsrounds-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    for (int i = 1; i <= 3; ++i) {
      const std::string number = std::to_string(i);
      ProbeEndpoint one;
      one.endpoint = {"gpu" + number, "rail0", "10.0.0." + number, "leaf0", "0"};
      one.link_rate = 400'000'000'000;
      one.frame_bytes = 38;
      endpoints_.push_back(one);
      ends_.push_back({"mlx5_" + number, "", static_cast<std::uint8_t>(100 + i)});
    }
    plan_.benchmark = "pairs";
    plan_.rounds = {{{0, 1}}};
    plan_.repeats = 1;
    plan_.executable = folder_ / "probe";
  }
  void TearDown() override {
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a probe is left";
    EXPECT_EQ(errno, ECHILD);
    fs::remove_all(folder_);
  }

  static std::string say(const Json& line) { return "printf '%s\\n' '" + line.dump() + "'\n"; }
  // Sets the scripts (sh) of the server and the client; each saves the order that it receives, by role.
  void probes(const std::string& server, const std::string& client) const {
    std::ofstream script(folder_ / "probe");
    script << "#!/bin/sh\ncd " << folder_
           << "\ncase $2 in\n*'\"role\":\"server\"'*)\nprintf %s \"$2\" >server\n"
           << server << ";;\n*)\nprintf %s \"$2\" >client\n"
           << client << ";;\nesac\n";
    script.close();
    ASSERT_EQ(::chmod((folder_ / "probe").c_str(), 0700), 0);
  }
  Json order(const char* role) const {
    std::ifstream file(folder_ / role);
    return Json::parse(file, nullptr, false);
  }
  static Json client_saw(Json result) {
    return {{"role", "client"}, {"ok", true}, {"pathMtu", 4096}, {"result", std::move(result)}};
  }
  static Json at_rate(double bytes_per_second) { return client_saw({{"bytesPerSecond", bytes_per_second}}); }
  static Json server_saw() { return {{"role", "server"}, {"ok", true}}; }

  std::vector<Measurement> run(std::stop_token stop = {}) {
    auto made = run_rounds(plan_, endpoints_, ends_, {}, std::move(stop));
    EXPECT_TRUE(made) << made.error().text();
    return made ? *std::move(made) : std::vector<Measurement>{};
  }
  Measurement run_one(std::stop_token stop = {}) {
    auto made = run(std::move(stop));
    EXPECT_EQ(made.size(), 1U);
    return made.empty() ? Measurement{} : made.front();
  }

  fs::path folder_;
  std::vector<ProbeEndpoint> endpoints_;
  std::vector<RdmaEnd> ends_;
  VerbsPlan plan_;
};

TEST_F(RdmaRounds, EachRepeatIsOneSampleAndNominalIsTheRoceGoodput) {
  plan_.repeats = 3;
  probes(say(kListening) + say(server_saw()), say(at_rate(48e9)));
  const Measurement made = run_one();
  EXPECT_EQ(made.error, "");
  EXPECT_EQ(made.subject(), "gpu1:rail0 -> gpu2:rail0");
  EXPECT_EQ(made.transport, "rdma");
  EXPECT_EQ(made.path_mtu, 4096U);
  EXPECT_EQ(made.seen.samples, (std::vector<double>{384e9, 384e9, 384e9}));
  // 64 KiB in 16 packets, each with 44 bytes of headers and 38 of Ethernet, and a RETH.
  EXPECT_NEAR(made.nominal.value_or(0), 400e9 * 65536 / (65536 + 16 * 82 + 16), 1);
  EXPECT_FALSE(made.cpu_limited);
}

TEST_F(RdmaRounds, EachEndGetsItsDeviceAndTheSendersTrafficClass) {
  probes(say(kListening) + say(server_saw()), say(at_rate(1e9)));
  EXPECT_EQ(run_one().error, "");
  EXPECT_EQ(order("server").value("device", ""), "mlx5_2");
  EXPECT_EQ(order("server").value("peer", ""), "10.0.0.1");
  EXPECT_EQ(order("client").value("device", ""), "mlx5_1");
  EXPECT_EQ(order("client").value("port", 0), 7000);
  EXPECT_EQ(order("client")["workload"].value("trafficClass", 0), 101);
  EXPECT_TRUE(workload_from(order("client")["workload"]));
  plan_.workload = lockstep::Workload::read_bandwidth;
  EXPECT_EQ(run_one().error, "");
  EXPECT_EQ(order("client")["workload"].value("operation", ""), "read");
  EXPECT_EQ(order("client")["workload"].value("trafficClass", 0), 102);
}

TEST(RdmaTraffic, WorkloadsOfASuiteMapToValidOperations) {
  using Word = lockstep::Workload;
  const auto runs = [](Word word, Operation operation, Measure measure) {
    const auto traffic = traffic_of(word);
    return traffic && traffic->operation == operation && traffic->measure == measure && check(*traffic);
  };
  EXPECT_TRUE(runs(Word::write_bandwidth, Operation::write, Measure::bandwidth));
  EXPECT_TRUE(runs(Word::read_bandwidth, Operation::read, Measure::bandwidth));
  EXPECT_TRUE(runs(Word::stream, Operation::send, Measure::bandwidth));
  EXPECT_TRUE(runs(Word::write_latency, Operation::write, Measure::latency));
  EXPECT_TRUE(runs(Word::request_response, Operation::send, Measure::latency));
  for (const Word word :
       {Word::ring_allreduce, Word::tree_allreduce, Word::all_to_all, Word::incast, Word::barrier})
    EXPECT_FALSE(traffic_of(word));
}

TEST_F(RdmaRounds, LatenciesOfAllRepeatsAreOneDistribution) {
  plan_.workload = lockstep::Workload::write_latency;
  plan_.repeats = 3;
  Histogram seen;
  seen.record(2000, 99);
  seen.record(9000);
  probes(say(kListening) + say(server_saw()), say(client_saw({{"histogram", to_json(seen)}})));
  const Measurement made = run_one();
  EXPECT_EQ(made.metric, Metric::latency);
  EXPECT_EQ(made.seen.count(), 300U);
  EXPECT_NEAR(made.value, 2e-6, 1e-8);
  EXPECT_NEAR(made.seen.histogram->percentile(100).value_or(0), 9000, 40);
  EXPECT_FALSE(made.nominal);
  EXPECT_TRUE(order("client").value("histogram", false));
}

TEST_F(RdmaRounds, SumsCountersOtherThanTrafficByEnd) {
  plan_.repeats = 2;
  Json client = at_rate(1e9);
  client["counters"]["client"] = {{{"counter", "packet_seq_err"}, {"by", 3}},
                                  {{"counter", "port_xmit_packets"}, {"by", 900}},
                                  {{"counter", "a_name_of_tomorrow"}, {"by", 1}}};
  Json server = server_saw();
  server["counters"]["server"] = {{{"counter", "out_of_buffer"}, {"by", 1}}};
  probes(say(kListening) + say(server), say(client));
  const Measurement made = run_one();
  ASSERT_EQ(made.counters.size(), 2U);
  EXPECT_EQ(made.counters[0].end, "gpu1:rail0");
  EXPECT_EQ(made.counters[0].by, 6U);
  EXPECT_EQ(made.counters[0].signal, "sequence-naks-received");
  EXPECT_EQ(made.counters[0].side, "victim");
  EXPECT_EQ(made.counters[1].end, "gpu2:rail0");
  EXPECT_EQ(made.counters[1].side, "source");
}

TEST_F(RdmaRounds, AnObstacleIsNotTheFabricsFaultButACompletionErrorIs) {
  const Json blocked{{"ok", false}, {"trouble", "transport"}, {"error", "an MTU of 200 is too small"}};
  probes(say(kListening) + "exec sleep 20\n", say(blocked));
  const Measurement unknown = run_one();
  EXPECT_EQ(unknown.trouble, Trouble::transport);
  EXPECT_EQ(unknown.error, "gpu1:rail0: an MTU of 200 is too small");
  const Json lost{{"ok", false}, {"trouble", "path"}, {"error", "RETRY_EXC_ERR: the peer is gone"}};
  const Json said{{"ok", false}, {"error", "10.0.0.1 says: RETRY_EXC_ERR"}};
  probes(say(kListening) + say(said), say(lost));
  const Measurement failed = run_one();
  EXPECT_EQ(failed.trouble, Trouble::path);
  EXPECT_EQ(failed.error, "gpu1:rail0: RETRY_EXC_ERR: the peer is gone");
}

TEST_F(RdmaRounds, AKilledProbeIsAToolErrorAndIsReported) {
  const Json cut{{"ok", false}, {"trouble", "path"}, {"error", "closed by the peer"}};
  probes(say(kListening) + "kill -9 $$\n", say(cut));
  const Measurement server = run_one();
  EXPECT_EQ(server.trouble, Trouble::tool);
  EXPECT_NE(server.error.find("gpu2:rail0: the probe was killed by signal 9"), std::string::npos)
      << server.error;
  probes(say(kListening) + "exec sleep 20\n", "exit 3\n");
  const Measurement client = run_one();
  EXPECT_EQ(client.trouble, Trouble::tool);
  EXPECT_EQ(client.error, "gpu1:rail0: the probe ended with status 3");
  probes("echo nonsense\nexec sleep 20\n", "");
  EXPECT_NE(run_one().error.find("said what is no JSON object"), std::string::npos);
}

TEST_F(RdmaRounds, AMalformedLineIsAToolErrorAndIsReported) {
  Json strange_server = server_saw();
  strange_server["counters"] = Json::array();
  Json strange_client = at_rate(1e9);
  strange_client["counters"] = Json::array();
  for (const auto workload : {lockstep::Workload::write_bandwidth, lockstep::Workload::write_latency}) {
    plan_.workload = workload;
    probes(say(kListening) + say(server_saw()), say(client_saw(5)));
    Measurement made = run_one();
    EXPECT_EQ(made.trouble, Trouble::tool);
    EXPECT_EQ(made.error, "gpu1:rail0: the probe said \"result\" that is no JSON object");
    probes(say(kListening) + say(server_saw()), say(strange_client));
    made = run_one();
    EXPECT_EQ(made.trouble, Trouble::tool);
    EXPECT_EQ(made.error, "gpu1:rail0: the probe said \"counters\" that is no JSON object");
    probes(say(kListening) + say(strange_server), say(at_rate(1e9)));
    made = run_one();
    EXPECT_EQ(made.trouble, Trouble::tool);
    EXPECT_EQ(made.error, "gpu2:rail0: the probe said \"counters\" that is no JSON object");
  }
}

TEST_F(RdmaRounds, AResultWithoutAFigureIsAToolError) {
  for (const Json& histogram : {Json(7), Json::object()}) {
    plan_.workload = lockstep::Workload::write_latency;
    probes(say(kListening) + say(server_saw()), say(client_saw({{"histogram", histogram}})));
    const Measurement made = run_one();
    EXPECT_EQ(made.trouble, Trouble::tool);
    EXPECT_EQ(made.error, "gpu1:rail0: the probe reported no latency");
  }
  plan_.workload = lockstep::Workload::write_bandwidth;
  probes(say(kListening) + say(server_saw()), say(client_saw(Json::object())));
  EXPECT_EQ(run_one().error, "gpu1:rail0: the probe reported no rate");
}

TEST_F(RdmaRounds, AHungProbeDelaysItsOwnPairOnly) {
  // `start` must be long enough for the healthy pair to spawn its two shells, even on a busy machine.
  plan_.timing = {std::chrono::milliseconds(50), std::chrono::milliseconds(3000),
                  std::chrono::milliseconds(50), std::chrono::milliseconds(50)};
  plan_.rounds = {{{0, 1}, {2, 1}}};
  probes("case $2 in *'\"peer\":\"10.0.0.1\"'*) exec sleep 20;; esac\n" + say(kListening) + say(server_saw()),
         say(at_rate(1e9)));
  const std::uint64_t begin = now_ns();
  const auto made = run();
  EXPECT_LT(now_ns() - begin, 10'000'000'000U);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].trouble, Trouble::tool);
  EXPECT_EQ(made[0].error, "timed out: a probe did not answer");
  EXPECT_EQ(made[1].error, "");
}

TEST_F(RdmaRounds, AnEndWithoutRdmaIsReportedAndTheOthersRun) {
  plan_.rounds = {{{0, 1}}, {{0, 2}}};
  ends_[1] = {"", "no RDMA device on gpu2:rail0: this machine has none", 0};
  probes(say(kListening) + say(server_saw()), say(at_rate(1e9)));
  const auto made = run();
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].trouble, Trouble::transport);
  EXPECT_EQ(made[0].error, "no RDMA device on gpu2:rail0: this machine has none");
  EXPECT_TRUE(made[1].ok());
}

TEST_F(RdmaRounds, ReportsAnEndThatWaitedForACpu) {
  Json server = server_saw();
  server["waited"] = 0.25;
  probes(say(kListening) + say(server), say(at_rate(1e9)));
  const Measurement made = run_one();
  EXPECT_TRUE(made.cpu_limited);
  EXPECT_EQ(made.cpu_reason, "gpu2:rail0 waited for a CPU in 25% of the time (limit 10%)");
  probes(say(kListening) + say(server), say(at_rate(49e9)));
  EXPECT_FALSE(run_one().cpu_limited) << "98 % of nominal: the link set the limit";
}

TEST_F(RdmaRounds, AStopEndsTheRunAndCancelsTheRest) {
  plan_.rounds = {{{0, 1}}, {{1, 0}}};
  probes("exec sleep 20\n", "");
  std::stop_source stop;
  const ProgressSink sink = [&](const Progress& seen) {
    if (seen.what == Progress::What::probe_started) stop.request_stop();
  };
  const auto made = run_rounds(plan_, endpoints_, ends_, sink, stop.get_token());
  ASSERT_TRUE(made);
  ASSERT_EQ(made->size(), 2U);
  for (const Measurement& one : *made) EXPECT_EQ(one.trouble, Trouble::cancelled);
}

TEST_F(RdmaRounds, RefusesWorkloadsWithoutRdmaAndUnknownEndpoints) {
  plan_.workload = lockstep::Workload::ring_allreduce;
  EXPECT_FALSE(run_rounds(plan_, endpoints_, ends_));
  plan_.workload = lockstep::Workload::stream;
  plan_.rounds = {{{0, 9}}};
  EXPECT_FALSE(run_rounds(plan_, endpoints_, ends_));
  ends_.pop_back();
  plan_.rounds.clear();
  EXPECT_FALSE(run_rounds(plan_, endpoints_, ends_));
}

Facts facts_with(const std::string& device_port) {
  Facts out;
  out.address = "10.0.0.1";
  out.netdev = "rail0";
  RdmaPort port;
  port.facts.number = 1;
  port.facts.netdev = device_port;
  out.devices = {{"mlx5_0", -1, {port}}};
  return out;
}

TEST(RdmaEnds, UseTheDeviceOfTheEndpointsPort) {
  ProbeEndpoint at;
  at.endpoint = {"gpu1", "rail0", "10.0.0.1", "leaf0", "0"};
  EXPECT_EQ(rdma_end_of(at, facts_with("rail0")).device, "mlx5_0");
  EXPECT_EQ(rdma_end_of(at, facts_with("rail1")).why_not,
            "no RDMA device on gpu1:rail0: there is mlx5_0 on rail1");
  Facts elsewhere = facts_with("rail0");
  elsewhere.netdev = "eth0";
  EXPECT_EQ(rdma_end_of(at, elsewhere).why_not, "no RDMA device on gpu1:rail0: 10.0.0.1 is on eth0 here");
  elsewhere.netdev.clear();
  EXPECT_EQ(rdma_end_of(at, elsewhere).why_not,
            "no RDMA device on gpu1:rail0: no interface of this machine has 10.0.0.1");
  Facts none = facts_with("rail0");
  none.devices.clear();
  EXPECT_EQ(rdma_end_of(at, none).why_not, "no RDMA device on gpu1:rail0: this machine has none");
  at.unreachable = "it is unreachable from this machine";
  EXPECT_EQ(find_rdma_end(HostFiles("/"), at, {}).why_not, "gpu1:rail0: it is unreachable from this machine");
  at.unreachable.clear();
  at.netns = "/run/netns/lab-gpu1";
  EXPECT_EQ(find_rdma_end(HostFiles("/"), at, {}).why_not,
            "no RDMA device on gpu1:rail0: a twin's ports are veth in namespaces");
}

}  // namespace
}  // namespace lockstep::bench::verbs
