#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "specs/model/schema_rows.hpp"
#include "tests/unit/compile/golden.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

class CompileCase : public testing::TestWithParam<fs::path> {};

TEST_P(CompileCase, MatchesItsGolden) {
  const golden::Case one = golden::read(GetParam());
  const Compiled compiled = compile(one.loaded.catalog, one.options);
  const std::string text = golden::print(one, compiled);
  const fs::path file = GetParam() / "intent.txt";
  if (std::getenv("LOCKSTEP_UPDATE_CASES") != nullptr) {
    std::ofstream(file) << text;
    return;
  }
  std::ostringstream expected;
  expected << std::ifstream(file).rdbuf();
  EXPECT_EQ(text, expected.str()) << "if this is as it should be: LOCKSTEP_UPDATE_CASES=1 " << file;
}

TEST_P(CompileCase, IsTheSameEveryTimeAndWithOneThread) {
  golden::Case one = golden::read(GetParam());
  const std::string first = golden::print(one, compile(one.loaded.catalog, one.options));
  one.options.threads = 1;
  EXPECT_EQ(first, golden::print(one, compile(one.loaded.catalog, one.options)));
}

TEST_P(CompileCase, TreesAreInPathOrderWithoutDoubles) {
  const golden::Case one = golden::read(GetParam());
  for (const Intent& intent : compile(one.loaded.catalog, one.options).intents) {
    const auto entries = intent.want.entries();
    for (std::size_t i = 1; i < entries.size(); ++i)
      ASSERT_LT(entries[i - 1].path, entries[i].path)
          << intent.device << ": " << entries[i - 1].path.text() << " before " << entries[i].path.text();
  }
}

TEST_P(CompileCase, EveryEntryHasAnOriginInTheSpecs) {
  const golden::Case one = golden::read(GetParam());
  const Compiled compiled = compile(one.loaded.catalog, one.options);
  for (const Intent& intent : compiled.intents) {
    for (const Entry& entry : intent.want.entries()) {
      ASSERT_NE(entry.origin, 0u) << entry.path.text();
      ASSERT_NE(compiled.origins[entry.origin].at.line, 0u) << entry.path.text();
      ASSERT_FALSE(compiled.origins[entry.origin].rule.empty()) << entry.path.text();
    }
  }
}

TEST_P(CompileCase, ValuesAreOfTheirRowsTypes) {
  const golden::Case one = golden::read(GetParam());
  for (const Intent& intent : compile(one.loaded.catalog, one.options).intents) {
    for (const Entry& entry : intent.want.entries()) {
      static const std::map<EntryType, Value::Kind> kKinds{
          {EntryType::present, Value::Kind::present}, {EntryType::boolean, Value::Kind::boolean},
          {EntryType::integer, Value::Kind::integer}, {EntryType::text, Value::Kind::text},
          {EntryType::list, Value::Kind::list},       {EntryType::secret, Value::Kind::secret}};
      ASSERT_EQ(entry.value.kind(), kKinds.at(schema_row(entry.path.row()).type)) << entry.path.text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompileCase, testing::ValuesIn(golden::folders()), [](const auto& tested) {
  std::string name = tested.param.filename();
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

// Rows that no case produces. The list should only shrink: a row that is added needs a reason beside it.
const std::set<std::string_view> kNotYetProduced{};

TEST(CompileCases, ProduceEveryRow) {
  std::set<std::string_view> produced;
  for (const fs::path& folder : golden::folders()) {
    const golden::Case one = golden::read(folder);
    for (const Intent& intent : compile(one.loaded.catalog, one.options).intents) {
      for (const Entry& entry : intent.want.entries()) produced.insert(schema_row(entry.path.row()).pattern);
      for (const Claim& claim : intent.claims) produced.insert(schema_row(claim.collection).pattern);
    }
  }
  for (const Row& one : kSchema) {
    if (kNotYetProduced.contains(one.pattern))
      EXPECT_FALSE(produced.contains(one.pattern)) << one.pattern << " is produced now: take it off the list";
    else
      EXPECT_TRUE(produced.contains(one.pattern)) << one.pattern << " is produced by no case";
  }
}

}  // namespace
}  // namespace lockstep
