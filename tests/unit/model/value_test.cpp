#include "specs/model/value.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace lockstep {
namespace {

constexpr std::int64_t kMax = (std::int64_t{1} << 59) - 1;

TEST(Value, IsNothingByDefault) {
  EXPECT_FALSE(Value());
  EXPECT_EQ(Value().kind(), Value::Kind::none);
  EXPECT_EQ(Value().to_string(), "(none)");
}

TEST(Value, TellsKindsApart) {
  EXPECT_NE(Value::integer(1), Value::boolean(true));
  EXPECT_NE(Value::boolean(true), Value::present());
  EXPECT_NE(Value::text("a"), Value::secret("a"));
  EXPECT_NE(Value::text("a"), Value::reference("a"));
  EXPECT_NE(Value::text("1"), Value::integer(1));
  EXPECT_NE(Value::integer(0), Value());
  EXPECT_NE(Value::text(""), Value());
}

RC_GTEST_PROP(Value, KeepsIntegersOfSixtyBits, ()) {
  const std::int64_t number = *rc::gen::inRange<std::int64_t>(-kMax, kMax);
  RC_ASSERT(Value::integer(number).as_integer() == number);
  RC_ASSERT(Value::integer(number).to_string() == std::to_string(number));
}

TEST(Value, KeepsTheLargestIntegers) {
  EXPECT_EQ(Value::integer(kMax).as_integer(), kMax);
  EXPECT_EQ(Value::integer(-kMax - 1).as_integer(), -kMax - 1);
}

RC_GTEST_PROP(Value, SetsForgetOrderAndDoubles, (std::vector<std::string> elements)) {
  for (std::string& one : elements) std::erase(one, '\n');
  std::erase_if(elements, [](const std::string& one) { return one.empty(); });
  std::vector<std::string> other(elements.rbegin(), elements.rend());
  other.insert(other.end(), elements.begin(), elements.end());
  RC_ASSERT(Value::set(elements) == Value::set(other));
}

RC_GTEST_PROP(Value, ListsKeepOrder, (std::vector<std::string> elements)) {
  for (std::string& one : elements) std::erase(one, '\n');
  std::erase_if(elements, [](const std::string& one) { return one.empty(); });
  const Value list = Value::list(elements);
  const std::vector<std::string_view> back = list.as_list();
  RC_ASSERT(std::equal(back.begin(), back.end(), elements.begin(), elements.end()));
}

TEST(Value, AnEmptyListIsNotAbsent) {
  EXPECT_TRUE(Value::list({}));
  EXPECT_TRUE(Value::list({}).as_list().empty());
  EXPECT_EQ(Value::list({}).to_string(), "(empty)");
}

TEST(Value, NeverPrintsASecretsContent) {
  EXPECT_EQ(Value::secret("systemd:sw-admin").to_string(), "(secret systemd:sw-admin)");
}

TEST(Value, PrintsForPeople) {
  EXPECT_EQ(Value::boolean(false).to_string(), "false");
  EXPECT_EQ(Value::present().to_string(), "present");
  EXPECT_EQ(Value::set({"b", "a"}).to_string(), "a, b");
}

}  // namespace
}  // namespace lockstep
