#include "reconciler/cli/former_leaves.hpp"

#include <gtest/gtest.h>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

const Value kFound = Value::text("1");
const Value kWrote = Value::text("0");

Path path(std::string_view text) { return *Path::parse(text); }

class FormerLeaves : public ::testing::Test {
 protected:
  FormerLeaves() {
    compiled.intents.resize(1);
    compiled.intents[0].device = "gpu1";
  }
  Intent& gpu1() { return compiled.intents[0]; }
  // What is wanted of a leaf that a change wrote, after the object that said it is gone.
  void gone(const std::string& leaf, Value found, Value wrote, bool restore = true) {
    want_restored(compiled, {{"gpu1", path(leaf), found, wrote, restore, "HostProfile/training"}});
  }
  Compiled compiled;
};

TEST_F(FormerLeaves, WhatWasFoundIsWantedBackInTheNameOfTheObject) {
  gone("sysctl[net.ipv4.tcp_timestamps]", kFound, kWrote);
  const Leaf* const want = gpu1().want.find(path("sysctl[net.ipv4.tcp_timestamps]"));
  ASSERT_NE(want, nullptr);
  EXPECT_EQ(want->value, kFound);
  EXPECT_EQ(compiled.origins[want->origin].object, "HostProfile/training");
  EXPECT_EQ(compiled.origins[want->origin].rule, "onDelete: restore");
}

TEST_F(FormerLeaves, WhatWasNotThereIsTakenAway) {
  gone("interface[rail0]/address[10.0.0.1/31]", Value{}, Value::present());
  Observation seen;
  seen.have.set(path("interface[rail0]/address[10.0.0.1/31]"), Value::present());
  seen.have.set(path("interface[rail0]/address[10.0.0.3/31]"), Value::present());
  const ChangeSet changes = diff(gpu1(), seen).changes;
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].path, path("interface[rail0]/address[10.0.0.1/31]"));
  EXPECT_FALSE(changes[0].want);
}

TEST_F(FormerLeaves, NothingIsWantedWhereItIsToBeLeftOrAnotherObjectSpeaks) {
  gone("sysctl[net.ipv4.tcp_sack]", kFound, kWrote, false);
  EXPECT_TRUE(gpu1().want.empty());
  gpu1().want.set(path("interface[rail0]/mtu"), Value::integer(9000));
  gpu1().claims.push_back({row("interface[*]/address[*]"), {"rail0"}, 0});
  gone("interface[rail0]/mtu", Value::integer(1500), Value::integer(4000));
  gone("interface[rail0]/address[10.0.0.1/31]", Value::present(), Value{});
  EXPECT_EQ(gpu1().want.size(), 1U);
  EXPECT_EQ(gpu1().want.value(path("interface[rail0]/mtu")), Value::integer(9000));
  EXPECT_EQ(gpu1().claims.size(), 1U);
}

TEST_F(FormerLeaves, WhatIsLeftIsToldByObjectAndDevices) {
  const WrittenLeaf one{
      "gpu1", path("sysctl[net.ipv4.tcp_sack]"), kFound, kWrote, false, "HostProfile/training"};
  WrittenLeaf other = one;
  other.device = "gpu2";
  EXPECT_EQ(left_behind_text({one, other}),
            "left as they are: 2 leaves that earlier changes wrote for HostProfile/training and nothing here "
            "says any more, on gpu[1-2]\n");
  EXPECT_EQ(left_behind_text({}), "");
}

}  // namespace
}  // namespace lockstep
