// Limits for hostile input: the number of diagnostics is bounded, nothing crashes, and refusals have codes.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <random>

#include "specs/language/codes.hpp"
#include "specs/language/excerpt.hpp"
#include "specs/language/load.hpp"
#include "specs/language/reporter.hpp"

namespace lockstep {
namespace {

std::string repeated(std::string_view what, std::size_t bytes) {
  std::string text;
  text.reserve(bytes + what.size());
  while (text.size() < bytes) text += what;
  return text;
}

bool reports(const Loaded& loaded, std::string_view code) {
  for (const Diagnostic& one : loaded.diagnostics)
    if (one.code == code) return true;
  return false;
}

TEST(Limits, AliasBombIsRefused) {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) text += std::string(k > 0 ? "," : "") + "*a" + std::to_string(i - 1);
    text += "]\n";
  }
  EXPECT_TRUE(reports(load_text("bomb.yaml", text), code::too_many_nodes));
}

TEST(Limits, NestedAliasesCountTowardsTheDepthLimit) {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 70; ++i)
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  EXPECT_TRUE(reports(load_text("tower.yaml", text), code::too_deep));
}

TEST(Limits, DeepNestingIsRefusedBeforeTheParserRecurses) {
  EXPECT_TRUE(reports(load_text("x", repeated("[", 4 << 20)), code::too_deep));
  EXPECT_TRUE(reports(load_text("x", repeated("{a: ", 4 << 20)), code::too_deep));
  EXPECT_TRUE(reports(load_text("x", repeated("- ", 1 << 16)), code::too_deep));
  EXPECT_TRUE(reports(load_text("x", repeated("? ", 1 << 16)), code::too_deep));
}

TEST(Limits, AFlowCollectionOfMillionsIsRefusedBeforeItIsScanned) {
  EXPECT_TRUE(reports(load_text("x", "a: [" + repeated("x,", 6 << 20) + "x]"), code::too_many_nodes));
}

TEST(Limits, MoreThan16MiBAreRefused) {
  EXPECT_TRUE(reports(load_text("x", std::string((16 << 20) + 1, ' ')), code::too_large));
}

TEST(Limits, AMapOfManyKeysIsCheckedForDuplicates) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  const Loaded loaded = load_text("x", text + "k7: 2\n");
  ASSERT_TRUE(reports(loaded, code::duplicate_key));
  for (const Diagnostic& one : loaded.diagnostics) {
    if (one.code != code::duplicate_key) continue;
    EXPECT_EQ(one.at.line, 20'001U);
    EXPECT_EQ(one.related.at(0).at.line, 8U);
  }
}

TEST(Limits, DiagnosticsAreBounded) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "---\nkind: Nothing\n";
  const Loaded loaded = load_text("x", text);
  EXPECT_EQ(loaded.diagnostics.size(), diagnostics_limit + 1);
  EXPECT_EQ(loaded.diagnostics.back().code, code::too_many_errors);
}

// yaml-cpp starts an empty document at each character that it cannot use, without end.
TEST(Limits, RepeatedTokensEnd) {
  for (const char* token :
       {"[",      "{",           "]",        "}",          ",",   ":",   "- ",  "? ",  "a: ",   "&a ",
        "*a ",    "!a ",         "\"",       "'",          "|\n", ">\n", "%\n", "@",   "`",     "...\n",
        "---\n",  "--- a\n",     "# ",       "\t",         "\n",  "a\n", "[]",  "{},", "[[]],", "\r\n",
        "a: b: ", "%YAML 1.2\n", "\xc3\xa9", "a: |\n x\n", "&",   "*",   "!",   "!<",  "\\"})
    for (const char* before : {"", "[", "{", "a: ", "a: |\n ", "\"", "- "}) {
      const Loaded loaded = load_text("x", before + repeated(token, 3000));
      EXPECT_LE(loaded.diagnostics.size(), diagnostics_limit + 1) << before << token;
    }
}

void survives(const std::string& text) {
  const Loaded loaded = load_text("fuzz.yaml", text);
  ASSERT_LE(loaded.diagnostics.size(), diagnostics_limit + 1);
  const std::string shown = excerpts(loaded.diagnostics, loaded.catalog.sources, Colour::off);
  ASSERT_EQ(shown.find('\x1b'), std::string::npos);
}

TEST(Limits, MutatedSpecsNeverCrash) {
  std::mt19937_64 random(20261121);
  const Loaded example = load({std::string(LOCKSTEP_SOURCE_DIR) + "/tests/cases/language/design-page"});
  const std::string whole = example.catalog.sources.files.at(1).text;
  const std::string alphabet = "[]{},:-?&*!|>'\"#%@`\n\t \\0189az~<\xc3\xa9\xff";
  for (int round = 0; round < 150; ++round) {
    std::string text = whole.substr(random() % whole.size(), 200 + random() % 2500);
    for (std::size_t edits = 1 + random() % 12; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      const std::size_t from = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = alphabet[random() % alphabet.size()]; break;
        case 1: text.insert(at, 1, alphabet[random() % alphabet.size()]); break;
        case 2: text.erase(at, 1 + random() % 8); break;
        default: text.insert(at, text.substr(from, random() % 60)); break;
      }
      if (text.empty()) text = "a";
    }
    survives(text);
  }
}

TEST(Limits, RandomBytesNeverCrash) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 400; ++round) {
    std::string text;
    const unsigned span = round % 2 == 0 ? 256 : 96;  // half of them printable, so that the parser sees them
    for (std::size_t n = random() % 300; n > 0; --n)
      text += static_cast<char>(span == 96 ? 32 + random() % 96 : random() % 256);
    survives(text);
  }
}

}  // namespace
}  // namespace lockstep
