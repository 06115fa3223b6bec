// Each parser that is fuzzed, on what its fuzzing begins with, cut at every length, and on what fuzzing
// found.
#include <gtest/gtest.h>

#include "tests/fuzz/parsers.hpp"

namespace lockstep::fuzzing {
namespace {

class Seeds : public ::testing::TestWithParam<Parser> {};

// A parser that answers wrongly ends the program (parsers.hpp).
TEST_P(Seeds, AreParsedWholeAndCutShort) {
  const Parser& one = GetParam();
  const std::vector<std::string> seeds = one.seeds();
  ASSERT_FALSE(seeds.empty());
  constexpr std::size_t kCuts = 8;  // a choice: the whole suite of seeds in a few seconds
  for (const std::string& seed : seeds)
    for (std::size_t cut = 0; cut <= kCuts; ++cut) one.parse(seed.substr(0, seed.size() * cut / kCuts));
}

INSTANTIATE_TEST_SUITE_P(Parsers, Seeds, ::testing::ValuesIn(parsers().begin(), parsers().end()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace lockstep::fuzzing
