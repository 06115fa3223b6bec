#include "reconciler/report/discovery.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

PciFunction function(const std::string& address, int numa, unsigned width) {
  PciFunction out;
  out.address = address;
  out.vendor = kPciVendorNvidia;
  out.device = 0x2330;
  out.driver = "nvidia";
  out.numa_node = numa;
  out.link = {"32.0 GT/s PCIe", "32.0 GT/s PCIe", width, 16};
  return out;
}

// A rail whose PCIe link has half its lanes, and two GPUs of which NVML reports one.
std::vector<DiscoveredDevice> found() {
  DiscoveredPort port;
  port.name = "rail0";
  port.driver = "mlx5_core";
  port.mtu = 9000;
  port.admin_up = port.carrier = true;
  port.nic.speed = 400000;
  port.nic.speeds = {100000, 400000};
  port.nic.autoneg = true;
  port.nic.fec = "auto";
  port.nic.fec_active = "rs";
  port.nic.rings = {{"rx", {1024, 8192}}, {"tx", {1024, 8192}}};
  port.nic.channels = {{"combined", {63, 63}}};
  port.nic.module = {"QSFP28", "Lockstep Cables", "TQ1N-3P0C", "B2", "LC2411070042", "passive copper", 25};
  port.pci = function("0000:13:00.0", 0, 8);
  port.rdma_devices = {"mlx5_0"};
  port.peer = "leaf0:swp1";
  DiscoveredGpu first;
  first.gpu.pci = function("0000:14:00.0", 0, 16);
  first.gpu.nvml.emplace();
  first.gpu.nvml->name = "NVIDIA H100";
  first.gpu.nvml->ecc = first.gpu.nvml->ecc_after_reset = true;
  first.gpu.nvml->persistence = false;
  first.gpu.nvml->clock_limits = 0x40;
  first.nics = {{"rail0", PciDistance::pix}};
  DiscoveredGpu second;
  second.gpu.pci = function("0000:84:00.0", 1, 16);
  second.nics = {{"rail0", PciDistance::sys}};
  DiscoveredHost host;
  host.ports = {port};
  host.gpus = {first, second};
  DiscoveredRdma rdma;
  rdma.facts = {
      "mlx5_0", "mlx5_core", "0000:13:00.0", "28.39.1002", {{1, "ACTIVE", "LINK_UP", "Ethernet", "rail0"}}};
  rdma.ports = {{{{0, "fe80:0000:0000:0000:0000:00ff:fe00:0007", "RoCE v2", "rail0", false, true},
                  {3, "0000:0000:0000:0000:0000:ffff:0a40:0001", "RoCE v2", "rail0", true, false}},
                 4096}};
  host.rdma = {rdma};
  host.settings = {
      {"cpu/governor", "powersave", ""}, {"memlock", "", "not set"}, {"pcie/acs", "", "not set"}};
  host.notes = {"neighbors: none heard"};
  return {{"gpu1", "host", host}};
}

TEST(Discovery, TablesNoteWhatIsMissing) {
  EXPECT_EQ(
      discovery_text(found(), Terminal{}),
      R"(device  port   driver       speed   mtu  state  addresses  neighbor    pci           pcie                 numa  rdma
gpu1    rail0  mlx5_core  400Gbps  9000  up                leaf0:swp1  0000:13:00.0  32.0 GT/s x8 of x16     0  mlx5_0

device  port   autoneg  speeds            fec         rings                             channels           module
gpu1    rail0  on       100Gbps, 400Gbps  rs by auto  rx 1024 of 8192, tx 1024 of 8192  combined 63 of 63  QSFP28 passive copper 2.5 m, Lockstep Cables TQ1N-3P0C B2

device  rdma    driver     port  netdev  state   link      path mtu  gids        firmware
gpu1    mlx5_0  mlx5_core     1  rail0   ACTIVE  Ethernet      4096  3 v4, 0 v6  28.39.1002

device  gpu           model        driver  numa  pcie           persistence  ecc  state                         rail0
gpu1    0000:14:00.0  NVIDIA H100  nvidia     0  32.0 GT/s x16  off          on   thermal slowdown by hardware  PIX
gpu1    0000:84:00.0  nvidia 2330  nvidia     1  32.0 GT/s x16                                                  SYS

device  setting       value
gpu1    cpu/governor  powersave
note: memlock, pcie/acs: not set (gpu1)
note: neighbors: none heard (gpu1)
)");
}

TEST(Discovery, JsonIsComplete) {
  const nlohmann::json device = discovery_json(found())["devices"][0];
  EXPECT_EQ(device["ports"][0]["pci"]["link"]["width"], 8);
  EXPECT_EQ(device["ports"][0]["rdmaDevices"][0], "mlx5_0");
  EXPECT_EQ(device["ports"][0]["rings"]["rx"]["max"], 8192);
  EXPECT_EQ(device["ports"][0]["speedsMbps"], nlohmann::json({100000, 400000}));
  EXPECT_EQ(device["ports"][0]["fecActive"], "rs");
  EXPECT_EQ(device["ports"][0]["module"]["serial"], "LC2411070042");
  EXPECT_EQ(device["ports"][0]["module"]["metres"], 2.5);
  const nlohmann::json port = device["rdma"][0]["ports"][0];
  EXPECT_EQ(port["state"], "ACTIVE");
  EXPECT_EQ(port["pathMtu"], 4096);
  EXPECT_EQ(port["gids"][1]["gid"], "0000:0000:0000:0000:0000:ffff:0a40:0001");
  EXPECT_EQ(device["rdma"][0]["firmware"], "28.39.1002");
  EXPECT_EQ(device["gpus"][0]["trouble"], "thermal slowdown by hardware");
  EXPECT_EQ(device["gpus"][0]["ecc"], true);
  EXPECT_EQ(device["gpus"][0]["nics"]["rail0"], "PIX");
  EXPECT_EQ(device["gpus"][1]["deviceId"], "0x2330");
  EXPECT_FALSE(device["gpus"][1].contains("ecc"));
  EXPECT_EQ(device["settings"]["cpu/governor"], "powersave");
  EXPECT_EQ(device["settingsMissing"]["memlock"], "not set");
}

}  // namespace
}  // namespace lockstep
