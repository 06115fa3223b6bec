// Vendors' published RoCE guides can be written as specs, and compile to the published values: each
// expected.txt was written from the guide (docs/roce.md lists the guides), not from the output of compile.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "specs/compile/compile.hpp"
#include "specs/fabric/proofs.hpp"
#include "specs/language/load.hpp"

namespace lockstep {
namespace {

const std::filesystem::path kSource(LOCKSTEP_SOURCE_DIR);

class Guide : public ::testing::TestWithParam<std::string> {};

TEST_P(Guide, CompilesToItsValues) {
  const std::filesystem::path folder = kSource / "tests/cases/guides" / GetParam();
  const Loaded loaded = load({folder.string()});
  for (const Diagnostic& one : loaded.diagnostics) ADD_FAILURE() << one.code << " " << one.message;
  const Compiled compiled = compile(loaded.catalog);
  for (const Diagnostic& one : prove(loaded.catalog, compiled.topology))
    EXPECT_NE(one.severity, Severity::error) << one.code << " " << one.message;

  std::ifstream expected(folder / "expected.txt");
  std::size_t lines = 0;
  for (std::string line; std::getline(expected, line); ++lines) {
    const std::size_t blank = line.find(' ');
    const std::size_t equals = line.find(" = ");
    ASSERT_TRUE(blank != line.npos && equals != line.npos && blank < equals) << line;
    const DeviceIndex device = compiled.topology.find_device(line.substr(0, blank));
    ASSERT_NE(device, kNone) << line;
    const Result<Path> path = Path::parse(line.substr(blank + 1, equals - blank - 1));
    ASSERT_TRUE(path) << line << ": " << path.error().what;
    const Value is = compiled.intents[device].want.value(*path);
    EXPECT_EQ(is ? is.to_string() : "nothing", line.substr(equals + 3)) << line;
  }
  EXPECT_GE(lines, 3U);
}

TEST_P(Guide, IsInTheTableOfTheDocumentation) {
  std::ifstream file(kSource / "docs/roce.md");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("`" + GetParam() + "`"), std::string::npos);
}

std::vector<std::string> parts_of(const std::string& line) {
  constexpr std::string_view between = " | ";
  std::vector<std::string> out;
  std::size_t from = 0;
  for (std::size_t at = line.find(between); at != line.npos; at = line.find(between, from)) {
    out.push_back(line.substr(from, at - from));
    from = at + between.size();
  }
  out.push_back(line.substr(from));
  for (std::string& one : out)
    for (std::size_t at = one.find("\\n"); at != one.npos; at = one.find("\\n")) one.replace(at, 2, "\n");
  return out;
}

// Guides with one mistake: the rule about it fails, and does not fail without the mistake.
TEST(Guides, WithOneMistakeFailTheMatchingRule) {
  const auto codes = [](const std::string& text) {
    const Loaded loaded = load_text("cluster.yaml", text);
    std::set<std::string> out;
    for (const Diagnostic& one : loaded.diagnostics) out.insert(one.code);
    const Expanded expanded = expand(loaded.catalog);
    for (const Diagnostic& one : expanded.diagnostics) out.insert(one.code);
    for (const Diagnostic& one : prove(loaded.catalog, expanded.topology)) out.insert(one.code);
    return out;
  };
  std::ifstream file(kSource / "tests/cases/guides/broken.txt");
  std::size_t rules = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    if (line.ends_with(" |")) line += " ";
    const std::vector<std::string> parts = parts_of(line);
    ASSERT_TRUE(parts.size() >= 4 && parts.size() % 2 == 0) << line;
    std::ostringstream whole;
    whole << std::ifstream(kSource / "tests/cases/guides" / parts[1] / "cluster.yaml").rdbuf();
    std::string text = whole.str();
    EXPECT_FALSE(codes(text).contains(parts[0])) << line;
    for (std::size_t i = 2; i < parts.size(); i += 2) {
      std::size_t at = text.find(parts[i]);
      ASSERT_NE(at, text.npos) << parts[i];
      for (; at != text.npos; at = text.find(parts[i], at + parts[i + 1].size()))
        text.replace(at, parts[i].size(), parts[i + 1]);
    }
    const std::set<std::string> wrong = codes(text);
    EXPECT_TRUE(wrong.contains(parts[0])) << line << ": " << ::testing::PrintToString(wrong);
    ++rules;
  }
  EXPECT_GE(rules, 26U);
}

std::vector<std::string> all_guides() {
  std::vector<std::string> out;
  for (const auto& one : std::filesystem::directory_iterator(kSource / "tests/cases/guides"))
    if (one.is_directory()) out.push_back(one.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, Guide, ::testing::ValuesIn(all_guides()), [](const auto& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace lockstep
