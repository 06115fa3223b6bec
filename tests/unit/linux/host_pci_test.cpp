#include "drivers/linux/host/pci.hpp"
#include "drivers/linux/host/pci_config.hpp"
#include "tests/unit/linux/host_lab.hpp"

namespace lockstep {
namespace {

class Pci : public HostLab {
 protected:
  PciFunction function(const std::string& address) {
    const auto found = read_pci_function(files, address);
    EXPECT_TRUE(found) << address;
    return found.value_or(PciFunction{});
  }
  Result<PciConfig> config(const std::string& address) { return PciConfig::open(files, address, true); }
  void set_config(const std::string& address, const std::string& bytes) {
    host.file(RecordedHost::sysfs(address) + "/config", bytes);
  }

  HostFiles files{host.root()};
};

TEST_F(Pci, ReadsIdentityAndPositionOfAFunction) {
  const PciFunction nic = function(RecordedHost::nic(1));
  EXPECT_EQ(nic.address, "0000:23:00.0");
  EXPECT_EQ(nic.vendor, 0x15b3U);
  EXPECT_EQ(nic.device, 0x1021U);
  EXPECT_EQ(nic.driver, "mlx5_core");
  EXPECT_EQ(nic.numa_node, 1);
  EXPECT_EQ(nic.host_bridge, "pci0000:20");
  EXPECT_EQ(nic.upstream, (std::vector<std::string>{"0000:20:01.0", "0000:21:00.0", "0000:22:00.0"}));
  EXPECT_EQ(nic.rdma_devices, std::vector<std::string>{"mlx5_1"});
  EXPECT_EQ(nic.link.text(), "32.0 GT/s x16");
  EXPECT_TRUE(is_nic(nic));
  EXPECT_FALSE(is_gpu(nic));
}

TEST_F(Pci, ReportsCurrentAndMaximumOfADegradedLink) {
  const std::string at = RecordedHost::sysfs(RecordedHost::nic(0));
  host.file(at + "/current_link_width", "8\n");
  host.file(at + "/current_link_speed", "16.0 GT/s PCIe\n");
  const PcieLink link = function(RecordedHost::nic(0)).link;
  EXPECT_TRUE(link.narrow());
  EXPECT_TRUE(link.slow());
  EXPECT_EQ(link.text(), "16.0 of 32.0 GT/s x8 of x16");
  EXPECT_EQ(function("0000:00:02.0").link.text(), "");
}

TEST_F(Pci, FindsGpusAndFabricNicsButNoConsoleManagementOrVirtualFunctions) {
  host.file(RecordedHost::sysfs(RecordedHost::nic(1)) + "/physfn", "");
  const auto all = read_pci(files);
  EXPECT_EQ(std::count_if(all.begin(), all.end(), is_gpu), 2);
  EXPECT_EQ(fabric_nics(all).size(), 1U);
  for (unsigned i = 0; i < 2; ++i) host.remove(RecordedHost::sysfs(RecordedHost::nic(i)) + "/infiniband");
  EXPECT_EQ(fabric_nics(read_pci(files)).size(), 2U) << "without RDMA: all physical NICs";
}

TEST_F(Pci, RefusesAddressesThatAreNotOneEntry) {
  EXPECT_FALSE(read_pci_function(files, "../../../bus/pci/devices/0000:13:00.0"));
  EXPECT_FALSE(read_pci_function(files, ".."));
  EXPECT_FALSE(read_pci_function(files, ""));
  EXPECT_FALSE(read_pci_function(files, "0000:ff:00.0"));
}

PciFunction placed(std::string bridge, std::vector<std::string> upstream, std::optional<int> numa) {
  PciFunction out;
  out.host_bridge = std::move(bridge);
  out.upstream = std::move(upstream);
  out.numa_node = numa;
  return out;
}

TEST(PciDistances, UseTheNamesOfNvidiaSmi) {
  const PciFunction gpu = placed("pci0000:10", {"10:01.0", "11:00.0", "12:00.0"}, 0);
  const std::pair<PciFunction, std::string_view> cases[] = {
      {placed("pci0000:10", {"10:01.0", "11:00.0", "12:01.0"}, 0), "PIX"},
      {placed("pci0000:10", {"10:01.0", "11:00.0", "12:01.0", "15:00.0", "16:00.0"}, 0), "PXB"},
      {placed("pci0000:10", {"10:01.0", "1a:00.0", "1b:00.0"}, 0), "PXB"},
      {placed("pci0000:10", {"10:02.0"}, 0), "PHB"},
      {placed("pci0000:20", {"20:01.0"}, 0), "NODE"},
      {placed("pci0000:80", {"80:01.0"}, 1), "SYS"},
      {placed("pci0000:80", {"80:01.0"}, std::nullopt), "SYS"}};
  for (const auto& [nic, word] : cases) {
    EXPECT_EQ(to_string(distance_between(gpu, nic)), word);
    EXPECT_EQ(to_string(distance_between(nic, gpu)), word);
  }
}

TEST_F(Pci, ReadsMaxReadRequestAndAccessControl) {
  auto nic = config(RecordedHost::nic(0));
  ASSERT_TRUE(nic) << nic.error().text();
  EXPECT_EQ(*nic->max_read_request(), 512U);
  EXPECT_EQ(*nic->access_control(), std::nullopt);
  auto port = config(RecordedHost::port_above_nic(0));
  ASSERT_TRUE(port);
  EXPECT_EQ(*port->access_control(), 0x1dU);
}

TEST_F(Pci, WritesTheRequestedBitsOnly) {
  const std::string nic = RecordedHost::nic(0);
  const std::string port = RecordedHost::port_above_nic(0);
  std::string expected_nic = host.text(RecordedHost::sysfs(nic) + "/config");
  std::string expected_port = host.text(RecordedHost::sysfs(port) + "/config");
  ASSERT_TRUE(config(nic)->set_max_read_request(4096));
  expected_nic[0x69] = 0x58;  // bits 14:12 are 5, the rest as it was
  EXPECT_EQ(host.text(RecordedHost::sysfs(nic) + "/config"), expected_nic);
  ASSERT_TRUE(config(port)->set_access_control(false));
  expected_port[0x156] = 0;
  EXPECT_EQ(host.text(RecordedHost::sysfs(port) + "/config"), expected_port);
  ASSERT_TRUE(config(port)->set_access_control(true));
  EXPECT_EQ(*config(port)->access_control(), 0x1dU);
  const auto odd = config(nic)->set_max_read_request(1000);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().kind, ErrorKind::invalid_spec);
  EXPECT_FALSE(config(nic)->set_access_control(false)) << "a NIC without the capability";
}

TEST_F(Pci, RefusesInconsistentConfigurationSpace) {
  const std::string nic = RecordedHost::nic(0);
  set_config(nic, std::string(4096, '\xFF'));
  EXPECT_NE(config(nic)->max_read_request().error().text().find("all ones"), std::string::npos);
  std::string loop = recorded_config(true);
  loop[0x41] = 0x40;  // the first capability is its own successor
  set_config(nic, loop);
  EXPECT_NE(config(nic)->max_read_request().error().text().find("no end"), std::string::npos);
  std::string extended = recorded_config(true);
  extended[0x102] = 0x02;
  extended[0x103] = 0x10;  // the same among the extended ones
  set_config(nic, extended);
  EXPECT_NE(config(nic)->access_control().error().text().find("no end"), std::string::npos);
  std::string reserved = recorded_config(true);
  reserved[0x69] = 0x70;
  set_config(nic, reserved);
  EXPECT_FALSE(config(nic)->max_read_request());
  set_config(nic, recorded_config(true).substr(0, 64));
  const auto cut = config(nic)->max_read_request();
  ASSERT_FALSE(cut) << "as the kernel shows it to a process without CAP_SYS_ADMIN";
  EXPECT_EQ(cut.error().kind, ErrorKind::denied);
}

TEST_F(Pci, SurvivesTruncationAndFlippedBytes) {
  const std::string whole = recorded_config(true);
  const std::string nic = RecordedHost::nic(0);
  const auto ask = [&](const std::string& bytes) {
    set_config(nic, bytes);
    const auto opened = config(nic);
    ASSERT_TRUE(opened);
    const auto request = opened->max_read_request();
    if (request && *request) {
      EXPECT_TRUE(**request >= 128 && **request <= 4096);
    }
    (void)opened->access_control();
  };
  for (std::size_t size = 0; size <= 0x160; ++size) ask(whole.substr(0, size));
  for (std::size_t at = 0; at < 0x160; ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(~flipped[at]);
    ask(flipped);
  }
}

TEST_F(Pci, MaxReadRequestIsOneEntryAndATextWhereNicsDiffer) {
  EXPECT_EQ(value("pcie/max-read-request"), "512");
  EXPECT_EQ(apply("pcie/max-read-request", Value::integer(4096)), "");
  EXPECT_EQ(value("pcie/max-read-request"), "4096");
  EXPECT_EQ(*config("0000:02:00.0")->max_read_request(), 512U) << "not of the fabric: left alone";
  ASSERT_TRUE(config(RecordedHost::nic(1))->set_max_read_request(256));
  EXPECT_EQ(value("pcie/max-read-request"), "256 (1 of 2), 4096 (1 of 2)");
  EXPECT_EQ(apply("pcie/max-read-request", Value{}),
            "invalid spec: pcie/max-read-request takes a number, and can't be unset");
}

TEST_F(Pci, RestoresDifferingValuesIndividually) {
  std::string other = recorded_config(false);
  other[0x69] = 0x58;  // DEVCTL: MaxReadRequest code 5
  host.file(RecordedHost::sysfs(RecordedHost::nic(1)) + "/config", other);
  std::string bridge = recorded_config(true);
  bridge[0x156] = 0x01;  // PCI_ACS_CTRL: SV alone
  const std::string port = RecordedHost::sysfs(RecordedHost::port_above_nic(0)) + "/config";
  host.file(port, bridge);
  ASSERT_TRUE(config(RecordedHost::port_above_nic(1))->set_access_control(false));
  const std::string requests = value("pcie/max-read-request");
  EXPECT_EQ(requests, "4096 (1 of 2), 512 (1 of 2)");
  EXPECT_EQ(apply("pcie/max-read-request", Value::integer(1024)), "");
  EXPECT_EQ(apply("pcie/max-read-request", Value::text(requests)), "");
  EXPECT_EQ(value("pcie/max-read-request"), requests);
  EXPECT_EQ(host.text(RecordedHost::sysfs(RecordedHost::nic(1)) + "/config"), other);
  const std::string acs = value("pcie/acs");
  EXPECT_EQ(acs, "false (1 of 6), true (5 of 6)");
  EXPECT_EQ(apply("pcie/acs", Value::boolean(false)), "");
  EXPECT_EQ(apply("pcie/acs", Value::text(acs)), "");
  EXPECT_EQ(value("pcie/acs"), acs);
  EXPECT_EQ(host.text(port), bridge) << "with the bits that it had";
}

TEST_F(Pci, AccessControlCoversTheBridgesAboveNicsAndGpus) {
  EXPECT_EQ(value("pcie/acs"), "true");
  EXPECT_EQ(apply("pcie/acs", Value::boolean(false)), "");
  EXPECT_EQ(value("pcie/acs"), "false");
  EXPECT_EQ(*config("0000:00:01.0")->access_control(), 0x1dU) << "above the management port: left alone";
  ASSERT_TRUE(config(RecordedHost::port_above_nic(1))->set_access_control(true));
  EXPECT_EQ(value("pcie/acs"), "false (5 of 6), true (1 of 6)");
}

TEST_F(Pci, AMachineWithoutNicsIsIncapable) {
  host.remove("sys/bus/pci");
  EXPECT_NE(lacks("pcie/max-read-request"), "");
  EXPECT_NE(lacks("pcie/acs"), "");
  EXPECT_EQ(value("pcie/acs"), "false") << "nothing redirects";
  EXPECT_NE(lacks("cpu/irq-affinity"), "");
  EXPECT_EQ(apply("pcie/acs", Value::boolean(true)).substr(0, 11), "unsupported");
}

TEST_F(Pci, AnUnreadableConfigurationIsUnreadWithTheReason) {
  set_config(RecordedHost::nic(1), recorded_config(false).substr(0, 64));
  EXPECT_NE(not_read("pcie/max-read-request").find("CAP_SYS_ADMIN"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
