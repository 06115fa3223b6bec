#include "specs/language/hostlist.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

namespace lockstep {
namespace {

using Names = std::vector<std::string>;

Names expanded(std::string_view text) {
  const auto names = expand_hostlist(text);
  EXPECT_TRUE(names) << text << ": " << (names ? "" : names.error().what);
  return names ? *names : Names{};
}
std::string refusal(std::string_view text, std::size_t limit = hostlist_limit) {
  const auto names = expand_hostlist(text, limit);
  EXPECT_FALSE(names) << text;
  return names ? "" : names.error().what;
}

TEST(Hostlist, ExpandsRangesListsAndSteps) {
  EXPECT_EQ(expanded("gpu7"), (Names{"gpu7"}));
  EXPECT_EQ(expanded("gpu[1-3]"), (Names{"gpu1", "gpu2", "gpu3"}));
  EXPECT_EQ(expanded("leaf[0-1],spine3"), (Names{"leaf0", "leaf1", "spine3"}));
  EXPECT_EQ(expanded("gpu[1,4-5]"), (Names{"gpu1", "gpu4", "gpu5"}));
  EXPECT_EQ(expanded("Ethernet[0-24/8]"), (Names{"Ethernet0", "Ethernet8", "Ethernet16", "Ethernet24"}));
  EXPECT_EQ(expanded("Ethernet1/[1-2]"), (Names{"Ethernet1/1", "Ethernet1/2"}));
}

TEST(Hostlist, KeepsZeroPadding) {
  EXPECT_EQ(expanded("gpu[008-010]"), (Names{"gpu008", "gpu009", "gpu010"}));
}

TEST(Hostlist, RunsTheRightmostBracketFastest) {
  EXPECT_EQ(expanded("r[1-2]n[1-2]"), (Names{"r1n1", "r1n2", "r2n1", "r2n2"}));
}

TEST(Hostlist, RefusesWhatIsNotAHostlist) {
  for (const char* text : {"",       ",",        "a,",       ",a",       "a,,b",
                           "a[",     "a]",       "a[]",      "a[1-]",    "a[-1]",
                           "a[3-1]", "a[1-2",    "a[[1-2]]", "a[1-2/0]", "a[1/2]",
                           "a[x]",   "a[1-2-3]", "a b",      "a[1, 2]",  "a[01-100]",
                           "a:b",    "a{b}",     "a[1-2/]",  "a[1,]",    "a[9999999999999999999]",
                           "é",      "a\n"})
    EXPECT_NE(refusal(text), "") << text;
}

TEST(Hostlist, RefusesANameTwice) {
  EXPECT_EQ(refusal("gpu[1-3],gpu2"), "hostlist 'gpu[1-3],gpu2': 'gpu2' is in it twice");
}

TEST(Hostlist, RefusesMoreNamesThanTheLimitWithoutExpandingThem) {
  EXPECT_NE(refusal("a[0-999999999999999999]").find("more than 1000000 names"), std::string::npos);
  EXPECT_NE(refusal("a[0-99999][0-99999][0-99999][0-99999]").find("more than"), std::string::npos);
  EXPECT_NE(refusal("a[1-10],b[1-10]", 19).find("more than 19"), std::string::npos);
  EXPECT_TRUE(expand_hostlist("a[1-10],b[1-10]", 20));
}

TEST(Hostlist, FindsTheIndexOfANameWithoutExpanding) {
  EXPECT_EQ(index_in_hostlist("gpu[001-512]", "gpu003"), 2U);
  EXPECT_EQ(index_in_hostlist("gpu[001-512]", "gpu3"), std::nullopt);
  EXPECT_EQ(index_in_hostlist("gpu[1-4]", "gpu04"), std::nullopt);
  EXPECT_EQ(index_in_hostlist("a,b[1-2]c[1-3]", "b2c1"), 4U);
  EXPECT_EQ(index_in_hostlist("Ethernet[0-504/8]", "Ethernet12"), std::nullopt);
  EXPECT_EQ(index_in_hostlist("r[1-20][1-9]", "r119"), 98U);  // r11 9: the split that fits
}

TEST(Hostlist, FoldsNamesBack) {
  EXPECT_EQ(fold_hostlist({}), "");
  EXPECT_EQ(fold_hostlist({"gpu1"}), "gpu1");
  EXPECT_EQ(fold_hostlist({"gpu1", "gpu2", "gpu3", "spine0"}), "gpu[1-3],spine0");
  EXPECT_EQ(fold_hostlist({"gpu098", "gpu099", "gpu100"}), "gpu[098-100]");
  EXPECT_EQ(fold_hostlist({"Ethernet0", "Ethernet8", "Ethernet16"}), "Ethernet[0-16/8]");
  EXPECT_EQ(fold_hostlist({"gpu9", "gpu10", "gpu7"}), "gpu[9-10,7]");
}

TEST(Hostlist, SplitsDevicesFromPorts) {
  const auto split = split_port_list("gpu[1-4]:rail[0-1]");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->devices, "gpu[1-4]");
  EXPECT_EQ(split->ports, "rail[0-1]");
  EXPECT_FALSE(split_port_list("a:b:c"));
  EXPECT_FALSE(split_port_list(":b"));
  EXPECT_FALSE(split_port_list("a:"));
}

rc::Gen<std::string> any_name() {
  return rc::gen::apply(
      [](int head, int number, int width, int tail) {
        std::string digits = std::to_string(number);
        if (width > 0 && digits.size() < 3) digits.insert(0, 3 - digits.size(), '0');
        const char* heads[] = {"gpu", "r1n", "a-", "x_"};
        const char* tails[] = {"", "", "-mgmt", "b2"};
        return heads[head] + digits + tails[tail];
      },
      rc::gen::inRange(0, 4), rc::gen::inRange(0, 120), rc::gen::inRange(0, 2), rc::gen::inRange(0, 4));
}

TEST(Hostlist, ExpandingAFoldGivesTheSameNamesInTheSameOrder) {
  EXPECT_TRUE(rc::check([] {
    std::set<std::string> unique;
    Names names;
    for (std::string& name : *rc::gen::container<Names>(any_name()))
      if (unique.insert(name).second) names.push_back(name);
    if (names.empty()) return;
    const auto again = expand_hostlist(fold_hostlist(names));
    RC_ASSERT(static_cast<bool>(again));
    RC_ASSERT(*again == names);
  }));
}

TEST(Hostlist, TheIndexOfEveryExpandedNameIsItsPlace) {
  EXPECT_TRUE(rc::check([] {
    const int first = *rc::gen::inRange(0, 30);
    const int count = *rc::gen::inRange(1, 30);
    const int step = *rc::gen::inRange(1, 4);
    const std::string text = "a3,g[" + std::to_string(first) + "-" + std::to_string(first + count) + "/" +
                             std::to_string(step) + "]p[1-3],z[07-12]";
    const auto names = expand_hostlist(text);
    RC_ASSERT(static_cast<bool>(names));
    RC_ASSERT(*count_hostlist(text) == names->size());
    for (std::size_t i = 0; i < names->size(); ++i) RC_ASSERT(index_in_hostlist(text, (*names)[i]) == i);
  }));
}

TEST(Hostlist, ArbitraryTextIsRefusedOrExpands) {
  EXPECT_TRUE(rc::check([] {
    const std::string alphabet = "ag01[]-,/:9 ";
    std::string text;
    for (const int i :
         *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, static_cast<int>(alphabet.size()))))
      text += alphabet[static_cast<std::size_t>(i)];
    const auto names = expand_hostlist(text, 1000);
    if (names) RC_ASSERT(!names->empty() && names->size() <= 1000);
    (void)split_port_list(text);
  }));
}

}  // namespace
}  // namespace lockstep
