// An override accepts every value that compile produces for whole clusters, with the same meaning.
#include "specs/compile/entry_fields.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <set>

#include "specs/compile/compile.hpp"
#include "specs/compile/exceptions.hpp"
#include "specs/language/load.hpp"
#include "specs/language/node.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/any_integer.hpp"

namespace lockstep {
namespace {

Literal plain(std::string_view text) {
  Literal literal;
  literal.shape = Literal::Shape::integer;
  literal.plain = true;
  literal.text = text;
  return literal;
}

// The value as a user would write it: an amount that is text has its unit.
Literal literal_of(RowId id, Value value) {
  constexpr std::int64_t of_permille = 1000;  // parts per million
  if (schema_row(id).unit == "‰")
    return plain(format(Ratio{static_cast<std::uint32_t>(value.as_integer() * of_permille)}));
  if (value.kind() == Value::Kind::integer) return plain(value.to_string());
  Literal literal;
  literal.shape = Literal::Shape::text;
  literal.text = value.as_text();
  if (id == row("memlock") && literal.text != "unlimited") literal.text += "B";
  if (value.kind() != Value::Kind::list) return literal;
  literal.shape = Literal::Shape::list;
  for (const std::string_view item : value.as_list()) literal.items.push_back(plain(item));
  return literal;
}

std::vector<Entry> wanted_by(const std::string& folder) {
  const Loaded loaded = load({std::string(LOCKSTEP_SOURCE_DIR) + folder});
  const Compiled compiled = compile(loaded.catalog);
  std::vector<Entry> all;
  for (const Intent& one : compiled.intents)
    all.insert(all.end(), one.want.entries().begin(), one.want.entries().end());
  return all;
}

TEST(EntryFields, AcceptCompiledValues) {
  std::set<RowId> seen;
  const Sources none;
  for (const char* const folder :
       {"/tests/cases/compile/every-kind", "/tests/cases/compile/nic-parameters", "/examples/rail-pod"})
    for (const Entry& entry : wanted_by(folder)) {
      const EntryField* const field = field_of_entry(entry.path.row());
      if (field == nullptr || !seen.insert(entry.path.row()).second) continue;
      Diagnostics told;
      Reporter reporter(none, told);
      const std::optional<Value> value = read(*field, literal_of(entry.path.row(), entry.value), reporter);
      const std::string text = entry.path.text() + ": " + entry.value.to_string();
      ASSERT_TRUE(value) << text << (told.empty() ? "" : ": " + told[0].message);
      EXPECT_EQ(*value, entry.value) << text << " became " << value->to_string();
    }
  EXPECT_GT(seen.size(), 30U);
}

// Reads an override's YAML value for an entry without a field that bounds it.
std::optional<Value> written(const std::string& yaml) {
  Sources sources;
  const std::uint32_t file = sources.add("test.yaml", yaml);
  Diagnostics told;
  Reporter reporter(sources, told);
  std::optional<Value> out;
  read_documents(file, reporter, [&](const Node& document) {
    if (const auto value = value_of(row("bond[*]/min-links"), lockstep::literal_of(document))) out = *value;
  });
  return out;
}

RC_GTEST_PROP(ValueYaml, KeepsEveryInteger, ()) {
  const std::int64_t number = *any_integer();
  RC_ASSERT(written(std::to_string(number)) == Value::integer(number));
}

TEST(ValueYaml, RefusesANumberThatIsNotAnInteger) {
  for (const char* const text :
       {"9223372036854775808", "-9223372036854775809", "18446744073709551616", "1.5"})
    EXPECT_FALSE(written(text)) << text;
}

TEST(ValueYaml, KeepsTheLargestAmountThatAFieldAccepts) {
  const EntryField* const field = field_of_entry(row("interface[*]/ecn-threshold"));
  ASSERT_NE(field, nullptr);
  const auto read_amount = [field](const std::string& text) {
    const Sources none;
    Diagnostics told;
    Reporter reporter(none, told);
    return read(*field, plain(text), reporter);
  };
  EXPECT_EQ(read_amount("9223372036854775807"), Value::integer(std::numeric_limits<std::int64_t>::max()));
  EXPECT_FALSE(read_amount("9223372036854775808"));
}

}  // namespace
}  // namespace lockstep
