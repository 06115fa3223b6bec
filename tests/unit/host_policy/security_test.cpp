// The table in SECURITY.md matches the schema, and shows which field of a host policy a setting needs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "drivers/host_policy/map.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kBegin = "<!-- settings -->\n";
constexpr std::string_view kEnd = "<!-- end of settings -->";
const std::string kFile = std::string(LOCKSTEP_SOURCE_DIR) + "/SECURITY.md";

std::string needs(RowId id) {
  if (schema_row(id).power < Power::dma_isolation) return "";
  std::string path(schema_row(id).pattern);
  for (std::size_t at = path.find('*'); at != path.npos; at = path.find('*', at)) path.replace(at, 1, "x");
  if (path == "raw[x][x]") path = "raw[sonic][TABLE|key field]";  // of no other driver yet
  const Touched touched = touched_by({Path::parse(path).operator*(), {}, Value::text("x"), 0});
  if (touched.acs) return "`pci.acs`";
  for (const auto& [subject, name] : touched.names)
    if (subject != PolicySubject::interface) return "`" + std::string(field_of(subject)) + "`";
  return "no rule can allow it yet";
}

std::string table() {
  std::string out = "| setting | power | needs the policy's | what it is |\n| --- | --- | --- | --- |\n";
  for (const Power power : {Power::runs_code, Power::dma_isolation, Power::reachability, Power::performance})
    for (RowId id = 0; id < kSchema.size(); ++id)
      if (schema_row(id).power == power)
        out += "| `" + std::string(schema_row(id).pattern) + "` | " + std::string(to_string(power)) + " | " +
               needs(id) + " | " + std::string(schema_row(id).doc) + " |\n";
  return out;
}

TEST(Security, TheTableIsTheSchema) {
  std::stringstream text;
  text << std::ifstream(kFile).rdbuf();
  std::string page = text.str();
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  ASSERT_NE(begin, page.npos);
  ASSERT_NE(end, page.npos);
  const std::size_t from = begin + kBegin.size();
  if (std::getenv("LOCKSTEP_UPDATE") != nullptr)
    std::ofstream(kFile) << page.replace(from, end - from, table());
  else
    EXPECT_EQ(page.substr(from, end - from), table()) << "LOCKSTEP_UPDATE=1 writes it";
}

}  // namespace
}  // namespace lockstep
