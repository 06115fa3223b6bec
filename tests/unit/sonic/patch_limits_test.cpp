// What is refused before anything is sent, and what the stand-in refuses, against what SONiC's own code said
// of the same changes as each ASIC of its list (patch_limits.json, recorded by record_patch_limits.py).
#include "drivers/sonic/patch_limits.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "drivers/sonic/config_patch.hpp"
#include "drivers/sonic/text_parts.hpp"
#include "tests/sonic_commands/apply_patch.hpp"

namespace lockstep::sonic {
namespace {

using Json = nlohmann::json;

Json recorded_limits() {
  std::ifstream file(LOCKSTEP_SOURCE_DIR "/tests/unit/sonic/patch_limits.json");
  return Json::parse(file);
}

PatchPorts ports_of(const Json& state) {
  PatchPorts out;
  for (const auto& [port, fields] : state.items()) {
    PatchPort one;
    const auto listed = [&fields = fields](const char* field) -> std::optional<std::vector<std::string>> {
      if (!fields.contains(field)) return std::nullopt;
      if (fields.at(field) == "N/A") return std::vector<std::string>();
      return parts_of(fields.at(field).get<std::string>(), ',');
    };
    out[port] = {.speeds = listed("supported_speeds"), .fecs = listed("supported_fecs")};
  }
  return out;
}

TEST(PatchLimits, RefuseWhatEveryAsicRefusesAndNothingElse) {
  std::size_t refused_cases = 0;
  const Json all = recorded_limits();
  ASSERT_GT(all.size(), 70U);
  for (const Json& one : all) {
    const ConfigDb now = *parse_config_db(one.at("now").dump());
    const ConfigDb target = *parse_config_db(one.at("target").dump());
    const auto refused = refused_operations(patch_of(now, target), ports_of(one.at("ports")), false);
    const bool all_refuse = one.at("refused_by") == "all";
    EXPECT_EQ(!refused.empty(), all_refuse)
        << one.at("name") << (refused.empty() ? "" : ": " + refused[0].why);
    refused_cases += all_refuse ? 1 : 0;
  }
  EXPECT_GT(refused_cases, 25U);
}

TEST(PatchLimits, OfAChassisDoNotHoldPortsToStateDb) {
  const ConfigDb now = *parse_config_db(R"({"PORT": {"Ethernet0": {"speed": "400000"}}})");
  const ConfigDb target = *parse_config_db(R"({"PORT": {"Ethernet0": {"speed": "100000"}}})");
  const PatchPorts ports{{"Ethernet0", {.speeds = std::vector<std::string>{"400000"}}}};
  EXPECT_EQ(refused_operations(patch_of(now, target), ports, false).size(), 1U);
  EXPECT_TRUE(refused_operations(patch_of(now, target), ports, true).empty());
  EXPECT_FALSE(may_be_chassis(now));
  for (const char* const metadata : {R"({"type": "SpineRouter"})", R"({"switch_type": "voq"})"})
    EXPECT_TRUE(may_be_chassis(
        *parse_config_db(R"({"DEVICE_METADATA": {"localhost": )" + std::string(metadata) + "}}")));
  EXPECT_FALSE(
      may_be_chassis(*parse_config_db(R"({"DEVICE_METADATA": {"localhost": {"type": "LeafRouter"}}})")));
}

TEST(StandIn, RefusesAsSonicDoesInItsWords) {
  for (const Json& one : recorded_limits()) {
    const ConfigDb now = *parse_config_db(one.at("now").dump());
    const ConfigDb target = *parse_config_db(one.at("target").dump());
    Json state;
    for (const auto& [port, fields] : one.at("ports").items())
      state["PORT_TABLE|" + port] = {{"type", "hash"}, {"value", fields}};
    std::string words;
    try {
      (void)stand_in::changes_of(Json::parse(*patch_json(patch_of(now, target), one.at("now").dump())), "f",
                                 one.at("now"), state.is_null() ? Json::object() : state);
    } catch (const stand_in::Refused& refused) {
      words = refused.text;
    }
    // What some ASICs refuse, the stand-in's (spc4) does not.
    const std::string wanted = one.at("refused_by") == "all"
                                   ? "Failed to apply patch on the following scopes:\n- localhost: " +
                                         one.at("words").get<std::string>()
                                   : "";
    EXPECT_EQ(words, wanted) << one.at("name");
  }
}

}  // namespace
}  // namespace lockstep::sonic
