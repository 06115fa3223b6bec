#include "reconciler/report/discovery_devlink.hpp"

#include <gtest/gtest.h>
#include <linux/devlink.h>

namespace lockstep {
namespace {

// Two NICs that differ in one parameter; the first has a virtual function with a rate limit, a reporter in
// error and a buffer that one class of its port uses.
DiscoveredDevice found() {
  DiscoveredDevice out{"gpu1", "host", {}};
  for (const std::string name : {"0000:3b:00.0", "0000:5e:00.0"}) {
    devlink::DeviceFacts facts;
    facts.device = {"pci", name};
    facts.info = {facts.device,
                  "mlx5_core",
                  "MT2133",
                  {{"fw.psid", "MT_0838", "fixed"},
                   {"fw.version", "28.39.1002", "running"},
                   {"fw.version", "28.40.1000", "stored"}}};
    facts.parameters = {{facts.device, "enable_roce", devlink::kFlag, {{1, "true"}}}};
    facts.functions = 0;
    out.host.devlink.push_back(facts);
  }
  devlink::DeviceFacts& first = out.host.devlink.front();
  const devlink::Handle nic = first.device;
  first.functions = 1;
  first.functions_max = 8;
  first.eswitch = DEVLINK_ESWITCH_MODE_SWITCHDEV;
  first.ports = {{nic, 0, 2, "rail0", DEVLINK_PORT_FLAVOUR_PHYSICAL, {}},
                 {nic, 1, 3, "rail0v0", DEVLINK_PORT_FLAVOUR_PCI_VF, 0}};
  first.parameters.push_back({nic, "max_macs", devlink::kU32, {{1, "64"}, {2, "128"}}});
  first.reporters = {{nic, {}, "fw", true, 0, 0}, {nic, 0, "tx", false, 3, 2}};
  first.rates = {{nic, 1, "", "gold", 0, 125'000'000}, {nic, {}, "gold", "", 1'250'000'000, 0}};
  first.buffers = {{nic, 0, 16'777'216, 1, 1}};
  first.pools = {{nic, 0, 0, false, 8'000'000, true}, {nic, 0, 1, true, 4'000'000, false}};
  first.bindings = {{nic, 0, 0, 3, false, 0, 9}};
  return out;
}

TEST(DiscoveryDevlink, TablesFoldEqualParameters) {
  EXPECT_EQ(devlink_text(found(), Terminal{}), R"(
device  devlink           driver     firmware               eswitch    vfs     health
gpu1    pci/0000:3b:00.0  mlx5_core  fw.version 28.39.1002  switchdev  1 of 8  tx
gpu1    pci/0000:5e:00.0  mlx5_core  fw.version 28.39.1002             0

device  parameter    mode        value  devlink
gpu1    enable_roce  driverinit  true   pci/0000:3b:00.0, pci/0000:5e:00.0
gpu1    max_macs     driverinit  64     pci/0000:3b:00.0
gpu1    max_macs     permanent   128    pci/0000:3b:00.0

device  devlink port           kind   vf  netdev    share    max  group
gpu1    pci/0000:3b:00.0/1     pcivf   0  rail0v0          1Gbps  gold
gpu1    pci/0000:3b:00.0/gold  group               10Gbps

device  shared buffer             of  pool  direction     size  threshold  classes of ports
gpu1    pci/0000:3b:00.0 0  16777216     0  ingress    8000000  dynamic                   1
gpu1    pci/0000:3b:00.0 0  16777216     1  egress     4000000  static                    0
)");
  EXPECT_EQ(devlink_text(DiscoveredDevice{"gpu1", "host", {}}, Terminal{}), "");
}

TEST(DiscoveryDevlink, JsonIsComplete) {
  const DiscoveredDevice all = found();
  const nlohmann::json first = devlink_json(all.host.devlink[0]);
  EXPECT_EQ(first["device"], "pci/0000:3b:00.0");
  EXPECT_EQ(first["versions"].size(), 3U);
  EXPECT_EQ(first["versions"][2],
            (nlohmann::json{{"name", "fw.version"}, {"value", "28.40.1000"}, {"kind", "stored"}}));
  EXPECT_EQ(first["parameters"]["max_macs"], (nlohmann::json{{"driverinit", "64"}, {"permanent", "128"}}));
  EXPECT_EQ(first["health"][1],
            (nlohmann::json{
                {"reporter", "tx"}, {"healthy", false}, {"errors", 3}, {"recoveries", 2}, {"port", 0}}));
  EXPECT_EQ(first["ports"][1]["virtualFunction"], 0);
  EXPECT_EQ(first["rates"][0]["maxBytesPerSecond"], 125'000'000);
  EXPECT_EQ(first["sharedBuffers"][0]["pools"][1]["sizeBytes"], 4'000'000);
  EXPECT_EQ(first["sharedBuffers"][0]["classes"][0]["trafficClass"], 3);
  const nlohmann::json second = devlink_json(all.host.devlink[1]);
  EXPECT_FALSE(second.contains("sharedBuffers") || second.contains("rates") || second.contains("eswitch"));
}

}  // namespace
}  // namespace lockstep
