#include "reconciler/report/folded_changes.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

TEST(FoldChanges, MakesOneLineOfTheSameChangeOnManyPorts) {
  std::vector<FoldableChange> changes;
  for (const char* const port : {"swp1", "swp2", "swp3"})
    changes.push_back({Path(row("interface[*]/mtu"), {port}), Value::integer(1500), Value::integer(9216), 7});
  changes.push_back({Path(row("interface[*]/mtu"), {"swp4"}), Value::integer(1400), Value::integer(9216), 7});
  const std::vector<FoldedChange> lines = fold_changes(changes);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].path, "interface[swp[1-3]]/mtu");
  EXPECT_EQ(lines[0].count, 3U);
  EXPECT_EQ(lines[1].path, "interface[swp4]/mtu") << "another `was` is another line";
}

TEST(FoldChanges, KeepsAddressesApart) {
  const std::vector<FoldedChange> lines = fold_changes(
      {{Path(row("route[*]"), {"100:0.0.0.0/0"}), Value{}, Value::set({"via 10.64.0.0 dev rail0"}), 1},
       {Path(row("route[*]"), {"101:0.0.0.0/0"}), Value{}, Value::set({"via 10.64.0.0 dev rail0"}), 1}});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].path, "route[100:0.0.0.0/0]");
}

TEST(ValueText, PrintsQuantitiesInTheirUnit) {
  EXPECT_EQ(value_text(row("interface[*]/rate"), Value::integer(1'000'000'000)), "1Gbps");
  EXPECT_EQ(value_text(row("interface[*]/speed"), Value::integer(400'000)), "400Gbps");
  EXPECT_EQ(value_text(row("interface[*]/mtu"), Value::integer(9216)), "9216");
  EXPECT_EQ(value_text(row("interface[*]/buffer[*]/xon"), Value::integer(18'000)), "18KB");
  EXPECT_EQ(value_text(row("interface[*]/buffer[*]/xon"), Value::integer(18'432)), "18.432KB") << "not 18KiB";
  EXPECT_EQ(value_text(row("interface[*]/buffer[*]/xon"), Value::integer(18'050)), "18.05KB");
  EXPECT_EQ(value_text(row("interface[*]/speed"), Value::integer(std::numeric_limits<std::int64_t>::max())),
            "9223372036854775807 Mbit/s");
  EXPECT_EQ(value_text(row("bgp/neighbor[*]/hold"), Value::integer(9)), "9 s");
  EXPECT_EQ(value_text(row("interface[*]/class[*]/dscp"), Value::set({"10", "9", "8", "26"})), "8-10, 26");
  EXPECT_EQ(value_text(row("fib[*]"), Value::set({"up0", "up1"})), "up0, up1");
  EXPECT_EQ(value_text(row("interface[*]/admin"), Value::boolean(true)), "true");
}

}  // namespace
}  // namespace lockstep
