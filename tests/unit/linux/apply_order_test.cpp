#include "drivers/linux/apply_order.hpp"

#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

TEST(ApplyOrder, ChangesThatResetAPortComeFirstAndTheRestKeepTheirOrder) {
  ChangeSet changes;
  for (const char* entry :
       {"interface[eth0]/channels[combined]", "interface[eth0]/class[3]", "interface[eth0]/eswitch",
        "interface[eth0]/offload[tso]", "interface[eth0]/parameter[max_macs]", "interface[eth0]/pause",
        "interface[eth0]/virtual-functions"}) {
    const auto path = Path::parse(entry);
    ASSERT_TRUE(path) << entry;
    changes.push_back({*path, {}, {}, 0});
  }
  EXPECT_EQ(apply_order(changes), (std::vector<std::size_t>{2, 4, 6, 0, 1, 3, 5}));
  EXPECT_TRUE(apply_order({}).empty());
}

using Receipts = Lab;

TEST_F(Receipts, FollowTheOrderOfTheChanges) {
  // A veth has no devlink device: the second change fails, and is tried first.
  const auto outcomes = apply({{"interface[rail0]/mtu", Value::integer(9000)},
                               {"interface[rail0]/parameter[max_macs]", Value::text("64")},
                               {"interface[rail0]/admin", Value::boolean(true)}});
  ASSERT_EQ(outcomes.size(), 3U);
  EXPECT_EQ(outcomes[0], "");
  EXPECT_NE(outcomes[1].find("devlink"), std::string::npos) << outcomes[1];
  EXPECT_EQ(outcomes[2], "");
}

}  // namespace
}  // namespace lockstep
