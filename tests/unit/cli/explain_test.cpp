// `lockstep explain`: the chain from the spec line through the rule and its constants to the native call.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "said.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

const std::string kPod = LOCKSTEP_SOURCE_DIR "/examples/rail-pod";

Json explained(const std::string& device, const std::string& path) {
  const Answer said = say({"explain", "-o", "json", kPod, device, path});
  EXPECT_EQ(said.code, 0) << said.out << said.err;
  return Json::parse(said.out, nullptr, false);
}

Json term(const Json& explanation, const std::string& name) {
  for (const Json& one : explanation["terms"])
    if (one["name"] == name) return one;
  return nullptr;
}

bool native_says(const Json& explanation, const std::string& words) {
  return std::any_of(explanation["native"].begin(), explanation["native"].end(), [&words](const Json& call) {
    return call.get<std::string>().find(words) != std::string::npos;
  });
}

TEST(Explain, ValuesAreJsonOfTheirOwnType) {
  EXPECT_EQ(explained("gpu1", "interface[rail0]/mtu")["value"], 9000);
  EXPECT_EQ(explained("gpu1", "interface[rail0]/admin")["value"], true);
  EXPECT_EQ(explained("gpu1", "interface[rail0]/address[10.64.0.1/31]")["value"], true);
  EXPECT_EQ(explained("gpu1", "interface[rail0]/class[3]/dscp")["value"], Json::array({"26"}));
  EXPECT_EQ(explained("leaf0", "interface[up0]/peer")["value"], "spine0:down0");
}

TEST(Explain, WrittenFieldHasItsLineAndItsNativeCall) {
  const Json mtu = explained("gpu1", "interface[rail0]/mtu");
  EXPECT_EQ(mtu["origin"]["file"], kPod + "/fabric.yaml");
  EXPECT_EQ(mtu["origin"]["line"], 9);
  EXPECT_EQ(mtu["origin"]["object"], "Fabric/backend");
  EXPECT_EQ(mtu["origin"]["rule"], "mtu.host");
  EXPECT_EQ(mtu["sentence"], "");
  EXPECT_EQ(mtu["unit"], "B");
  EXPECT_EQ(mtu["native"], Json::array({"ip link set dev rail0 mtu 9000"}));
}

TEST(Explain, ComputedBufferCitesTheSourceOfEachConstant) {
  const Json size = explained("leaf0", "interface[swp1]/buffer[3]/size");
  EXPECT_EQ(size["origin"]["rule"], "pfc-headroom");
  EXPECT_FALSE(size["sentence"].get<std::string>().empty());
  EXPECT_EQ(term(size, "platform")["value"], "spectrum-4");
  const Json cell = term(size, "cell");
  EXPECT_EQ(cell["value"], 192);
  EXPECT_EQ(cell["unit"], "B");
  EXPECT_NE(cell["source"].get<std::string>().find("MELLANOX-SPECTRUM-4 cell_size"), std::string::npos);
  EXPECT_EQ(term(size, "cable")["value"], 5);
  EXPECT_EQ(term(size, "xoff")["value"].get<double>(),
            explained("leaf0", "interface[swp1]/buffer[3]/xoff")["value"].get<double>());
  EXPECT_TRUE(native_says(size, "dcb buffer set dev swp1"));
}

TEST(Explain, AllocatedNumberHasItsPoolAndIndex) {
  const Json address = explained("gpu2", "interface[rail0]/address[10.64.0.3/31]");
  EXPECT_EQ(term(address, "pool")["value"], "10.64.0.0/16");
  EXPECT_NE(term(address, "pool")["at"].get<std::string>().find("fabric.yaml:16"), std::string::npos);
  EXPECT_EQ(term(address, "number of swp2")["value"], 1);
  EXPECT_NE(term(address, "number of swp2")["source"].get<std::string>().find("allocations.lock"),
            std::string::npos);
  EXPECT_EQ(term(address, "cable")["value"], "gpu2:rail0 - leaf0:swp2");
  const Json asn = explained("leaf1", "bgp/asn");
  EXPECT_EQ(term(asn, "range")["value"], "4200000000-4200009999");
  EXPECT_EQ(term(asn, "number of leaf1")["value"], 1);
  EXPECT_EQ(asn["value"], 4200000001);
}

TEST(Explain, NeighborEntryHasOnlyItsOwnNativeLine) {
  const auto lines = [](const std::string& path) {
    std::string all;
    const Json explanation = explained("leaf0", path);
    for (const Json& call : explanation["native"]) all += call.get<std::string>() + "\n";
    return all;
  };
  const std::string hold = lines("bgp/neighbor[up0]/hold");
  EXPECT_NE(hold.find("bgpd> neighbor up0 timers 3 9\n"), std::string::npos) << hold;
  EXPECT_EQ(hold.find("remote-as"), std::string::npos) << hold;
  const std::string remote = lines("bgp/neighbor[up0]/remote-as");
  EXPECT_NE(remote.find("bgpd> neighbor up0 interface remote-as external\n"), std::string::npos) << remote;
  const std::string bfd = lines("bfd-profile[backend]/multiplier");
  EXPECT_NE(bfd.find("bfdd> detect-multiplier 3\n"), std::string::npos) << bfd;
  EXPECT_EQ(bfd.find("interval"), std::string::npos) << bfd;
  const std::string made = lines("bgp/neighbor[up0]");
  EXPECT_NE(made.find("bgpd> neighbor up0 interface"), std::string::npos) << made;
  for (const std::string& text : {hold, remote, bfd, made})
    EXPECT_EQ(text.find('!'), std::string::npos) << text;
}

TEST(Explain, EffectHasItsNeighborsAndNoNativeCall) {
  const Json routes = explained("leaf0", "fib[10.64.0.128/25]");
  EXPECT_EQ(routes["value"], Json::array({"up0", "up1"}));
  EXPECT_EQ(term(routes, "block of")["value"], "leaf1");
  EXPECT_EQ(term(routes, "over up1")["value"], "spine1:down0");
  EXPECT_TRUE(routes["native"].empty());
}

TEST(Explain, TextMatchesJson) {
  const Answer said = say({"explain", kPod, "leaf0", "interface[swp1]/class[3]/ecn-min"});
  EXPECT_EQ(said.code, 0);
  for (const char* const words :
       {"roce.yaml:9:92  RoceProfile/lossless", "ecn-auto: the thresholds that the platform",
        "Kmin, published  150000 B", "Cumulus Linux 5.14",
        "native  # interface[swp1]/class[3]/ecn-min is not set: this machine's ports have queues of their "
        "own"})
    EXPECT_NE(said.out.find(words), std::string::npos) << words << "\n" << said.out;
}

TEST(Explain, UnknownDeviceOrEntryIsAnError) {
  const Answer device = say({"explain", kPod, "gpu9x", "interface[rail0]/mtu"});
  EXPECT_EQ(device.code, 1);
  EXPECT_NE(device.err.find("no device called 'gpu9x'"), std::string::npos) << device.err;
  EXPECT_EQ(say({"explain", kPod, "gpu1", "interface[rail7]/mtu"}).code, 1);
}

TEST(Explain, ExplainsDiagnosticCodes) {
  EXPECT_NE(say({"explain", "LS1238"}).out.find("two RolloutPolicies of equal priority"), std::string::npos);
  // A code that is used both for selectors of devices and for a NIC's ports.
  EXPECT_NE(say({"explain", "LS1236"})
                .out.find("a device that the object is for, a hostlist of ports an interface"),
            std::string::npos);
  EXPECT_NE(say({"explain", "LS104"}).out.find("what to do:  add {name: cnp"), std::string::npos);
  EXPECT_NE(say({"explain", "LS104", "-o", "json"}).out.find("\"remedy\": \"add {name: cnp"),
            std::string::npos);
  EXPECT_EQ(say({"explain", "LS9999"}).code, 1);
}

}  // namespace
}  // namespace lockstep
