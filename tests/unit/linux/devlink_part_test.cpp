// Conversion of devlink messages to entries, and virtual functions on a recorded machine.
#include <gtest/gtest.h>
#include <linux/devlink.h>

#include "drivers/linux/devlink/map.hpp"
#include "drivers/linux/devlink/part.hpp"
#include "drivers/linux/devlink/stored_settings.hpp"
#include "drivers/linux/devlink/virtual_functions.hpp"
#include "tests/unit/linux/host_tree.hpp"

namespace lockstep {
namespace {

using devlink_map::Devices;

const devlink::Handle kNic{"pci", "0000:3b:00.0"};
const devlink::Handle kOther{"pci", "0000:5e:00.0"};

Link link_of(std::uint32_t index) {
  Link out;
  out.index = index;
  out.name = "rail0";
  return out;
}

devlink::Port port_of(const devlink::Handle& device, std::uint32_t index, std::uint32_t netdev,
                      std::uint16_t flavour) {
  devlink::Port out;
  out.device = device;
  out.index = index;
  out.netdev = netdev;
  out.flavour = flavour;
  return out;
}

// Port 0 is rail0; ports 1 and 2 represent virtual functions 0 and 1, the second in another namespace.
Devices machine() {
  Devices out;
  out.ports = {
      port_of(kNic, 0, 7, DEVLINK_PORT_FLAVOUR_PHYSICAL), port_of(kNic, 1, 8, DEVLINK_PORT_FLAVOUR_PCI_VF),
      port_of(kNic, 2, 0, DEVLINK_PORT_FLAVOUR_PCI_VF), port_of(kOther, 0, 9, DEVLINK_PORT_FLAVOUR_PHYSICAL)};
  out.ports[1].virtual_function = 0;
  out.ports[2].virtual_function = 1;
  return out;
}

std::map<std::string, std::string> entries(RowId row, const Devices& devices) {
  std::map<std::string, std::string> out;
  for (const Entry& one : devlink_map::entries(row, "rail0", devices, devices.ports[0]))
    out.emplace(one.path.text(), one.value.to_string());
  return out;
}

TEST(DevlinkMap, FindsTheDeviceOfAPortByNetdevAndNoneForAFunctionsPort) {
  const Devices all = machine();
  ASSERT_NE(devlink_map::port_of(all, link_of(7)), nullptr);
  EXPECT_EQ(devlink_map::port_of(all, link_of(7))->device, kNic);
  EXPECT_EQ(devlink_map::port_of(all, link_of(8)), nullptr);
  EXPECT_EQ(devlink_map::why_no_device(all, link_of(8)),
            "it is a port of pci/0000:3b:00.0 that stands for another (pcivf)");
  EXPECT_EQ(devlink_map::port_of(all, link_of(0)), nullptr)
      << "no link has number 0: that port has no netdev";
  EXPECT_EQ(devlink_map::why_no_device(all, link_of(0)), "no devlink device here has this port");
}

TEST(DevlinkMap, ReportsTheParameterValueThatTakesEffectSoonest) {
  Devices all = machine();
  all.parameters = {{kNic, "max_macs", devlink::kU32, {{DEVLINK_PARAM_CMODE_PERMANENT, "32"}}},
                    {kNic,
                     "enable_roce",
                     devlink::kFlag,
                     {{DEVLINK_PARAM_CMODE_RUNTIME, "true"}, {DEVLINK_PARAM_CMODE_DRIVERINIT, "false"}}},
                    {kNic, "odd", 11, {}},
                    {kOther, "elsewhere", devlink::kFlag, {{DEVLINK_PARAM_CMODE_RUNTIME, "true"}}}};
  EXPECT_EQ(entries(devlink_map::kParameter, all),
            (std::map<std::string, std::string>{{"interface[rail0]/parameter[enable_roce]", "true"},
                                                {"interface[rail0]/parameter[max_macs]", "32"}}));
  EXPECT_EQ(devlink_map::why_no_parameter(all, kNic, "max_macs"), "");
  EXPECT_EQ(devlink_map::why_no_parameter(all, kNic, "enable_rcoe"),
            "pci/0000:3b:00.0 has no parameter 'enable_rcoe'; did you mean enable_roce? (it has: max_macs, "
            "enable_roce, odd)");
  EXPECT_NE(devlink_map::why_no_parameter(all, kNic, "odd"), "");
  const Change change{Path(devlink_map::kParameter, {"rail0", "max_macs"}), Value::text("32"),
                      Value::text("64"), 0};
  EXPECT_EQ(devlink_map::native(change, &kNic, &all.parameters[0]),
            "devlink dev param set pci/0000:3b:00.0 name max_macs value 64 cmode permanent  # holds from the "
            "next boot on");
}

TEST(DevlinkMap, HealthCoversTheDeviceAndThePort) {
  Devices all = machine();
  all.reporters = {{kNic, {}, "fw_fatal", true}, {kNic, 0, "tx", true}, {kOther, {}, "fw", false}};
  EXPECT_EQ(entries(devlink_map::kHealth, all).at("interface[rail0]/health"), "healthy");
  all.reporters[0].healthy = false;
  all.reporters.push_back({kNic, {}, "fw", false});
  EXPECT_EQ(entries(devlink_map::kHealth, all).at("interface[rail0]/health"), "fw fw_fatal");
  all.reporters = {{kNic, 1, "tx", false}};
  EXPECT_TRUE(entries(devlink_map::kHealth, all).empty()) << "another port's";
  EXPECT_EQ(devlink_map::lacking(devlink_map::kHealth, all, all.ports[0]),
            "pci/0000:3b:00.0 has no health reporters");
}

TEST(DevlinkMap, AFirmwareSettingIsThePermanentValueOfItsParameter) {
  Devices all = machine();
  all.parameters = {
      {kNic, "enable_sriov", devlink::kFlag, {{DEVLINK_PARAM_CMODE_PERMANENT, "true"}}},
      {kNic, "cqe_compress_type", devlink::kString, {{DEVLINK_PARAM_CMODE_PERMANENT, "balanced"}}},
      {kNic, "total_vfs", devlink::kU32, {{DEVLINK_PARAM_CMODE_DRIVERINIT, "8"}}},
      {kOther, "total_vfs", devlink::kU32, {{DEVLINK_PARAM_CMODE_PERMANENT, "16"}}}};
  EXPECT_EQ(entries(devlink_map::kSetting, all),
            (std::map<std::string, std::string>{{"interface[rail0]/setting[CQE_COMPRESSION]", "BALANCED"},
                                                {"interface[rail0]/setting[SRIOV_EN]", "true"}}));
  EXPECT_EQ(devlink_map::why_no_setting(all, kNic, "SRIOV_EN"), "");
  EXPECT_EQ(devlink_map::why_no_setting(all, kNic, "NUM_OF_VFS"),
            "pci/0000:3b:00.0 has no parameter total_vfs for NUM_OF_VFS (mlx5 has it from Linux 6.18 on)")
      << "not the one that is stored";
  EXPECT_EQ(devlink_map::why_no_setting(all, kNic, "ATS_ENABLED"),
            "the kernel has no parameter for ATS_ENABLED");
  const Change change{Path(devlink_map::kSetting, {"rail0", "CQE_COMPRESSION"}), Value::text("BALANCED"),
                      Value::text("AGGRESSIVE"), 0};
  EXPECT_EQ(
      devlink_map::native(change, &kNic, nullptr),
      "devlink dev param set pci/0000:3b:00.0 name cqe_compress_type value aggressive cmode permanent  # "
      "CQE_COMPRESSION, in force from the next reset or boot on");
}

TEST(DevlinkMap, AFunctionsRateIsInBitsAndAbsentWithoutALimit) {
  Devices all = machine();
  all.rates = {{kNic, 1, "", "", 0, 125'000'000}, {kNic, 2, "", "", 0, 0}, {kNic, {}, "group", "", 0, 1}};
  EXPECT_EQ(
      entries(devlink_map::kMaxRate, all),
      (std::map<std::string, std::string>{{"interface[rail0]/virtual-function[0]/max-rate", "1000000000"}}));
  all.rates[0].max = ~std::uint64_t{0};
  EXPECT_EQ(entries(devlink_map::kMaxRate, all).at("interface[rail0]/virtual-function[0]/max-rate"),
            "18446744073709551615")
      << "more than 64 bits of bit/s: the most that they hold";
}

TEST(DevlinkMap, AnUnreadableRowHasOneReasonAndTheOthersAreRead) {
  std::vector<RowId> asked;
  std::vector<Incapable> lacks;
  const auto unread = devlink_map::unreadable(
      [&](RowId row) -> Result<Done> {
        asked.push_back(row);
        if (row == devlink_map::kHealth) return Error{ErrorKind::transient, "netlink: cut short"};
        if (row == devlink_map::kMaxRate)
          return Error{ErrorKind::unsupported, "netlink dump: Operation not supported"};
        return Done{};
      },
      lacks);
  EXPECT_EQ(asked.size(), devlink_map::devlink_rows().size());
  EXPECT_EQ(unread, (std::set<RowId>{devlink_map::kHealth, devlink_map::kMaxRate}));
  ASSERT_EQ(lacks.size(), 1U) << "what may pass is no lack";
  EXPECT_EQ(lacks[0].row, devlink_map::kMaxRate);
  EXPECT_TRUE(lacks[0].keys.empty());
  EXPECT_EQ(lacks[0].reason, "netlink dump: Operation not supported");
}

class RecordedFunctions : public ::testing::Test {
 protected:
  static constexpr const char* kFolder = "sys/bus/pci/devices/0000:3b:00.0";
  void SetUp() override {
    host_.file(std::string(kFolder) + "/sriov_numvfs", "2\n");
    host_.file(std::string(kFolder) + "/sriov_totalvfs", "8\n");
    LinuxTarget target;
    target.root = host_.root();
    part_ = make_devlink_part(target);
    Link link = link_of(1'000'000);  // an index that this machine does not use
    link.parent_bus = "pci";
    link.parent_device = "0000:3b:00.0";
    links_ = {link};
  }
  std::string set(Value want) {
    const Change change{Path(devlink_map::kVirtualFunctions, {"rail0"}), Value::integer(2), want, 0};
    const auto answers = part_->apply({change}, links_, Call{});
    EXPECT_EQ(answers.size(), 1U);
    return answers.at(0) ? std::string(to_string(answers[0]->kind)) + ": " + answers[0]->text() : "";
  }
  std::string file() { return host_.text(std::string(kFolder) + "/sriov_numvfs").substr(0, 1); }

  RecordedHost host_{1};
  std::unique_ptr<LinuxPart> part_;
  std::vector<Link> links_;
};

TEST_F(RecordedFunctions, CountsSetsAndBoundsThem) {
  TreeBuilder tree;
  std::vector<Unread> unread;
  part_->read(Scope{{devlink_map::kVirtualFunctions}}, links_, tree, unread, Call{});
  EXPECT_TRUE(unread.empty());
  EXPECT_EQ(tree.build().value(Path(devlink_map::kVirtualFunctions, {"rail0"})), Value::integer(2));
  EXPECT_EQ(set(Value::integer(4)), "");
  EXPECT_EQ(file(), "4");
  EXPECT_NE(set(Value::integer(9)).find("9 virtual functions, of at most 8"), std::string::npos);
  EXPECT_EQ(set(Value{}).substr(0, 12), "invalid spec");
  EXPECT_EQ(file(), "4");
}

TEST_F(RecordedFunctions, AnInvalidCountIsUnreadAndAPortWithoutFunctionsIsIncapable) {
  host_.file(std::string(kFolder) + "/sriov_numvfs", "many\n");
  TreeBuilder tree;
  std::vector<Unread> unread;
  part_->read(Scope{{devlink_map::kVirtualFunctions}}, links_, tree, unread, Call{});
  ASSERT_EQ(unread.size(), 1U);
  EXPECT_NE(unread[0].why.text().find("holds no number: 'many'"), std::string::npos);
  links_[0].parent_device.clear();
  const auto lacks = part_->incapable({}, links_, Call{});
  EXPECT_TRUE(std::ranges::any_of(lacks, [](const Incapable& one) {
    return one.row == devlink_map::kVirtualFunctions &&
           one.reason == "its device has no virtual functions (SR-IOV)";
  }));
  EXPECT_EQ(set(Value::integer(4)).substr(0, 11), "unsupported");
}

TEST_F(RecordedFunctions, ChangesACountByWayOfZero) {
  const Change change{Path(devlink_map::kVirtualFunctions, {"rail0"}), Value::integer(2), Value::integer(4),
                      0};
  EXPECT_EQ(part_->native(change),
            "echo 0 > /sys/class/net/rail0/device/sriov_numvfs; echo 4 > "
            "/sys/class/net/rail0/device/sriov_numvfs");
}

// Output in the format of mstconfig 4.21 and 4.35 (mlxcfg_ui.cpp: a mark for values that wait for a reset,
// "RO", the name, the stored value); the values are made up.
constexpr const char* kPrinted = R"(
Device #1:
----------

Device type:        ConnectX7           
Name:               MCX75310AAS-NEA_Ax  
Description:        NVIDIA ConnectX-7 HHHL Adapter card; 400GbE
Device:             0000:3b:00.0        

Configurations:                                     Next Boot       
        MEMIC_BAR_SIZE                              0               
        ADVANCED_PCI_SETTINGS                       True(1)         
*       ATS_ENABLED                                 False(0)        
 RO     PCI_WR_ORDERING                             per_mkey(0)     
*RO     NUM_OF_VFS                                  16              
        HOST_CHAINING_DESCRIPTORS                   Array[0..7]     
        LINK_TYPE_P2                                N/A             
The '*' shows parameters with next value different from default/current value.
)";

TEST(StoredSettings, ConvertsTheToolsTableToValuesOfSpecs) {
  const auto found = devlink::parse_stored_settings(kPrinted);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(*found, (devlink::StoredSettings{{"ADVANCED_PCI_SETTINGS", "true"},
                                             {"ATS_ENABLED", "false"},
                                             {"HOST_CHAINING_DESCRIPTORS", "Array[0..7]"},
                                             {"MEMIC_BAR_SIZE", "0"},
                                             {"NUM_OF_VFS", "16"},
                                             {"PCI_WR_ORDERING", "per_mkey"}}));
  EXPECT_FALSE(devlink::parse_stored_settings("-E- Failed to open the device\n"));
}

// A stand-in for mstconfig, as there is no NVIDIA NIC here: it prints the output that a test sets.
class FakeMstconfig : public RecordedFunctions {
 protected:
  void SetUp() override {
    RecordedFunctions::SetUp();
    host_.file(std::string(kFolder) + "/vendor", "0x15b3\n");
  }
  void install(const std::string& script) {
    host_.file("usr/bin/mstconfig", "#!/bin/sh\n" + script);
    std::filesystem::permissions(host_.root() / "usr/bin/mstconfig", std::filesystem::perms::owner_all);
  }
  std::string prints(const std::string& text) {
    host_.file("printed", text);
    return "echo \"$@\" > " + (host_.root() / "asked").string() + "; cat " +
           (host_.root() / "printed").string();
  }
  Path setting(const std::string& name) { return Path(devlink_map::kSetting, {"rail0", name}); }
  // The value of a setting, or why it cannot be read.
  std::string read(const std::string& name) {
    TreeBuilder tree;
    std::vector<Unread> unread;
    part_->read(Scope{{devlink_map::kSetting}, {setting(name)}}, links_, tree, unread, Call{});
    for (const Unread& one : unread) return "unread: " + one.why.text();
    const Value value = tree.build().value(setting(name));
    return value ? value.to_string() : "nothing";
  }
  std::optional<Incapable> lack(const std::string& name) {
    for (const Incapable& one : part_->incapable(Scope{{}, {setting(name)}}, links_, Call{}))
      if (one.row == devlink_map::kSetting && one.keys == std::vector<std::string>{"rail0", name}) return one;
    return std::nullopt;
  }
};

TEST_F(FakeMstconfig, SettingsWithoutDevlinkAreReadAndRequireManualAction) {
  install(prints(kPrinted));
  EXPECT_EQ(read("ATS_ENABLED"), "false");
  EXPECT_EQ(host_.text("asked"), "-d 0000:3b:00.0 query\n") << "nothing of the spec is among its words";
  EXPECT_EQ(read("PCI_WR_ORDERING"), "per_mkey");
  const auto by_hand = lack("ATS_ENABLED");
  ASSERT_TRUE(by_hand);
  EXPECT_TRUE(by_hand->by_hand);
  EXPECT_NE(by_hand->reason.find("set manually"), std::string::npos);

  EXPECT_EQ(read("ROCE_ADAPTIVE_ROUTING_EN"), "nothing");
  const auto absent = lack("ROCE_ADAPTIVE_ROUTING_EN");
  ASSERT_TRUE(absent);
  EXPECT_FALSE(absent->by_hand);
  EXPECT_NE(absent->reason.find("its firmware has no such setting"), std::string::npos);
}

TEST_F(FakeMstconfig, IsNotRunWhenNoSettingIsNamed) {
  install(prints(kPrinted));
  TreeBuilder tree;
  std::vector<Unread> unread;
  part_->read(Scope{{devlink_map::kSetting}}, links_, tree, unread, Call{});
  EXPECT_FALSE(std::filesystem::exists(host_.root() / "asked"));
}

TEST_F(FakeMstconfig, AFailureLeavesTheSettingUnread) {
  install("echo '-E- Failed to open the device'; exit 3");
  EXPECT_EQ(read("ATS_ENABLED"), "unread: mstconfig -d 0000:3b:00.0 query: -E- Failed to open the device");
  install(prints(kPrinted) + "; echo '-E- Failed to query some of the TLVs' >&2; exit 3");
  EXPECT_EQ(read("ATS_ENABLED"), "false") << "it fails for the sake of a single setting";
}

TEST_F(FakeMstconfig, ReportsAMissingToolAndAMissingNvidiaNic) {
  EXPECT_EQ(read("ATS_ENABLED"), "nothing");
  EXPECT_NE(lack("ATS_ENABLED")->reason.find("mstconfig, which would read it, is not installed"),
            std::string::npos);
  EXPECT_FALSE(lack("ATS_ENABLED")->by_hand);
  install(prints(kPrinted));
  host_.file(std::string(kFolder) + "/vendor", "0x14e4\n");
  EXPECT_EQ(read("ATS_ENABLED"), "nothing");
  EXPECT_NE(lack("ATS_ENABLED")->reason.find("no NIC of NVIDIA's"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
