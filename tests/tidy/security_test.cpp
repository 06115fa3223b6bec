// Every claim of SECURITY.md names existing tests that try to break it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string all_tests() {
  std::string out;
  for (const auto& one : fs::recursive_directory_iterator(fs::path(LOCKSTEP_SOURCE_DIR) / "tests")) {
    const fs::path& path = one.path();
    if (path.extension() == ".cpp" || path.filename() == "CMakeLists.txt") out += text_of(path);
  }
  return out;
}

// `name` is a ctest name without a dot, or Suite.Test of GoogleTest.
bool is_there(const std::string& name, const std::string& tests) {
  const std::size_t dot = name.find('.');
  if (dot == name.npos)
    return tests.find("add_test(NAME " + name + " ") != tests.npos ||
           std::regex_search(tests,
                             std::regex("foreach\\(name[^)]*\\b" + name.substr(name.find('_') + 1) + "\\b"));
  return std::regex_search(
      tests, std::regex("TEST(_F|_P)?\\(" + name.substr(0, dot) + ",\\s*" + name.substr(dot + 1) + "\\)"));
}

TEST(Tidy, SecurityClaimsNameExistingTests) {
  const std::string page = text_of(fs::path(LOCKSTEP_SOURCE_DIR) / "SECURITY.md");
  const std::string tests = all_tests();
  std::istringstream lines(page);
  std::string claim;
  std::size_t named = 0;
  const auto judge = [&] {
    if (!claim.starts_with("- ")) return;
    const std::size_t open = claim.rfind('(');
    ASSERT_NE(open, claim.npos) << "no tests in brackets at the end: " << claim;
    const std::regex in_ticks("`([A-Za-z_]+(\\.[A-Za-z0-9_]+)?)`");
    const std::string tail = claim.substr(open);
    std::size_t here = 0;
    for (std::sregex_iterator at(tail.begin(), tail.end(), in_ticks), end; at != end; ++at, ++here)
      EXPECT_TRUE(is_there((*at)[1], tests)) << (*at)[1] << " is no test";
    EXPECT_GT(here, 0U) << "no test is named: " << claim;
    named += here;
  };
  for (std::string line; std::getline(lines, line);) {
    if (line == "## What does not hold") break;
    const bool goes_on = line.starts_with("  ");
    if (goes_on) {
      claim += " " + line.substr(2);
      continue;
    }
    judge();
    claim = line;
  }
  judge();
  EXPECT_GT(named, 10U);
}

}  // namespace
