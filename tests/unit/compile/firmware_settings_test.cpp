// Diagnostics about settings of NIC firmware that need no device, as `validate` reports them.
#include "specs/platforms/firmware_settings.hpp"

#include <gtest/gtest.h>

#include "specs/compile/compile.hpp"
#include "specs/language/codes.hpp"
#include "specs/language/load.hpp"
#include "specs/platforms/devlink_settings.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kObject = "---\napiVersion: lockstep.dev/v1alpha1\nkind: ";

std::string hosts(std::string_view platform) {
  return std::string(kObject) +
         "DeviceSet\nmetadata: {name: hosts}\nspec: {names: 'gpu[1-4]', role: host, drivers: [linux], "
         "interfaces: "
         "[{name: 'rail[0-1]'" +
         (platform.empty() ? "" : ", platform: " + std::string(platform)) + "}]}\n";
}

Compiled with_settings(std::string_view settings, std::string_view platform = "connectx-7") {
  const Loaded loaded =
      load_text("x.yaml", hosts(platform) + std::string(kObject) +
                              "HostProfile\nmetadata: {name: p}\nspec: {selector: {}, nic: {settings: {" +
                              std::string(settings) + "}}}\n");
  for (const Diagnostic& one : loaded.diagnostics) ADD_FAILURE() << one.message;
  return compile(loaded.catalog);
}

std::string text_of(const Diagnostics& all) {
  std::string out;
  for (const Diagnostic& one : all) out += one.code + " " + one.message + " | " + one.hint + "\n";
  return out;
}

TEST(FirmwareSettings, SettingsOfDevlinkAreNotReported) {
  const Compiled all = with_settings("SRIOV_EN: true, NUM_OF_VFS: 8, CQE_COMPRESSION: AGGRESSIVE");
  EXPECT_EQ(text_of(all.diagnostics) + text_of(all.by_hand), "");
}

TEST(FirmwareSettings, UnsupportedSettingIsReportedOncePerPlatform) {
  const Compiled all = with_settings("ROCE_ADAPTIVE_ROUTING_EN: true");
  EXPECT_EQ(text_of(all.diagnostics), "");
  EXPECT_EQ(text_of(all.by_hand),
            "LS1024 setting ROCE_ADAPTIVE_ROUTING_EN of NIC platform connectx-7 can't be set by Lockstep | "
            "set it with "
            "mlxconfig -d PCI set ROCE_ADAPTIVE_ROUTING_EN=1, then reset the firmware or reboot\n");
  EXPECT_EQ(all.by_hand[0].severity, Severity::warning);
  EXPECT_GT(all.by_hand[0].at.line, 0U);
}

TEST(FirmwareSettings, MissingPrerequisiteIsReported) {
  EXPECT_NE(text_of(with_settings("PCI_WR_ORDERING: force_relax").by_hand)
                .find("PCI_WR_ORDERING is there only with ADVANCED_PCI_SETTINGS"),
            std::string::npos);
  EXPECT_EQ(text_of(with_settings("PCI_WR_ORDERING: force_relax, ADVANCED_PCI_SETTINGS: true").by_hand)
                .find("only with"),
            std::string::npos);
}

TEST(FirmwareSettings, UnknownNameGetsASuggestion) {
  EXPECT_NE(text_of(with_settings("ATS_ENABLE: true").by_hand).find("did you mean ATS_ENABLED?"),
            std::string::npos);
  EXPECT_NE(text_of(with_settings("SRIOV_EN: true", "thor2").by_hand).find("niccli, NVM option SRIOV_EN=1"),
            std::string::npos)
      << "another vendor's";
  EXPECT_NE(text_of(with_settings("support_rdma: true", "thor2").by_hand).find("can't be set by Lockstep"),
            std::string::npos);
  EXPECT_NE(text_of(with_settings("X: 1", "e810").by_hand).find("set it with the vendor's tool"),
            std::string::npos);
  EXPECT_NE(text_of(with_settings("X: 1", "").by_hand).find("of a NIC of no platform"), std::string::npos);
}

TEST(FirmwareSettings, InvalidValueIsAnError) {
  const std::pair<std::string_view, std::string_view> wrong[] = {
      {"SRIOV_EN: 1", "takes true, false, not '1'"},
      {"SRIOV_EN: 'True(1)'", "takes true, false, not 'True(1)'"},
      {"NUM_OF_VFS: 65536", "takes a number of 0 to 65535, not '65536'"},
      {"NUM_OF_VFS: -1", "takes a number of 0 to 65535, not '-1'"},
      {"CNP_DSCP_P2: 64", "takes a number of 0 to 63, not '64'"},
      {"PCI_WR_ORDERING: relaxed", "takes per_mkey, force_relax, not 'relaxed'"}};
  for (const auto& [settings, message] : wrong) {
    const Compiled all = with_settings(settings);
    ASSERT_EQ(all.diagnostics.size(), 1U) << settings;
    EXPECT_EQ(all.diagnostics[0].severity, Severity::error);
    EXPECT_EQ(all.diagnostics[0].code, code::out_of_range);
    EXPECT_NE(all.diagnostics[0].message.find(message), std::string::npos) << all.diagnostics[0].message;
    EXPECT_EQ(text_of(all.by_hand), "");
  }
}

TEST(FirmwareSettings, TableKnowsPortSuffixesAndDevlinkValues) {
  EXPECT_NE(find_firmware_setting("connectx-8", "CNP_DSCP_P1"), nullptr);
  EXPECT_EQ(find_firmware_setting("connectx-8", "CNP_DSCP"), nullptr) << "it has no value for both ports";
  EXPECT_EQ(find_firmware_setting("connectx-8", "CNP_DSCP_P3"), nullptr);
  EXPECT_EQ(find_firmware_setting("linux", "SRIOV_EN"), nullptr);
  for (const DevlinkSetting& one : kDevlinkSettings)
    EXPECT_NE(find_firmware_setting("bluefield-3", one.name), nullptr) << one.name;
  const DevlinkSetting& compression = *find_devlink_setting("CQE_COMPRESSION");
  EXPECT_EQ(to_devlink(compression, "AGGRESSIVE"), "aggressive");
  EXPECT_EQ(from_devlink(compression, "balanced"), "BALANCED");
  const DevlinkSetting& functions = *find_devlink_setting("SRIOV_EN");
  EXPECT_EQ(from_devlink(functions, "true"), "true");
  EXPECT_EQ(to_devlink(functions, "false"), "false");
}

}  // namespace
}  // namespace lockstep
