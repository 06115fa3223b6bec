#include "specs/model/diff.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr RowId kMtu = row("interface[*]/mtu");
constexpr RowId kAddress = row("interface[*]/address[*]");
constexpr RowId kCarrier = row("interface[*]/carrier");
constexpr RowId kRoute = row("route[*]");

struct Case {
  Intent intent;
  Observation observation;
  Difference run() const { return diff(intent, observation); }
  void want(Path path, Value value, OriginId origin = 0) { intent.want.set(path, value, origin); }
  void have(Path path, Value value) { observation.have.set(path, value); }
};

const Path kAddressOfA(kAddress, {"a", "10.0.0.1/31"});
const Path kStrayOfA(kAddress, {"a", "192.0.2.1/24"});
const Path kStrayOfB(kAddress, {"b", "192.0.2.1/24"});

TEST(Diff, IsEmptyIfActualEqualsDesired) {
  Case c;
  c.want(Path(kMtu, {"a"}), Value::integer(9000));
  c.have(Path(kMtu, {"a"}), Value::integer(9000));
  c.have(Path(kMtu, {"b"}), Value::integer(1500));
  EXPECT_TRUE(c.run().in_sync());
}

// The desired set lists what is allowed: members may be absent, but no others may be present.
TEST(Diff, AllowedMembersOfASetDoNotDiffer) {
  const Path transit(row("diverted[*]/transit"), {"10.64.0.0/16"});
  const Value allowed = Value::set({"a", "c"});
  const auto differs = [&](Value have) {
    Case c;
    c.want(transit, allowed, 7);
    if (have) c.have(transit, have);
    return c.run().effects;
  };
  EXPECT_TRUE(differs(Value::set({})).empty());
  EXPECT_TRUE(differs(Value::set({"c"})).empty());
  EXPECT_TRUE(differs(allowed).empty());
  EXPECT_EQ(differs(Value::set({"a", "b"})), (ChangeSet{{transit, Value::set({"a", "b"}), allowed, 7}}));
  EXPECT_EQ(differs(Value{}).size(), 1U) << "it was not read";
  EXPECT_EQ(beyond(allowed, Value::set({"a", "b", "d"})), (std::vector<std::string>{"b", "d"}));
}

TEST(Diff, FindingsAreNotDifferences) {
  const Path filters(row("diverted[*]/filters"), {"10.64.0.0/16"});
  Case c;
  c.want(filters, Value::set({}));
  c.have(filters, Value::set({"XDP on rail0 (native)"}));
  EXPECT_TRUE(c.run().in_sync());
  Case unread;
  unread.want(filters, Value::set({}));
  unread.observation.unread.push_back({filters.row(), {}, Error{ErrorKind::denied, "not permitted"}});
  EXPECT_EQ(unread.run().unobserved.size(), 1U);
}

TEST(Diff, NamesTheOriginOfTheDesiredValue) {
  Case c;
  c.want(Path(kMtu, {"a"}), Value::integer(9000), 7);
  c.have(Path(kMtu, {"a"}), Value::integer(1500));
  const Difference found = c.run();
  ASSERT_EQ(found.changes.size(), 1u);
  EXPECT_EQ(found.changes[0], (Change{Path(kMtu, {"a"}), Value::integer(1500), Value::integer(9000), 7}));
}

TEST(Diff, RemovesOnlyInsideAClaim) {
  Case c;
  c.have(kStrayOfA, Value::present());
  c.have(kStrayOfB, Value::present());
  c.intent.claims.push_back({kAddress, {"a"}, 3});
  const Difference found = c.run();
  ASSERT_EQ(found.changes.size(), 1u);
  EXPECT_EQ(found.changes[0], (Change{kStrayOfA, Value::present(), Value{}, 3}));
}

TEST(Diff, ClaimWithoutKeysCoversTheWholeCollection) {
  Case c;
  c.have(Path(kRoute, {"main:192.0.2.0/24"}), Value::set({"dev a"}));
  c.have(kStrayOfA, Value::present());
  c.intent.claims.push_back({kRoute, {}, 1});
  const Difference found = c.run();
  ASSERT_EQ(found.changes.size(), 1u);
  EXPECT_EQ(found.changes[0].path.row(), kRoute);
}

TEST(Diff, KeepsDesiredMembersInsideAClaim) {
  Case c;
  c.want(kAddressOfA, Value::present());
  c.have(kAddressOfA, Value::present());
  c.intent.claims.push_back({kAddress, {"a"}, 0});
  EXPECT_TRUE(c.run().in_sync());
}

TEST(Diff, NeverRemovesFromACollectionReadInPart) {
  Case c;
  c.have(kStrayOfA, Value::present());
  c.intent.claims.push_back({kAddress, {"a"}, 0});
  c.observation.unread.push_back({kAddress, {"a"}, Error{ErrorKind::transient, "dump interrupted"}});
  EXPECT_TRUE(c.run().changes.empty());
}

TEST(Diff, UnreadEntriesAreNotDifferences) {
  Case c;
  c.want(Path(kMtu, {"a"}), Value::integer(9000));
  c.want(Path(kMtu, {"b"}), Value::integer(9000));
  c.observation.unread.push_back({kMtu, {"a"}, Error{ErrorKind::denied, "no permission"}});
  const Difference found = c.run();
  ASSERT_EQ(found.unobserved.size(), 1u);
  EXPECT_EQ(found.unobserved[0].path, Path(kMtu, {"a"}));
  ASSERT_EQ(found.changes.size(), 1u);
  EXPECT_EQ(found.changes[0].path, Path(kMtu, {"b"}));
  EXPECT_FALSE(found.in_sync());
}

TEST(Diff, KeepsEffectsApartFromChanges) {
  Case c;
  c.want(Path(kCarrier, {"a"}), Value::boolean(true));
  c.have(Path(kCarrier, {"a"}), Value::boolean(false));
  const Difference found = c.run();
  EXPECT_TRUE(found.changes.empty());
  EXPECT_EQ(found.effects.size(), 1u);
  EXPECT_FALSE(found.in_sync());
}

TEST(Diff, ComparesSetsAsSets) {
  Case c;
  c.want(Path(kRoute, {"main:10.0.0.0/8"}), Value::set({"via 10.0.0.0 dev a", "via 10.0.0.2 dev b"}));
  c.have(Path(kRoute, {"main:10.0.0.0/8"}), Value::set({"via 10.0.0.2 dev b", "via 10.0.0.0 dev a"}));
  EXPECT_TRUE(c.run().in_sync());
}

TEST(Diff, UnresolvedReferenceIsNotADifference) {
  Case c;
  c.want(Path(row("bgp/asn"), {}), Value::reference("leaf0 bgp/asn"));
  c.have(Path(row("bgp/asn"), {}), Value::integer(4200000000));
  EXPECT_TRUE(c.run().in_sync());
}

rc::Gen<Tree> any_tree() {
  return rc::gen::map(
      rc::gen::container<std::vector<std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>>>(
          rc::gen::arbitrary<std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>>()),
      [](const std::vector<std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>>& parts) {
        Tree tree;
        for (const auto& [kind, key, number] : parts) {
          const std::string port = "p" + std::to_string(key % 8);
          switch (kind % 4) {
            case 0: tree.set(Path(kMtu, {port}), Value::integer(number)); break;
            case 1:
              tree.set(Path(kAddress, {port, "10.0.0." + std::to_string(number) + "/31"}), Value::present());
              break;
            case 2:
              tree.set(Path(kRoute, {"main:10." + std::to_string(number) + ".0.0/16"}), Value::set({port}));
              break;
            default: tree.set(Path(kCarrier, {port}), Value::boolean(number % 2 == 0)); break;
          }
        }
        return tree;
      });
}

// The state of a device after exactly these changes.
Tree after(Tree have, const ChangeSet& changes) {
  for (const Change& one : changes) {
    if (one.want)
      have.set(one.path, one.want);
    else
      have.erase(one.path);
  }
  return have;
}

RC_GTEST_PROP(Diff, MakingTheChangesLeavesNoDifference, ()) {
  Case c;
  c.intent.want = *any_tree();
  c.observation.have = *any_tree();
  c.intent.claims = {{kRoute, {}, 0}, {kAddress, {"p1"}, 0}, {kAddress, {"p2"}, 0}};
  const Difference first = c.run();
  c.observation.have = after(c.observation.have, first.changes);
  RC_ASSERT(c.run().changes.empty());
}

RC_GTEST_PROP(Diff, LeavesForeignEntriesAlone, ()) {
  Case c;
  c.intent.want = *any_tree();
  c.observation.have = *any_tree();
  c.intent.claims = {{kAddress, {"p1"}, 0}};
  for (const Change& one : c.run().changes) {
    const bool wanted = c.intent.want.find(one.path) != nullptr;
    const bool claimed = one.path.row() == kAddress && one.path.key(0) == "p1";
    RC_ASSERT(wanted || claimed);
  }
}

// 248,115 B in cells of 128 are 248,192.
TEST(Diff, BufferMayBeACellLargerAndNoByteSmaller) {
  const auto is_enough = [](std::int64_t have) {
    return satisfies(row("interface[*]/buffer[*]/size"), Value::integer(248115), Value::integer(have));
  };
  EXPECT_TRUE(is_enough(248115));
  EXPECT_TRUE(is_enough(248192));
  EXPECT_FALSE(is_enough(248064));
  EXPECT_FALSE(is_enough(248115 + kQuantum));
  EXPECT_FALSE(is_enough(std::numeric_limits<std::int64_t>::min()));
  EXPECT_FALSE(is_enough(std::numeric_limits<std::int64_t>::max()));
  for (const Value no_number : {Value{}, Value::text("248192"), Value::boolean(true)})
    for (const std::int64_t want : {0, 1, 248115})
      EXPECT_FALSE(satisfies(row("interface[*]/buffer[*]/size"), Value::integer(want), no_number));
}

// 150,000 B in cells of 254 (Tomahawk 5) are 150,114.
TEST(Diff, AMarkingThresholdMayBeACellLarger) {
  for (const RowId id : {row("interface[*]/class[*]/ecn-min"), row("interface[*]/class[*]/ecn-max")}) {
    const auto is_enough = [id](std::int64_t have) {
      return satisfies(id, Value::integer(150'000), Value::integer(have));
    };
    EXPECT_TRUE(is_enough(150'000));
    EXPECT_TRUE(is_enough(150'114));
    EXPECT_FALSE(is_enough(149'999));
    EXPECT_FALSE(is_enough(150'000 + kQuantum));
  }
}

RC_GTEST_PROP(Diff, IsInPathOrderAndHasTheFormerValues, ()) {
  Case c;
  c.intent.want = *any_tree();
  c.observation.have = *any_tree();
  c.intent.claims = {{kRoute, {}, 0}};
  const Difference found = c.run();
  for (std::size_t i = 0; i < found.changes.size(); ++i) {
    if (i > 0) RC_ASSERT(found.changes[i - 1].path < found.changes[i].path);
    RC_ASSERT(found.changes[i].was == c.observation.have.value(found.changes[i].path));
    RC_ASSERT(found.changes[i].want == c.intent.want.value(found.changes[i].path));
    RC_ASSERT(schema_row(found.changes[i].path.row()).facet != Facet::effect);
  }
}

RC_GTEST_PROP(Diff, IsEmptyIfNothingWasRead, ()) {
  Case c;
  c.intent.want = *any_tree();
  for (const RowId id : {kMtu, kAddress, kRoute, kCarrier})
    c.observation.unread.push_back({id, {}, Error{ErrorKind::transient, "gone"}});
  c.intent.claims = {{kRoute, {}, 0}, {kAddress, {}, 0}};
  const Difference found = c.run();
  RC_ASSERT(found.changes.empty() && found.effects.empty());
  RC_ASSERT(found.unobserved.size() == c.intent.want.size());
}

TEST(ChangesBetween, HaveTheOriginOfTheSideWithTheValue) {
  Tree was;
  was.set(Path(kMtu, {"a"}), Value::integer(9000), 1);
  was.set(Path(kMtu, {"b"}), Value::integer(9000), 2);
  was.set(kAddressOfA, Value::present(), 3);
  Tree want;
  want.set(Path(kMtu, {"a"}), Value::integer(4200), 4);
  want.set(Path(kMtu, {"b"}), Value::integer(9000), 5);
  want.set(kStrayOfB, Value::present(), 6);
  const ChangeSet changes{{kAddressOfA, Value::present(), Value{}, 3},
                          {kStrayOfB, Value{}, Value::present(), 6},
                          {Path(kMtu, {"a"}), Value::integer(9000), Value::integer(4200), 4}};
  EXPECT_EQ(changes_between(was, want), changes) << "another line that wants the same is no change";
}

// Two desired values differ even if a compare rule would accept one of them as the actual value of the other.
TEST(ChangesBetween, IgnoreTheCompareRules) {
  const Path size(row("interface[*]/buffer[*]/size"), {"a", "3"});
  Tree was;
  was.set(size, Value::integer(20'200));
  Tree want;
  want.set(size, Value::integer(20'100));
  EXPECT_TRUE(satisfies(size.row(), Value::integer(20'100), Value::integer(20'200)));
  EXPECT_EQ(changes_between(was, want).size(), 1U);
}

RC_GTEST_PROP(ChangesBetween, MakeOneTreeOfTheOther, ()) {
  const Tree was = *any_tree();
  const Tree want = *any_tree();
  Tree made = was;
  for (const Change& one : changes_between(was, want)) {
    RC_ASSERT(one.was != one.want);
    RC_ASSERT(one.was == made.value(one.path));
    if (one.want)
      made.set(one.path, one.want);
    else
      made.erase(one.path);
  }
  RC_ASSERT(made.to_string() == want.to_string());
}

}  // namespace
}  // namespace lockstep
