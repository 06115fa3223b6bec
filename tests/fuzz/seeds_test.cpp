// Runs each fuzzed parser on its seeds, which include the inputs that fuzzing found, whole and truncated at
// several lengths.
#include <gtest/gtest.h>

#include "tests/fuzz/parsers.hpp"

namespace lockstep::fuzzing {
namespace {

class Seeds : public ::testing::TestWithParam<Parser> {};

// A wrong result aborts the program (parsers.hpp).
TEST_P(Seeds, AreParsedWholeAndTruncated) {
  const Parser& one = GetParam();
  const std::vector<std::string> seeds = one.seeds();
  ASSERT_FALSE(seeds.empty());
  constexpr std::size_t kCuts = 8;  // chosen so that all seeds run in a few seconds
  for (const std::string& seed : seeds)
    for (std::size_t cut = 0; cut <= kCuts; ++cut) one.parse(seed.substr(0, seed.size() * cut / kCuts));
}

INSTANTIATE_TEST_SUITE_P(Parsers, Seeds, ::testing::ValuesIn(parsers().begin(), parsers().end()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace lockstep::fuzzing
