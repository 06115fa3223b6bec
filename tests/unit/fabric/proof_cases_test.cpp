// Golden folders: tests/cases/prove/<rule>-<what>-{ok,bad}/ with cluster.yaml and expected.txt, all
// diagnostics of load, expand and prove. LOCKSTEP_UPDATE=1 rewrites expected.txt.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "specs/fabric/proofs.hpp"
#include "specs/language/load.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

const fs::path& root() {
  static const fs::path path = fs::path(LOCKSTEP_SOURCE_DIR) / "tests/cases/prove";
  return path;
}

std::vector<std::string> cases() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(root()))
    if (entry.is_directory()) out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string place(const Sources& sources, Position at) {
  if (at.file == 0 || at.file >= sources.files.size()) return "(no place)";
  return fs::path(sources.files[at.file].name).filename().string() + ":" + std::to_string(at.line) + ":" +
         std::to_string(at.column);
}

Diagnostics all_of(Loaded& loaded) {
  Diagnostics all = loaded.diagnostics;
  Expanded expanded = expand(loaded.catalog);
  all.insert(all.end(), expanded.diagnostics.begin(), expanded.diagnostics.end());
  const Diagnostics proved = prove(loaded.catalog, expanded.topology);
  all.insert(all.end(), proved.begin(), proved.end());
  return all;
}

std::string text_of(const Sources& sources, const Diagnostics& all) {
  std::string out;
  for (const Diagnostic& one : all) {
    out += place(sources, one.at) + ": " + (one.severity == Severity::error ? "error " : "warning ") +
           one.code + ": " + one.message + "\n";
    if (!one.hint.empty()) out += "    " + one.hint + "\n";
    for (const Related& related : one.related)
      out += "    " + place(sources, related.at) + ": " + related.message + "\n";
  }
  return out.empty() ? "proved\n" : out;
}

class ProofCase : public testing::TestWithParam<std::string> {};

TEST_P(ProofCase, MatchesItsGolden) {
  const fs::path folder = root() / GetParam();
  Loaded loaded = load({(folder / "cluster.yaml").string()});
  const Diagnostics all = all_of(loaded);
  const std::string text = text_of(loaded.catalog.sources, all);
  if (std::getenv("LOCKSTEP_UPDATE") != nullptr) std::ofstream(folder / "expected.txt") << text;
  EXPECT_EQ(text, read(folder / "expected.txt"));

  const std::string code = GetParam().substr(0, 5);
  const bool bad = GetParam().ends_with("-bad");
  const std::string reported = code == "LS107" ? "LS1205" : code;
  EXPECT_EQ(std::any_of(all.begin(), all.end(), [&](const Diagnostic& one) { return one.code == reported; }),
            bad);
  if (!bad) {
    EXPECT_EQ(text, "proved\n");
  }
  for (const Diagnostic& one : all)
    EXPECT_NE(one.at.file, 0U) << one.code << " cites no line: " << one.message;
}

INSTANTIATE_TEST_SUITE_P(Folders, ProofCase, testing::ValuesIn(cases()), [](const auto& one) {
  std::string name = one.param;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

TEST(ProofRules, EachHasAPassingAndAFailingCase) {
  std::set<std::string> folders;
  for (const std::string& one : cases())
    folders.insert(one.substr(0, 5) + (one.ends_with("-bad") ? "-bad" : "-ok"));
  std::set<std::string_view> seen;
  for (const CodeRow& rule : proof_rules()) {
    EXPECT_TRUE(seen.insert(rule.code).second) << rule.code << " twice";
    EXPECT_FALSE(rule.rule.empty() || rule.reason.empty() || rule.remedy.empty()) << rule.code;
    EXPECT_TRUE(folders.contains(std::string(rule.code) + "-bad")) << rule.code;
    EXPECT_TRUE(folders.contains(std::string(rule.code) + "-ok")) << rule.code;
  }
}

TEST(ProofRules, TheExamplePodIsProvedWithoutAWarning) {
  Loaded loaded = load({(fs::path(LOCKSTEP_SOURCE_DIR) / "examples/rail-pod").string()});
  EXPECT_EQ(text_of(loaded.catalog.sources, all_of(loaded)), "proved\n");
}

}  // namespace
}  // namespace lockstep
