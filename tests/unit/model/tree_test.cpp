#include "specs/model/tree.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

Path mtu(std::string_view port) { return Path(row("interface[*]/mtu"), {port}); }
Path admin(std::string_view port) { return Path(row("interface[*]/admin"), {port}); }

TEST(Tree, IsSortedWhateverTheOrderOfAdding) {
  TreeBuilder builder;
  builder.add(mtu("rail10"), Value::integer(1));
  builder.add(admin("rail0"), Value::boolean(true));
  builder.add(mtu("rail2"), Value::integer(2));
  EXPECT_EQ(builder.build().to_string(),
            "interface[rail0]/admin = true\ninterface[rail2]/mtu = 2\ninterface[rail10]/mtu = 1\n");
}

TEST(Tree, KeepsTheFirstDuplicateAndReportsTheOther) {
  TreeBuilder builder;
  builder.add(mtu("a"), Value::integer(9000), 1);
  builder.add(mtu("a"), Value::integer(1500), 2);
  builder.add(mtu("a"), Value::integer(9000), 3);
  std::vector<Clash> clashes;
  const Tree tree = builder.build(&clashes);
  EXPECT_EQ(tree.value(mtu("a")), Value::integer(9000));
  ASSERT_EQ(clashes.size(), 1u);
  EXPECT_EQ(clashes[0].first.origin, 1u);
  EXPECT_EQ(clashes[0].second.origin, 2u);
}

TEST(Tree, FindsTheEntriesOfOneRow) {
  TreeBuilder builder;
  builder.add(admin("a"), Value::boolean(true));
  builder.add(mtu("a"), Value::integer(1));
  builder.add(mtu("b"), Value::integer(2));
  const Tree tree = builder.build();
  EXPECT_EQ(tree.of_row(row("interface[*]/mtu")).size(), 2u);
  EXPECT_TRUE(tree.of_row(row("sysctl[*]")).empty());
}

RC_GTEST_PROP(Tree, BehavesLikeAMap, (std::vector<std::pair<std::uint8_t, std::uint8_t>> steps)) {
  Tree tree;
  std::map<std::string, std::int64_t> expected;
  for (const auto& [key, number] : steps) {
    const std::string name = "p" + std::to_string(key % 20);
    if (number % 5 == 0) {
      tree.erase(mtu(name));
      expected.erase(name);
    } else {
      tree.set(mtu(name), Value::integer(number));
      expected[name] = number;
    }
  }
  RC_ASSERT(tree.size() == expected.size());
  for (const auto& [name, number] : expected) RC_ASSERT(tree.value(mtu(name)) == Value::integer(number));
  for (std::size_t i = 1; i < tree.size(); ++i)
    RC_ASSERT(tree.entries()[i - 1].path < tree.entries()[i].path);
}

}  // namespace
}  // namespace lockstep
