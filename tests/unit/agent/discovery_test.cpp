// What an agent discovers on its device reaches the controller as it is; what does not fit is refused by
// name.
#include "drivers/agent/discovery.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dead_man_test_fixture.hpp"
#include "drivers/agent/wire_discovery.hpp"
#include "reconciler/agent/calls.hpp"
#include "tests/unit/agent/network_test_fixture.hpp"

namespace lockstep {
namespace {

using FactsJson = nlohmann::json;

PciFunction pci_function(const std::string& address) {
  PciFunction out;
  out.address = address;
  out.device_class = 0x020000;
  out.vendor = 0x15b3;
  out.device = 0x1021;
  out.driver = "mlx5_core";
  out.numa_node = 1;
  out.is_virtual = true;
  out.host_bridge = "pci0000:16";
  out.upstream = {"0000:16:01.0", "0000:17:00.0"};
  out.link = {"16.0 GT/s PCIe", "32.0 GT/s PCIe", 8, 16};
  out.rdma_devices = {"mlx5_0"};
  return out;
}

DiscoveredPort discovered_port() {
  DiscoveredPort out;
  out.name = "ra\xffil0";
  out.kind = "vlan";
  out.driver = "mlx5_core";
  out.hardware_address = "02:00:00:00:00:01";
  out.mtu = 9000;
  out.admin_up = out.carrier = out.loopback = true;
  out.nic.speed = 400'000;
  out.nic.speeds = {100'000, 400'000};
  out.nic.autoneg = false;
  out.nic.fec = "auto";
  out.nic.fec_active = "rs";
  out.nic.rings = {{"rx", {1024, 8192}}, {"tx", {512, 4096}}};
  out.nic.channels = {{"combined", {63, 64}}};
  out.nic.module = {"QSFP28", "Lockstep Cables", "TQ1N", "B2", "LC24", "passive copper", 25};
  out.pci = pci_function("0000:18:00.0");
  out.rdma_devices = {"mlx5_0"};
  out.addresses = {"10.0.0.1/31"};
  out.peer = "leaf0:swp1";
  return out;
}

devlink::DeviceFacts devlink_facts() {
  const devlink::Handle device{"pci", "0000:18:00.0"};
  devlink::DeviceFacts out;
  out.device = device;
  out.info = {device, "mlx5_core", "MT2345", {{"fw.version", "28.39.1002", "running"}}};
  out.eswitch = std::uint16_t{1};
  out.functions = 4;
  out.functions_max = 16;
  out.ports = {{device, 65535, 7, "rail0", std::uint16_t{4}, std::uint16_t{3}}};
  out.parameters = {{device, "enable_roce", devlink::kFlag, {{std::uint8_t{1}, "true"}}}};
  out.reporters = {{device, 65535U, "fw_fatal", false, 2, 1}};
  out.rates = {{device, 3U, "group1", "group0", 1'000, 18'446'744'073'709'551'615U}};
  out.buffers = {{device, 1, 16'777'216, 4, 5}};
  out.pools = {{device, 1, 2, true, 65'536, true}};
  out.bindings = {{device, 3, 1, 5, true, 2, 10}};
  return out;
}

// Every field has another value than its empty one.
DiscoveredHost discovered_host() {
  DiscoveredHost out;
  out.ports = {discovered_port()};
  DiscoveredGpu gpu;
  gpu.gpu.pci = pci_function("0000:1b:00.0");
  gpu.gpu.nvml =
      NvmlGpu{"0000:1b:00.0", "NVIDIA H100", "GPU is lost", "96.00", true, true, false, 0x40, 3U, true, true};
  gpu.gpu.amd_ecc = true;
  gpu.gpu.near = PciDistance::pxb;
  gpu.nics = {{"rail0", PciDistance::pix}, {"rail1", PciDistance::sys}};
  out.gpus = {gpu};
  DiscoveredRdma rdma;
  rdma.facts = {
      "mlx5_0", "mlx5_core", "0000:18:00.0", "28.39.1002", {{1, "ACTIVE", "LINK_UP", "Ethernet", "rail0"}}};
  rdma.ports = {{{{3, "0000:0000:0000:0000:0000:ffff:0a40:0001", "RoCE v2", "rail0", true, true}}, 4096}};
  out.rdma = {rdma};
  out.devlink = {devlink_facts()};
  out.settings = {{"cpu/governor", "powersave", ""}, {"memlock", "", "not set"}};
  out.notes = {"neighbours: none heard"};
  return out;
}

std::string recorded_discovery() {
  std::ifstream in(LOCKSTEP_SOURCE_DIR "/tests/cases/agent/v1/discovery.json");
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(Discovery, IsAsRecordedForProtocolOne) {
  const FactsJson sent = FactsJson::parse(wire::encode(discovered_host()));
  if (std::getenv("LOCKSTEP_UPDATE_CASES") != nullptr)
    std::ofstream(LOCKSTEP_SOURCE_DIR "/tests/cases/agent/v1/discovery.json") << sent.dump(2) << "\n";
  EXPECT_EQ(sent, FactsJson::parse(recorded_discovery()));
}

TEST(Discovery, IsDecodedAsItWasEncoded) {
  const auto host = wire::decode_discovery(recorded_discovery());
  ASSERT_TRUE(host) << host.error().text();
  EXPECT_EQ(FactsJson::parse(wire::encode(*host)), FactsJson::parse(recorded_discovery()));
  ASSERT_EQ(host->ports.size(), 1U);
  EXPECT_EQ(host->ports[0].name, "ra\xffil0");
  EXPECT_EQ(host->ports[0].nic.rings.at("rx").max, 8192U);
  EXPECT_EQ(host->ports[0].pci->numa_node, 1);
  ASSERT_EQ(host->gpus.size(), 1U);
  EXPECT_EQ(host->gpus[0].nics[1], (std::pair<std::string, PciDistance>("rail1", PciDistance::sys)));
  EXPECT_EQ(host->gpus[0].gpu.nvml->clock_limits, 0x40U);
  EXPECT_FALSE(host->devlink.at(0).reporters.at(0).healthy);
  EXPECT_EQ(host->devlink.at(0).rates.at(0).max, 18'446'744'073'709'551'615U);
  EXPECT_EQ(host->devlink.at(0).parameters.at(0).values.at(1), "true");
  const auto none = wire::decode_discovery("{}");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->ports.empty());
}

// Calls `vary` for each object within a document, by reference.
void each_object_of(FactsJson& json, const std::function<void(FactsJson&)>& vary) {
  if (json.is_structured())
    for (FactsJson& one : json) each_object_of(one, vary);
  if (json.is_object() && !json.contains("bytes")) vary(json);
}

TEST(Discovery, OfANewerAgentHasUnknownFields) {
  FactsJson newer = FactsJson::parse(recorded_discovery());
  each_object_of(newer, [](FactsJson& object) { object["inAYear"] = {{"deep", {1, 2}}}; });
  const auto host = wire::decode_discovery(newer.dump());
  ASSERT_TRUE(host) << host.error().text();
  EXPECT_EQ(FactsJson::parse(wire::encode(*host)), FactsJson::parse(recorded_discovery()));
}

// A value that is replaced is an error, or the field's type has it; none is taken for another one.
TEST(Discovery, WrongTypesAreErrors) {
  const FactsJson document = FactsJson::parse(recorded_discovery());
  const FactsJson flat = document.flatten();
  std::size_t refused = 0;
  for (const FactsJson& by :
       std::vector<FactsJson>{true, -1, 1.5, 1e300, 4'294'967'296U, "text",
                              FactsJson::array({FactsJson::object()}), FactsJson::object()})
    for (const auto& [place, value] : flat.items()) {
      FactsJson wrong = document;
      wrong[FactsJson::json_pointer(place)] = by;
      const auto host = wire::decode_discovery(wrong.dump());
      if (host) {
        EXPECT_EQ(by.type(), value.type()) << place << " is " << by;
        continue;
      }
      ++refused;
      EXPECT_EQ(host.error().kind, ErrorKind::invalid_spec) << host.error().text();
      EXPECT_TRUE(says(host.error().what, "field '")) << place << " is " << by;
    }
  EXPECT_GT(refused, 7 * flat.size() / 2);
}

TEST(Discovery, OfOneGpuThatNamesOtherNicsIsRefused) {
  DiscoveredHost host = discovered_host();
  host.gpus.push_back(host.gpus.front());
  ASSERT_TRUE(wire::decode_discovery(wire::encode(host)));
  host.gpus.back().nics.pop_back();
  const auto uneven = wire::decode_discovery(wire::encode(host));
  ASSERT_TRUE(fails_as(uneven, ErrorKind::invalid_spec));
  EXPECT_TRUE(says(uneven.error().what, "nics"));
  host = discovered_host();
  host.rdma.front().ports.clear();
  const auto without = wire::decode_discovery(wire::encode(host));
  ASSERT_TRUE(fails_as(without, ErrorKind::invalid_spec));
  EXPECT_TRUE(says(without.error().what, "mlx5_0"));
}

class DiscoveryByAgentTest : public NetworkTest {
 protected:
  Result<DiscoveredHost> discover(const ScriptedAgent::Reply& reply, const Call& call = patient()) {
    const ScriptedAgent agent(gpu1_, [reply](const ScriptedAgent::Request& request) {
      return is_call(request, "discover") ? reply : ScriptedAgent::Reply{http("{}")};
    });
    const auto network = start({});
    return discover_by_agent(*network, agent.address(), call);
  }
};

TEST_F(DiscoveryByAgentTest, IsWhatTheAgentAnswers) {
  const auto host = discover({http(recorded_discovery())});
  ASSERT_TRUE(host) << host.error().text();
  EXPECT_EQ(FactsJson::parse(wire::encode(*host)), FactsJson::parse(recorded_discovery()));
}

TEST_F(DiscoveryByAgentTest, NamesTheAgentWhoseAnswerIsNone) {
  for (const char* const answer : {"", "[]", "{", R"({"ports": 7})", R"({"notes": [1]})"}) {
    const auto host = discover({http(answer)});
    ASSERT_TRUE(fails_as(host, ErrorKind::refused)) << answer;
    EXPECT_TRUE(says(host.error().text(), "gpu1 (https://127.0.0.1:")) << answer;
    EXPECT_TRUE(says(host.error().text(), "discover")) << answer;
  }
}

TEST_F(DiscoveryByAgentTest, EndsWithItsCall) {
  EXPECT_TRUE(fails_as(discover({"", ScriptedAgent::Then::hang}, within(std::chrono::milliseconds(200))),
                       ErrorKind::transient));
}

TEST(DiscoveryCall, IsForReadersToo) {
  agent::AgentUnderTest device;
  auto attached = device.attached();
  auto journal = agent::AgentJournal::open(device.folder() + "-discovery");
  ASSERT_TRUE(journal);
  const auto dead_man =
      std::make_shared<agent::DeadMan>(*std::move(journal), attached, agent::this_machine());
  const agent::DeviceCalls::Identity identity{.cluster = "pod", .device = "gpu1"};
  agent::DeviceCalls none(identity, dead_man, attached);
  EXPECT_EQ(none.kind("discover"), agent::Calls::Kind::reads);
  EXPECT_EQ(none.handle("discover", "{}", PeerRole::reader, {}).status, 422);
  Result<DiscoveredHost> found = discovered_host();
  agent::DeviceCalls calls(identity, dead_man, attached, [&found](const Call&) { return found; });
  const agent::Reply reply = calls.handle("discover", "{}", PeerRole::reader, {});
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(FactsJson::parse(reply.body), FactsJson::parse(recorded_discovery()));
  found = Error{ErrorKind::transient, "no netlink"};
  EXPECT_EQ(calls.handle("discover", "{}", PeerRole::reader, {}).status, 503);
}

}  // namespace
}  // namespace lockstep
