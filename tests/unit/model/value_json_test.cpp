// Values survive writing to, and reading from, plan files and the journal.
#include "specs/model/value_json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "specs/model/schema_rows.hpp"
#include "tests/unit/any_integer.hpp"

namespace lockstep {
namespace {

constexpr RowId kAsn = row("bgp/asn");

RC_GTEST_PROP(ValueJson, KeepsEveryInteger, ()) {
  const Value value = Value::integer(*any_integer());
  const auto back = value_from_json(kAsn, nlohmann::json::parse(to_json(value).dump()));
  RC_ASSERT(back);
  RC_ASSERT(*back == value);
}

TEST(ValueJson, RefusesANumberThatIsNotAnInteger) {
  for (const char* const text :
       {"9223372036854775808", "18446744073709551615", "18446744073709551616", "1.5"})
    EXPECT_FALSE(value_from_json(kAsn, nlohmann::json::parse(text))) << text;
}

TEST(ValueJson, OfASetHasNoOrder) {
  constexpr RowId kMembers = row("bond[*]/members");
  static_assert(schema_row(kMembers).compare == Compare::set);
  EXPECT_EQ(*value_from_json(kMembers, {"swp2", "swp1"}), *value_from_json(kMembers, {"swp1", "swp2"}));
}

TEST(ValueJson, KeepsBytesThatAreNotUtf8) {
  constexpr RowId kSysctl = row("sysctl[*]");
  for (const std::string& bytes :
       {std::string("a\xff\x80z"), std::string("\xc3"), std::string("\0\x1b", 2)}) {
    const Value value = Value::text(bytes);
    const auto back =
        value_from_json(kSysctl, nlohmann::json::parse(to_json(value).dump()));  // strict: throws
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(*back, value);
  }
  const Value list = Value::list({"a", "b\xff"});
  EXPECT_EQ(*value_from_json(row("fib[*]"), nlohmann::json::parse(to_json(list).dump())), list);
  for (const char* const text :
       {R"({"bytes": "f"})", R"({"bytes": "0g"})", R"({"bytes": 1})", R"([{"bytes": "x1"}])"})
    EXPECT_FALSE(value_from_json(kSysctl, nlohmann::json::parse(text))) << text;
}

}  // namespace
}  // namespace lockstep
