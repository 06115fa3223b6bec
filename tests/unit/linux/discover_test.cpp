#include "drivers/linux/discover.hpp"

#include <filesystem>
#include <fstream>

#include "drivers/linux/in_namespace.hpp"
#include "drivers/linux/lldp.hpp"
#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// A host with two H100 and one NIC, as its sysfs looks (addresses and ids of a DGX H100).
class RecordedSysfs : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("lslinux-sysfs-" + std::to_string(::getpid()));
    device("0000:18:00.0", "0x020700", "0x15b3", "0x1021", "0", "mlx5_core");
    fs::create_directories(root_ / "bus/pci/devices/0000:18:00.0/infiniband/mlx5_0");
    fs::create_directories(root_ / "class/infiniband/mlx5_0");
    device("0000:1b:00.0", "0x030200", "0x10de", "0x2330", "0", "nvidia");
    device("0000:9b:00.0", "0x030200", "0x10de", "0x2330", "1", "");
    device("0000:03:00.0", "0x030000", "0x1a03", "0x2000", "-1", "ast");  // the console
  }
  void TearDown() override { fs::remove_all(root_); }

  void device(const std::string& address, const std::string& device_class, const std::string& vendor,
              const std::string& id, const std::string& numa, const std::string& driver) {
    const fs::path at = root_ / "bus/pci/devices" / address;
    fs::create_directories(at);
    std::ofstream(at / "class") << device_class << "\n";
    std::ofstream(at / "vendor") << vendor << "\n";
    std::ofstream(at / "device") << id << "\n";
    std::ofstream(at / "numa_node") << numa << "\n";
    if (!driver.empty()) fs::create_symlink("../../../../bus/pci/drivers/" + driver, at / "driver");
  }
  fs::path root_;
};

TEST_F(RecordedSysfs, GpusAreFoundWithTheirNumaNodeAndTheConsoleIsNone) {
  const auto gpus = sysfs_gpus(root_.string());
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].pci, "0000:1b:00.0");
  EXPECT_EQ(gpus[0].vendor, "nvidia");
  EXPECT_EQ(gpus[0].device_id, "0x2330");
  EXPECT_EQ(gpus[0].kernel_driver, "nvidia");
  EXPECT_EQ(gpus[1].numa_node, 1);
  EXPECT_EQ(gpus[1].kernel_driver, "");
}

TEST_F(RecordedSysfs, APortsPciDeviceTellsDriverNumaAndRdmaDevice) {
  const PciFacts facts = pci_facts(root_.string(), "0000:18:00.0");
  EXPECT_EQ(facts.driver, "mlx5_core");
  EXPECT_EQ(facts.numa_node, 0);
  EXPECT_EQ(facts.rdma_devices, std::vector<std::string>{"mlx5_0"});
  EXPECT_EQ(sysfs_rdma_devices(root_.string()), std::vector<std::string>{"mlx5_0"});
}

TEST_F(RecordedSysfs, WhatIsNotThereIsEmptyAndNothingOutsideIsRead) {
  EXPECT_EQ(pci_facts(root_.string(), "0000:ff:00.0").driver, "");
  EXPECT_EQ(pci_facts(root_.string(), "../../../bus/pci/devices/0000:18:00.0").driver, "");
  EXPECT_EQ(pci_facts(root_.string(), "0000:03:00.0").numa_node, std::nullopt);
  EXPECT_TRUE(sysfs_gpus("/no/such/place").empty());
}

using Discover = Lab;

TEST_F(Discover, ANamespacesPortsAreTold) {
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
  EXPECT_EQ(port->speed, 10000U);
  EXPECT_EQ(port->addresses, std::vector<std::string>{"10.64.0.1/31"});
  EXPECT_TRUE(port->carrier);
  EXPECT_TRUE(host->gpus.empty());
  EXPECT_TRUE(host->notes.empty());
}

TEST_F(Discover, ALdpdThatCantBeAskedIsANote) {
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
