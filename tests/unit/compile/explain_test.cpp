#include "specs/compile/explain.hpp"

#include <gtest/gtest.h>

#include <map>

#include "specs/compile/rules.hpp"
#include "specs/language/load.hpp"

namespace lockstep {
namespace {

// Rules that compute a number from a pool, or a value from others: explain must show their terms.
constexpr std::string_view kComputed[] = {
    rule::host_link_address, rule::loopback,  rule::router_id,   rule::asn,       rule::aggregate,
    rule::headroom,          rule::ecn_auto,  rule::ecmp_routes, rule::lldp_peer, rule::max_rate,
    rule::rail_table,        rule::rail_rule, rule::rail_routes, rule::cabling,   rule::cable_length};

void explain_all(bool twin, std::map<std::string, std::size_t>& terms_of_rule) {
  const Loaded loaded = load({LOCKSTEP_SOURCE_DIR "/examples/rail-pod"});
  ASSERT_FALSE(has_errors(loaded.diagnostics));
  CompileOptions options;
  if (twin) options.twin = TwinScale{};
  const Compiled compiled = compile(loaded.catalog, options);
  for (const Intent& intent : compiled.intents)
    for (const Entry& entry : intent.want.entries()) {
      SCOPED_TRACE(intent.device + " " + entry.path.text());
      const auto explanation = explain(compiled, loaded.catalog, intent.device, entry.path);
      ASSERT_TRUE(explanation);
      EXPECT_EQ(explanation->value, entry.value);
      EXPECT_FALSE(explanation->doc.empty());
      EXPECT_FALSE(explanation->origin.object.empty());
      EXPECT_GT(explanation->origin.at.line, 0U) << "every entry has a spec line that wants it";
      EXPECT_LT(explanation->origin.at.file, loaded.catalog.sources.files.size());
      for (const ExplainTerm& term : explanation->terms) EXPECT_FALSE(term.value.empty()) << term.name;
      std::size_t& terms = terms_of_rule.try_emplace(explanation->origin.rule, ~0ULL).first->second;
      terms = std::min(terms, explanation->terms.size());
    }
}

TEST(Explain, ExampleEntriesHaveOriginsAndComputedOnesHaveTerms) {
  std::map<std::string, std::size_t> terms_of_rule;  // the fewest of any entry
  explain_all(false, terms_of_rule);
  for (const std::string_view name : kComputed) {
    const auto found = terms_of_rule.find(std::string(name));
    ASSERT_NE(found, terms_of_rule.end()) << name << " is in no entry of the example";
    EXPECT_GT(found->second, 0U) << name;
    EXPECT_FALSE(rule_sentence(name).empty()) << name;
  }
}

TEST(Explain, RateOfATwinHasTheTermsOfItsScale) {
  std::map<std::string, std::size_t> terms_of_rule;
  explain_all(true, terms_of_rule);
  EXPECT_GT(terms_of_rule[std::string(rule::twin_rate)], 2U);
}

TEST(Explain, ConstantsAreNumbersWithUnitAndSource) {
  const Loaded loaded = load({LOCKSTEP_SOURCE_DIR "/examples/rail-pod"});
  const Compiled compiled = compile(loaded.catalog);
  const auto size =
      explain(compiled, loaded.catalog, "leaf0", *Path::parse("interface[swp1]/buffer[3]/size"));
  ASSERT_TRUE(size);
  std::size_t sourced = 0;
  for (const ExplainTerm& term : size->terms) sourced += term.number && !term.source.empty() ? 1 : 0;
  EXPECT_GE(sourced, 6U);
}

}  // namespace
}  // namespace lockstep
