// The commands of a switch: their errors, and what they print.
#include "drivers/sonic/patch_switch.hpp"

#include <gtest/gtest.h>

#include "tests/sonic_commands/switch_folder.hpp"
#include "tests/unit/sonic/redis_process.hpp"

namespace lockstep::sonic {
namespace {

using Json = nlohmann::json;
using stand_in::SwitchFolder;

class PatchCommands : public testing::Test {
 protected:
  void SetUp() override {
    folder.write("config.json", R"({"PORT": {"Ethernet0": {"lanes": "0", "mtu": "9100"}}})");
  }
  PatchSwitch at_switch() const {
    return PatchSwitch(SshCommand({.host = "leaf0"}, folder / "bin/ssh"), folder / "checkpoints");
  }
  SwitchFolder folder{LOCKSTEP_SONIC_STAND_IN};
};

TEST_F(PatchCommands, WithoutItsLockNothingIsApplied) {
  std::filesystem::create_directory(folder / "home/.lockstep-apply-patch.lock");
  const Json before = folder.config();
  const PatchSwitch leaf = at_switch();
  const auto failure = leaf.apply_patch("[]", "c", patient());
  ASSERT_TRUE(failure);
  EXPECT_FALSE(failure->begun);
  EXPECT_EQ(failure->error.kind, ErrorKind::refused);
  EXPECT_NE(failure->error.text().find("Is a directory"), std::string::npos) << failure->error.text();
  EXPECT_EQ(folder.config(), before);
}

// Between our reading and SONiC's: as another would be seen by the patch's own tests.
TEST_F(PatchCommands, ARowThatChangedSinceItWasReadStaysAsItIs) {
  const PatchSwitch leaf = at_switch();
  const std::string patch = R"([{"op": "test", "path": "/PORT/Ethernet0", "value": {"mtu": "1"}},
                                {"op": "replace", "path": "/PORT/Ethernet0/mtu", "value": "9216"}])";
  const auto tried = leaf.try_patch(patch, patient());
  ASSERT_FALSE(tried);
  EXPECT_EQ(tried.error().kind, ErrorKind::conflict);
  EXPECT_EQ(said(tried).find("9100"), std::string::npos);  // rows may have passwords
  const auto gone = leaf.try_patch(R"([{"op": "test", "path": "/PORT/Ethernet4", "value": {}}])", patient());
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::conflict);
  const auto failure = leaf.apply_patch(patch, "c", patient());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error.kind, ErrorKind::conflict);
  EXPECT_EQ(folder.config().at("PORT").at("Ethernet0").at("mtu"), "9100");
}

TEST(PatchFailures, AreSonicsWordsWithoutThePatch) {
  EXPECT_EQ(
      patch_failure("Patch Applier: localhost: Patch: [{\"op\": \"add\", \"value\": \"secret\"}]\n"
                    "Failed to apply patch due to: no\nUsage: config apply-patch [OPTIONS]\n\nError: no\n"),
      "no");
  const std::string listed =
      patch_failure("Error: Failed validating patch: [{'op': 'add', 'value': 'secret'}]\n");
  EXPECT_EQ(listed, "Failed validating patch: [...]");
  EXPECT_EQ(patch_failure("Error: Validate json patch: [{'value': 'secret'}] failed due to: no model\n"),
            "Validate json patch: [...] failed due to: no model");
  EXPECT_EQ(patch_failure("Error: Validate json patch: [{'value': 'secret'"), "Validate json patch: [...]");
  EXPECT_EQ(patch_failure("Killed\n"), "Killed");
  EXPECT_EQ(patch_failure(""), "it failed without a word");
  EXPECT_LT(patch_failure(std::string(100'000, 'x')).size(), 500U);
  EXPECT_EQ(patch_failure("Error: \x1b[31mred"), "\\x1b[31mred");
}

TEST(Dumps, HaveRowsOfOneTable) {
  const auto rows = rows_of_dump(R"({"PORT_TABLE:a": {"type": "hash", "value": {"x": "1"}},
    "PORT_TABLE_KEY_SET": {"type": "set", "value": ["a"]}, "PORT_TABLE:b": {"type": "string", "value": "1"},
    "PORT_TABLE:c": {}, "OTHER:a": {"type": "hash", "value": {"x": "2"}}})",
                                 "PORT_TABLE", ':');
  ASSERT_TRUE(rows);
  EXPECT_EQ(*rows, (StateRows{{"a", {{"x", "1"}}}}));
  for (const char* const text : {"", "[]", "{", R"({"T:a": {"value": {"x": 1}}})"})
    EXPECT_FALSE(rows_of_dump(text, "T", ':')) << text;
}

}  // namespace
}  // namespace lockstep::sonic
