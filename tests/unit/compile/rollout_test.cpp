#include "specs/compile/rollout.hpp"

#include <gtest/gtest.h>

#include "specs/language/load.hpp"

namespace lockstep {
namespace {

struct Rollout {
  Diagnostics diagnostics;
  std::vector<std::string> of;  // the name of each device's policy
};

Rollout rollout_of(const std::string& policies) {
  const std::string head = "---\napiVersion: lockstep.dev/v1alpha1\nkind: ";
  const Loaded loaded = load_text(
      "x.yaml",
      head +
          "DeviceSet\nmetadata: {name: hosts, labels: {pool: h200}}\nspec: {names: 'gpu[1-2]', role: "
          "host, drivers: [linux]}\n" +
          head +
          "DeviceSet\nmetadata: {name: leaves}\nspec: {names: leaf0, role: leaf, "
          "platform: spectrum-4, drivers: [linux]}\n" +
          policies);
  EXPECT_TRUE(loaded.diagnostics.empty()) << loaded.diagnostics.front().message;
  Rollout out;
  for (const std::uint32_t policy :
       rollout_policies(loaded.catalog, expand(loaded.catalog).topology, out.diagnostics))
    out.of.push_back(policy == kNone ? "" : *loaded.catalog.rollout_policies[policy].metadata.name);
  return out;
}

std::string policy(const std::string& name, const std::string& spec) {
  return "---\napiVersion: lockstep.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: " + name +
         "}\nspec: " + spec + "\n";
}

using Names = std::vector<std::string>;

TEST(Rollout, EachDeviceIsUnderThePolicyThatSelectsIt) {
  const Rollout out = rollout_of(policy("hosts", "{selector: {matchLabels: {pool: h200}}}") +
                                 policy("switches", "{selector: {names: leaf0}}"));
  EXPECT_EQ(out.of, (Names{"hosts", "hosts", "switches"}));
  EXPECT_TRUE(out.diagnostics.empty());
}

TEST(Rollout, UnselectedDeviceHasNoPolicy) {
  EXPECT_EQ(rollout_of(policy("hosts", "{selector: {names: gpu1}}")).of, (Names{"hosts", "", ""}));
}

TEST(Rollout, HigherPriorityWins) {
  const Rollout out = rollout_of(policy("all", "{selector: {}}") +
                                 policy("special", "{selector: {names: gpu2}, priority: 10}"));
  EXPECT_EQ(out.of, (Names{"all", "special", "all"}));
  EXPECT_TRUE(out.diagnostics.empty());
}

TEST(Rollout, EqualPrioritiesAreAnErrorThatNamesBothLines) {
  const Rollout out =
      rollout_of(policy("all", "{selector: {}}") + policy("hosts", "{selector: {names: 'gpu[1-2]'}}"));
  ASSERT_EQ(out.diagnostics.size(), 1U);
  const Diagnostic& one = out.diagnostics.front();
  EXPECT_EQ(one.code, "LS1238");
  EXPECT_EQ(one.message, "RolloutPolicy/hosts and RolloutPolicy/all both select gpu[1-2]");
  ASSERT_EQ(one.related.size(), 1U);
  EXPECT_LT(one.related[0].at.line, one.at.line);
}

TEST(Rollout, EqualPrioritiesBelowAHigherOneAreAllowed) {
  EXPECT_TRUE(rollout_of(policy("a", "{selector: {}}") + policy("b", "{selector: {}}") +
                         policy("c", "{selector: {}, priority: 1}"))
                  .diagnostics.empty());
}

}  // namespace
}  // namespace lockstep
