#include "drivers/linux/discover.hpp"

#include <map>

#include "tests/unit/linux/host_nvml.hpp"
#include "tests/unit/linux/host_tree.hpp"
#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

using Discover = Lab;

TEST_F(Discover, ReportsGpusNicsAndSettingsOfAServer) {
  const RecordedHost host(8);
  host.rdma(0, "rail0");
  nvml_stub* const stub = load_nvml_stub(LOCKSTEP_NVML_STUB);
  ASSERT_NE(stub, nullptr);
  stub->count = 8;
  stub->gpus[2].clock_limits = 0x80;
  DiscoverTarget target;
  target.netns_path = path();
  target.root = host.root();
  target.nvml_library = LOCKSTEP_NVML_STUB;
  const auto found = discover_host(target, within(std::chrono::seconds(5)));
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->gpus.size(), 8U);
  const DiscoveredGpu& third = found->gpus[2];
  EXPECT_EQ(third.gpu.pci.address, "0000:34:00.0");
  EXPECT_EQ(third.gpu.nvml->trouble(), "power brake");
  std::string distances;
  for (const auto& [nic, distance] : third.nics)
    distances += nic + " " + std::string(to_string(distance)) + "\n";
  EXPECT_EQ(distances,
            "0000:13:00.0 NODE\n0000:23:00.0 NODE\n0000:33:00.0 PIX\n0000:43:00.0 NODE\n"
            "0000:53:00.0 SYS\n0000:63:00.0 SYS\n0000:73:00.0 SYS\n0000:83:00.0 SYS\n");
  std::map<std::string, HostFact> settings;
  for (const HostFact& fact : found->settings) settings[fact.what] = fact;
  ASSERT_EQ(found->rdma.size(), 1U);
  EXPECT_EQ(found->rdma[0].facts.name, "mlx5_0");
  for (const DiscoveredPort& port : found->ports)
    EXPECT_EQ(port.rdma_devices.size(), port.name == "rail0" ? 1U : 0U) << port.name;
  EXPECT_EQ(found->rdma[0].ports[0].gids.size(), 5U);
  EXPECT_EQ(found->rdma[0].ports[0].path_mtu, 1024U) << "rail0 has an MTU of 1500";
  EXPECT_EQ(settings["cpu/governor"].value, "powersave");
  EXPECT_EQ(settings["gpu/count"].value, "8");
  EXPECT_EQ(settings["kernel/module[*]"].value, "nvidia_peermem");
  EXPECT_EQ(settings["service[*]"].value, "");
  EXPECT_NE(settings["service[*]"].missing, "");
  EXPECT_EQ(settings["iommu"].value, "none");
  EXPECT_TRUE(found->notes.empty());
}

TEST(DiscoveredIommu, IsCountedByType) {
  const RecordedHost host(0);
  for (const char* group : {"0", "1", "2"})
    host.file(std::string("sys/kernel/iommu_groups/") + group + "/type",
              *group == '2' ? "DMA-FQ\n" : "identity\n");
  EXPECT_EQ(iommu_text(HostFiles(host.root())), "DMA-FQ (1 groups), identity (2 groups)");
}

TEST_F(Discover, ReportsThePortsOfANamespace) {
  ASSERT_EQ(ip("link set rail0 address 02:00:00:00:00:07 up"), 0);
  ASSERT_EQ(ip("address add 10.64.0.1/31 dev rail0"), 0);
  DiscoverTarget target;
  target.netns_path = path();
  const auto host = discover_host(target, within(std::chrono::seconds(5)));
  ASSERT_TRUE(host) << host.error().text();
  const auto port = std::find_if(host->ports.begin(), host->ports.end(),
                                 [](const DiscoveredPort& one) { return one.name == "rail0"; });
  ASSERT_NE(port, host->ports.end());
  EXPECT_EQ(port->kind, "veth");
  EXPECT_EQ(port->hardware_address, "02:00:00:00:00:07");
  EXPECT_EQ(port->nic.speed, 10000U);
  EXPECT_EQ(port->addresses, std::vector<std::string>{"10.64.0.1/31"});
  EXPECT_TRUE(port->carrier);
  EXPECT_TRUE(host->gpus.empty());
  EXPECT_TRUE(host->settings.empty());
  EXPECT_TRUE(host->notes.empty());
}

TEST_F(Discover, AnUnreachableLldpdIsANote) {
  DiscoverTarget target;
  target.netns_path = path();
  target.lldpd_socket = "/tmp/lslinux-none";
  const auto host = discover_host(target, within(std::chrono::seconds(5)));
  ASSERT_TRUE(host);
  EXPECT_EQ(host->notes.size(), 1U);
  EXPECT_EQ(host->ports.size(), 2U);
}

TEST(DiscoverThisMachine, WorksWithoutPrivileges) {
  const auto host = discover_host(DiscoverTarget{}, within(std::chrono::seconds(5)));
  ASSERT_TRUE(host) << host.error().text();
  EXPECT_FALSE(host->ports.empty());
}

}  // namespace
}  // namespace lockstep
