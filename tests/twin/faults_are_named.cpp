// `lockstep drift` reports every fault that `lockstep twin break --list` offers, with device and entry, and
// `lockstep apply` repairs it, or it is shown and ended as the list says. A listed fault without an
// expectation here is a failure.
#include <algorithm>
#include <memory>
#include <set>

#include "tests/needs.hpp"
#include "tests/twin/pod.hpp"

namespace lockstep::twin_test {
namespace {

using std::chrono::seconds;
using Words = std::vector<std::string>;

struct Named {
  std::string device;
  std::string entry;
};

// What ends the fault: an apply, or a manual action.
enum class Ended { by_apply, by_a_person };

struct Expectation {
  std::string name;  // name of the test
  std::string fault;
  Words words;
  std::vector<Named> shown;  // drift reports all of these at the same time
  Ended ended = Ended::by_apply;
  std::vector<Words> person = {};  // faults that revert it, each with its arguments
  std::string status = {};         // text that `twin status` shows
};

std::vector<Expectation> expectations() {
  return {
      {"AddressRemoved",
       "address-removed",
       {"gpu1", "rail0"},
       {{"gpu1", "interface[rail0]/address[10.64.0.1/31]"}, {"gpu1", "route[1000:0.0.0.0/0]"}}},
      {"BgpNeighborShutdown",
       "bgp-neighbor-shutdown",
       {"leaf0", "up1"},
       {{"leaf0", "bgp/neighbor[up1]/shutdown"}, {"spine1", "bgp/neighbor[down0]/session"}}},
      {"EcmpOff", "ecmp-off", {"leaf0"}, {{"leaf0", "bgp/max-paths"}, {"leaf0", "fib[10.64.0.128/25]"}}},
      {"HashPolicy", "hash-policy", {"spine0"}, {{"spine0", "sysctl[net.ipv4.fib_multipath_hash_policy]"}}},
      {"HungBgpd", "hung-daemon", {"leaf0"}, {{"leaf0", "routing-daemon[bgp]"}}, Ended::by_apply, {}, "bgpd"},
      {"HungBfdd",
       "hung-daemon",
       {"leaf1", "bfdd"},
       {{"leaf1", "routing-daemon[bfd]"}},
       Ended::by_apply,
       {},
       "bfdd"},
      {"HungZebra",
       "hung-daemon",
       {"spine0", "zebra"},
       {{"spine0", "routing-daemon[rib]"}},
       Ended::by_apply,
       {},
       "zebra"},
      {"HungLldpd", "hung-daemon", {"gpu2", "lldpd"}, {{"gpu2", "lldp-agent"}}, Ended::by_apply, {}, "lldpd"},
      {"KilledBgpd",
       "killed-daemon",
       {"leaf0"},
       {{"leaf0", "routing-daemon[bgp]"}, {"spine0", "bgp/neighbor[down0]/session"}},
       Ended::by_apply,
       {},
       "bgpd"},
      {"KilledBfdd",
       "killed-daemon",
       {"leaf1", "bfdd"},
       {{"leaf1", "routing-daemon[bfd]"}},
       Ended::by_apply,
       {},
       "bfdd"},
      {"KilledZebra",
       "killed-daemon",
       {"spine1", "zebra"},
       {{"spine1", "routing-daemon[rib]"}},
       Ended::by_apply,
       {},
       "zebra"},
      {"KilledLldpd",
       "killed-daemon",
       {"leaf1", "lldpd"},
       {{"leaf1", "lldp-agent"}},
       Ended::by_apply,
       {},
       "lldpd"},
      {"LinkDown",
       "link-down",
       {"gpu2", "rail1"},
       {{"gpu2", "interface[rail1]/admin"}, {"leaf1", "interface[swp2]/carrier"}}},
      {"LinkFlap", "link-flap", {"leaf0", "up1", "3"}, {{"leaf0", "bgp/neighbor[up1]/session"}}},
      {"LostNexthop", "lost-nexthop", {"leaf0"}, {{"leaf0", "fib[10.64.0.128/25]"}}},
      {"Miscabled",
       "miscabled",
       {"leaf0", "up0", "leaf1", "up0"},
       {{"leaf0", "interface[up0]/peer"},
        {"leaf1", "interface[up0]/peer"},
        {"spine0", "interface[down0]/peer"},
        {"spine0", "interface[down1]/peer"}},
       Ended::by_a_person,
       {{"miscabled", "leaf0", "up0", "leaf1", "up0"}}},
      {"Mtu", "mtu", {"gpu1", "rail0"}, {{"gpu1", "interface[rail0]/mtu"}}},
      {"Offload", "offload", {"gpu1", "rail0", "tso", "on"}, {{"gpu1", "interface[rail0]/offload[tso]"}}},
      {"SlowLink", "slow-link", {"leaf1", "up0"}, {{"leaf1", "interface[up0]/rate"}}},
      {"Sysctl",
       "sysctl",
       {"gpu3", "net.ipv4.tcp_mtu_probing", "1"},
       {{"gpu3", "sysctl[net.ipv4.tcp_mtu_probing]"}}},
      {"WrongAddress",
       "wrong-address",
       {"leaf1", "swp2"},
       {{"leaf1", "interface[swp2]/address[10.64.0.130/31]"},
        {"leaf1", "interface[swp2]/address[192.0.2.1/31]"}}},
  };
}

// Faults with their own tests, below; those of agents: agents_faults.py; of SONiC: sonic.py.
const std::set<std::string> kOnTheirOwn{"packet-loss", "resumed-daemon"};

// One twin for all tests: every test leaves it in sync.
class OnePod : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (Pod::impossible().empty()) pod_ = std::make_unique<Pod>();
  }
  static void TearDownTestSuite() { pod_.reset(); }
  void SetUp() override {
    if (const std::string why = Pod::impossible(); !why.empty()) LOCKSTEP_NOT_TESTED_BUT_ON_CI(why);
    ASSERT_TRUE(in_sync_soon()) << "the test before has left: " << pod_->drift().out;
  }

  // Drift's items by device and entry. The exit code must match: 2 if there are any.
  static std::set<std::pair<std::string, std::string>> shown() {
    const Said said = pod_->drift();
    const auto report = nlohmann::json::parse(said.out, nullptr, false);
    std::set<std::pair<std::string, std::string>> out;
    if (!report.is_object()) {
      ADD_FAILURE() << said.out;
      return out;
    }
    for (const auto& item : report["items"])
      if (item["state"] == "drifted" || item["state"] == "effect")
        out.emplace(item["device"].get<std::string>(), item["path"].get<std::string>());
    EXPECT_EQ(said.code, !out.empty() ? 2 : report["unobserved"].empty() ? 0 : 3) << said.out;
    return out;
  }
  static bool names_soon(const std::vector<Named>& wanted) {
    return eventually(
        [&] {
          const auto now = shown();
          return std::all_of(wanted.begin(), wanted.end(), [&](const Named& one) {
            return now.contains({one.device, one.entry});
          });
        },
        seconds(30));
  }
  static bool in_sync_soon() {
    return eventually([] { return pod_->drift().code == 0; }, seconds(60));
  }
  static void make(const std::string& fault, const Words& words) {
    const Said said = pod_->break_it(fault, words);
    ASSERT_EQ(said.code, 0) << said.out;
  }

  static std::unique_ptr<Pod> pod_;
};
std::unique_ptr<Pod> OnePod::pod_;

class Faults : public OnePod, public testing::WithParamInterface<Expectation> {};

TEST_P(Faults, AreReportedAndRepaired) {
  const Expectation& expected = GetParam();
  make(expected.fault, expected.words);
  ASSERT_TRUE(names_soon(expected.shown)) << pod_->drift().out;
  if (!expected.status.empty()) {
    const Said status = pod_->run({"twin", "status", pod_->specs()});
    EXPECT_EQ(status.code, 2);
    EXPECT_NE(status.out.find(expected.status), std::string::npos) << status.out;
  }
  const Said applied = pod_->apply();
  if (expected.ended == Ended::by_apply) {
    EXPECT_EQ(applied.code, 0) << applied.out;
  } else {
    EXPECT_EQ(applied.code, 2) << "an apply must say that it can't end this: " << applied.out;
    ASSERT_TRUE(names_soon(expected.shown)) << pod_->drift().out;
    for (const Words& words : expected.person) make(words.front(), {words.begin() + 1, words.end()});
    EXPECT_EQ(pod_->apply().code, 0);
  }
  EXPECT_TRUE(in_sync_soon()) << applied.out << pod_->drift().out;
}

INSTANTIATE_TEST_SUITE_P(Each, Faults, testing::ValuesIn(expectations()),
                         [](const auto& one) { return one.param.name; });

class FaultsOnTheirOwn : public OnePod {};

TEST_F(FaultsOnTheirOwn, EveryListedFaultHasAnExpectation) {
  std::set<std::string> expected = kOnTheirOwn;
  for (const Expectation& one : expectations()) expected.insert(one.fault);
  const Said said = pod_->run({"twin", "break", "--list", "-o", "json"});
  ASSERT_EQ(said.code, 0) << said.out;
  std::set<std::string> listed;
  const auto document = nlohmann::json::parse(said.out);
  for (const auto& fault : document["faults"])
    if (const auto name = fault["name"].get<std::string>();
        !name.starts_with("agent-") && !name.starts_with("sonic-"))
      listed.insert(name);
  EXPECT_EQ(listed, expected);
}

TEST_F(FaultsOnTheirOwn, ResumedDaemonIsNoLongerReported) {
  make("hung-daemon", {"leaf1"});
  ASSERT_TRUE(names_soon({{"leaf1", "routing-daemon[bgp]"}})) << pod_->drift().out;
  make("resumed-daemon", {"leaf1"});
  EXPECT_TRUE(eventually([] { return !shown().contains({"leaf1", "routing-daemon[bgp]"}); }, seconds(30)));
  // BGP sessions may have been lost meanwhile, and next hops with them.
  EXPECT_EQ(pod_->apply().code, 0);
  EXPECT_TRUE(in_sync_soon()) << pod_->drift().out;
}

// The fault is a packet filter, which is a finding and not drift: only traffic shows the loss. Other load on
// this machine can spoil a single run, so that the benchmark is repeated.
TEST_F(FaultsOnTheirOwn, BenchmarkLocatesPacketLoss) {
  Said last;
  const auto bench = [&] {
    last = pod_->run({"bench", "--twin", "--only", "pairs", pod_->specs()});
    return last.code;
  };
  make("packet-loss", {"leaf0", "swp1", "40%"});
  const Said found = pod_->drift();
  EXPECT_EQ(found.code, 0) << "a packet filter is no drift";
  EXPECT_NE(found.out.find("tc ingress of swp1: bpf "), std::string::npos) << found.out;
  // The suspect is the link or, if that is uncertain, the host behind it.
  const auto names_gpu1 = [&] {
    const std::size_t suspect = last.out.find("  suspect");
    return suspect != std::string::npos &&
           last.out.substr(suspect, last.out.find('\n', suspect) - suspect).find("gpu1") != std::string::npos;
  };
  EXPECT_TRUE(eventually([&] { return bench() == 2 && names_gpu1(); }, seconds(90))) << last.out;
  make("packet-loss", {"leaf0", "swp1", "0%"});
  EXPECT_TRUE(eventually([&] { return bench() == 0; }, seconds(90))) << last.out;
}

}  // namespace
}  // namespace lockstep::twin_test
