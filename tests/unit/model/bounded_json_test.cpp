#include "specs/model/bounded_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

std::string why(std::string_view text, const JsonBounds& bounds = {}) {
  const auto parsed = parse_bounded_json(text, bounds);
  return parsed ? "" : parsed.error().what;
}

TEST(BoundedJson, AcceptsInputExactlyAtItsBounds) {
  EXPECT_EQ(why(R"([1, [2], {"a": 3}])", {.depth = 2, .values = 6}), "");
  EXPECT_EQ(why(R"([1, [2], {"a": 3}])", {.depth = 1, .values = 6}), "JSON nested deeper than 1 levels");
  EXPECT_EQ(why(R"([1, [2], {"a": 3}])", {.depth = 2, .values = 5}), "JSON of more than 5 values");
  EXPECT_EQ((*parse_bounded_json(R"({"a\"[{,": "[[[[,,,,\\"})", {.depth = 1, .values = 2}))["a\"[{,"],
            "[[[[,,,,\\");
}

TEST(BoundedJson, RefusesABombBeforeItIsParsed) {
  EXPECT_EQ(why(std::string(64U << 20, '[')), "JSON nested deeper than 64 levels");
  std::string wide = "[";
  for (std::size_t i = 0; i < 5'000'000; ++i) wide += "0,";
  EXPECT_EQ(why(wide + "0]"), "JSON of more than 4000000 values");
  EXPECT_EQ(why("{\"a\": "), "not JSON");
  EXPECT_EQ(why(""), "not JSON");
}

}  // namespace
}  // namespace lockstep
