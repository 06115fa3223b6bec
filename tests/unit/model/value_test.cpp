#include "specs/model/value.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/unit/any_integer.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Value, IsAbsentByDefault) {
  EXPECT_FALSE(Value());
  EXPECT_EQ(Value().kind(), Value::Kind::none);
  EXPECT_EQ(Value().to_string(), "(none)");
}

TEST(Value, DistinguishesKinds) {
  EXPECT_NE(Value::integer(1), Value::boolean(true));
  EXPECT_NE(Value::boolean(true), Value::present());
  EXPECT_NE(Value::text("a"), Value::secret("a"));
  EXPECT_NE(Value::text("a"), Value::reference("a"));
  EXPECT_NE(Value::text("1"), Value::integer(1));
  EXPECT_NE(Value::integer(0), Value());
  EXPECT_NE(Value::text(""), Value());
}

RC_GTEST_PROP(Value, KeepsEveryInteger, ()) {
  const std::int64_t number = *any_integer();
  const Value value = Value::integer(number);
  RC_ASSERT(value.kind() == Value::Kind::integer);
  RC_ASSERT(value.as_integer() == number);
  RC_ASSERT(value.to_string() == std::to_string(number));
}

RC_GTEST_PROP(Value, IntegersAreEqualWhereTheirNumbersAre, ()) {
  const std::int64_t one = *any_integer();
  const std::int64_t other = *rc::gen::oneOf(any_integer(), rc::gen::just(one));
  RC_ASSERT((Value::integer(one) == Value::integer(other)) == (one == other));
  RC_ASSERT(Value::integer(one) != Value::text(std::to_string(one)));
}

TEST(Value, KeepsIntegersAtTheEdges) {
  constexpr std::int64_t kInPlace = std::int64_t{1} << 59;  // larger values are interned
  for (const std::int64_t number : {kMax, kMax - 1, -kMax, -kMax - 1, kInPlace, kInPlace - 1, kInPlace + 1,
                                    -kInPlace, -kInPlace - 1, -kInPlace + 1, std::int64_t{0}})
    EXPECT_EQ(Value::integer(number).as_integer(), number);
}

TEST(Value, ShowsAnUnsignedNumberBeyondIntegersAsText) {
  EXPECT_EQ(Value::integer(static_cast<std::uint64_t>(kMax)).as_integer(), kMax);
  EXPECT_EQ(Value::integer(static_cast<std::uint64_t>(kMax) + 1), Value::text("9223372036854775808"));
  EXPECT_EQ(Value::integer(~std::uint64_t{0}), Value::text("18446744073709551615"));
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

TEST(Value, PrintsReadableText) {
  EXPECT_EQ(Value::boolean(false).to_string(), "false");
  EXPECT_EQ(Value::present().to_string(), "present");
  EXPECT_EQ(Value::set({"b", "a"}).to_string(), "a, b");
}

}  // namespace
}  // namespace lockstep
