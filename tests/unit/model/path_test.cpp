#include "specs/model/path.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <thread>

#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

std::size_t keys_of(std::string_view pattern) {
  std::size_t count = 0;
  for (const char c : pattern) count += c == '*' ? 1 : 0;
  return count;
}

Path make(RowId id, const std::string& a, const std::string& b, const std::string& c) {
  switch (keys_of(schema_row(id).pattern)) {
    case 0: return Path(id, {});
    case 1: return Path(id, {a});
    case 2: return Path(id, {a, b});
    default: return Path(id, {a, b, c});
  }
}

rc::Gen<std::string> any_key() {
  return rc::gen::nonEmpty(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcswpupETHernet0123456789.:/-_"))));
}

rc::Gen<Path> any_path() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange<std::size_t>(0, kSchema.size()), any_key(), any_key(), any_key()),
      [](const std::tuple<std::size_t, std::string, std::string, std::string>& parts) {
        return make(static_cast<RowId>(std::get<0>(parts)), std::get<1>(parts), std::get<2>(parts),
                    std::get<3>(parts));
      });
}

TEST(Path, WritesItsRowAndKeys) {
  EXPECT_EQ(Path(row("interface[*]/mtu"), {"rail0"}).text(), "interface[rail0]/mtu");
  EXPECT_EQ(Path(row("interface[*]/address[*]"), {"rail0", "10.64.0.1/31"}).text(),
            "interface[rail0]/address[10.64.0.1/31]");
  EXPECT_EQ(Path(row("bgp"), {}).text(), "bgp");
}

TEST(Path, IsEqualExactlyIfRowAndKeysAre) {
  const Path one(row("interface[*]/mtu"), {"rail0"});
  EXPECT_EQ(one, Path(row("interface[*]/mtu"), {"rail0"}));
  EXPECT_NE(one, Path(row("interface[*]/mtu"), {"rail1"}));
  EXPECT_NE(one, Path(row("interface[*]/admin"), {"rail0"}));
  EXPECT_NE(one, Path());
}

TEST(Path, OrdersByRowBeforeKeys) {
  EXPECT_LT(Path(row("interface[*]/admin"), {"z"}), Path(row("interface[*]/mtu"), {"a"}));
}

TEST(Path, OrdersDigitsAsNumbers) {
  const auto port = [](std::string_view name) { return Path(row("interface[*]/mtu"), {name}); };
  EXPECT_LT(port("rail2"), port("rail10"));
  EXPECT_LT(port("Ethernet8"), port("Ethernet64"));
  EXPECT_LT(port("rail"), port("rail0"));
  EXPECT_LT(port("a1b2"), port("a1b10"));
  EXPECT_NE(port("rail01") <=> port("rail1"), std::strong_ordering::equal);
}

TEST(Path, ReadsNumbersLongerThanAnyInteger) {
  const auto port = [](const std::string& name) { return Path(row("interface[*]/mtu"), {name}); };
  EXPECT_LT(port("p" + std::string(40, '8')), port("p" + std::string(39, '8') + "9"));
}

TEST(Path, KeepsBracketsInsideAKey) {
  const Result<Path> path = Path::parse("raw[sonic][PORT[0]]");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->key(1), "PORT[0]");
  EXPECT_EQ(path->text(), "raw[sonic][PORT[0]]");
}

TEST(Path, SuggestsTheClosestRow) {
  const Result<Path> path = Path::parse("interface[rail0]/mtuu");
  ASSERT_FALSE(path);
  EXPECT_NE(path.error().what.find("did you mean 'interface[*]/mtu'"), std::string::npos)
      << path.error().what;
}

class BadPath : public testing::TestWithParam<const char*> {};
TEST_P(BadPath, IsRefused) { EXPECT_FALSE(Path::parse(GetParam())) << GetParam(); }
INSTANTIATE_TEST_SUITE_P(Path, BadPath,
                         testing::Values("", "interface", "interface[]/mtu", "interface[rail0/mtu",
                                         "interface]rail0[/mtu", "interface[rail0]]/mtu",
                                         "interface[rail0]/mtu/", "nonsense[a][b][c][d][e]",
                                         "bgp/neighbor[swp1]/", "[", "]", "[[[["));

RC_GTEST_PROP(Path, SurvivesWritingAndReading, ()) {
  const Path path = *any_path();
  const Result<Path> again = Path::parse(path.text());
  RC_ASSERT(static_cast<bool>(again));
  RC_ASSERT(*again == path);
}

RC_GTEST_PROP(Path, OrderIsTotal, ()) {
  const Path a = *any_path();
  const Path b = *any_path();
  const Path c = *any_path();
  RC_ASSERT((a == b) == ((a <=> b) == 0));
  RC_ASSERT((a < b) == (b > a));
  if (a < b && b < c) RC_ASSERT(a < c);
}

RC_GTEST_PROP(Path, OrderOfKeysIsTotal, ()) {
  const auto path = [](const std::string& key) { return Path(row("interface[*]"), {key}); };
  const Path a = path(*any_key());
  const Path b = path(*any_key());
  const Path c = path(*any_key());
  RC_ASSERT((a == b) == ((a <=> b) == 0));
  if (a < b && b < c) RC_ASSERT(a < c);
}

TEST(Path, IsTheSameInEveryThread) {
  std::vector<std::uint32_t> ids[4];
  {
    std::vector<std::jthread> threads;
    for (auto& mine : ids)
      threads.emplace_back([&mine] {
        for (int i = 0; i < 5'000; ++i)
          mine.push_back(Path(row("interface[*]/mtu"), {"thread-port" + std::to_string(i)}).id());
      });
  }
  for (const auto& mine : ids) EXPECT_EQ(mine, ids[0]);
}

TEST(Schema, RowsAreInPathOrderAndUnique) {
  for (std::size_t i = 1; i < kSchema.size(); ++i)
    EXPECT_LT(kSchema[i - 1].pattern, kSchema[i].pattern) << "a row is there twice";
}

TEST(Schema, ReferencesNameRows) {
  for (const Row& one : kSchema) {
    const auto known = [](std::string_view pattern) {
      return pattern.empty() ||
             std::any_of(kSchema.begin(), kSchema.end(), [&](const Row& r) { return r.pattern == pattern; });
    };
    EXPECT_TRUE(known(one.refers_to)) << one.pattern << " refers to " << one.refers_to;
    for (std::string_view rest = one.saves; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      EXPECT_TRUE(known(rest.substr(0, end))) << one.pattern << " saves " << rest;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    EXPECT_FALSE(one.doc.empty()) << one.pattern;
    EXPECT_LE(keys_of(one.pattern), Path::kKeysMax) << one.pattern;
  }
}

TEST(Schema, DistinguishesPortsAndBondsFromOtherRows) {
  const auto is_of_port = [](RowId id) { return schema_row(id).is_of_port(); };
  EXPECT_TRUE(is_of_port(row("interface[*]")));
  EXPECT_TRUE(is_of_port(row("interface[*]/mtu")));
  EXPECT_TRUE(is_of_port(row("interface[*]/class[*]/dscp")));
  for (const RowId other : {row("bond[*]"), row("bond[*]/mode"), row("route[*]"), row("sysctl[*]")})
    EXPECT_FALSE(is_of_port(other)) << schema_row(other).pattern;
  EXPECT_TRUE(schema_row(row("bond[*]")).is_of_bond());
  EXPECT_TRUE(schema_row(row("bond[*]/mode")).is_of_bond());
  EXPECT_FALSE(schema_row(row("interface[*]")).is_of_bond());
}

TEST(Schema, PartIsNotARowWithALongerName) {
  const Row& class_row = schema_row(row("interface[*]/class[*]"));
  EXPECT_TRUE(class_row.is_part_of("interface[*]"));
  EXPECT_FALSE(class_row.is_part_of("interface[*]/class[*]")) << "it is the whole";
  EXPECT_FALSE(schema_row(row("interface[*]/virtual-functions")).is_part_of("interface[*]/virtual-function"));
}

TEST(Schema, KnowsWhichRowsARowSaves) {
  const Row& saver = schema_row(row("routing-config/saved"));
  for (const RowId saved : {row("bgp"), row("bgp/asn"), row("bgp/neighbor[*]/hold"), row("bfd-profile[*]"),
                            row("bfd-profile[*]/multiplier")})
    EXPECT_TRUE(schema_row(saved).is_saved_by(saver.saves)) << schema_row(saved).pattern;
  for (const RowId other : {row("routing-config/saved"), row("route[*]"), row("interface[*]/mtu")})
    EXPECT_FALSE(schema_row(other).is_saved_by(saver.saves)) << schema_row(other).pattern;
  EXPECT_FALSE(saver.is_saved_by(""));
}

TEST(Schema, EffectsAreNeverWritten) {
  for (const Row& one : kSchema) {
    if (one.facet == Facet::effect) {
      EXPECT_EQ(one.takes, Takes::read_only) << one.pattern;
    }
  }
}

}  // namespace
}  // namespace lockstep
