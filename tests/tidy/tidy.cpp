// The source lints, as a test: rules that reviewers would otherwise have to repeat. Each rule reports the
// file and line. A commit that raises a limit must state the reason.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct SourceText {
  std::string path;  // from the repository root
  std::vector<std::string> lines;
  bool header() const { return path.ends_with(".hpp"); }
  bool product() const { return !path.starts_with("tests/"); }
};

std::vector<SourceText> read_sources() {
  std::vector<SourceText> all;
  const fs::path root = LOCKSTEP_SOURCE_DIR;
  for (const char* const top : {"specs", "drivers", "bench", "reconciler", "examples", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".hpp" && extension != ".cpp" && extension != ".c") continue;
      SourceText source;
      source.path = fs::relative(entry.path(), root).string();
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) source.lines.push_back(line);
      all.push_back(std::move(source));
    }
  }
  std::sort(all.begin(), all.end(), [](const SourceText& a, const SourceText& b) { return a.path < b.path; });
  return all;
}

const std::vector<SourceText>& sources() {
  static const std::vector<SourceText> all = read_sources();
  return all;
}

// The line without a // comment and without the inside of string literals.
std::string code_of(const std::string& line) {
  std::string out;
  bool in_text = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!in_text && line.compare(i, 2, "//") == 0) break;
    if (line[i] == '\\' && in_text) {
      ++i;
      continue;
    }
    if (line[i] == '"') in_text = !in_text;
    if (!in_text || line[i] == '"') out += line[i];
  }
  return out;
}

using Rule = std::function<std::string(const SourceText&, const std::string& line)>;

// Applies a rule to every line of the sources that `applies` selects; a non-empty result is a failure there.
void every_line(const std::function<bool(const SourceText&)>& applies, const Rule& rule) {
  for (const SourceText& source : sources()) {
    if (!applies(source)) continue;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const std::string complaint = rule(source, source.lines[i]);
      if (!complaint.empty()) ADD_FAILURE() << source.path << ":" << i + 1 << ": " << complaint;
    }
  }
}

bool any(const SourceText&) { return true; }
bool product(const SourceText& source) { return source.product(); }

// Folders in the order of dependency: a folder may include only itself and those before it.
constexpr std::array<std::string_view, 36> kOrder{"specs/model",
                                                  "specs/files",
                                                  "specs/language",
                                                  "specs/platforms",
                                                  "specs/fabric",
                                                  "specs/compile",
                                                  "drivers/posix",
                                                  "drivers/runtime",
                                                  "drivers/mapped",
                                                  "drivers/linux",
                                                  "drivers/frr",
                                                  "drivers/host_policy",
                                                  "drivers/agent",
                                                  "drivers/sonic",
                                                  "drivers/sim",
                                                  "bench",
                                                  "reconciler/measure",
                                                  "reconciler/engine",
                                                  "reconciler/source",
                                                  "reconciler/store",
                                                  "reconciler/pki",
                                                  "reconciler/twin",
                                                  "reconciler/sonic_stand_in",
                                                  "reconciler/local",
                                                  "reconciler/agent/",
                                                  "reconciler/agent_cli",
                                                  "reconciler/session",
                                                  "reconciler/service",
                                                  "reconciler/metrics",
                                                  "reconciler/report",
                                                  "reconciler/client",
                                                  "reconciler/api",
                                                  "reconciler/alerts",
                                                  "reconciler/cli",
                                                  "examples",
                                                  "tests"};

// bench and bench/tcp share a rank, as they include each other's headers; the seam, drivers/driver.hpp, ranks
// as drivers/runtime.
int rank(std::string_view path) {
  if (path.starts_with("drivers/driver.hpp")) return rank("drivers/runtime");
  for (std::size_t i = 0; i < kOrder.size(); ++i)
    if (path.starts_with(kOrder[i])) return static_cast<int>(i);
  return static_cast<int>(kOrder.size());
}

TEST(Tidy, FindsTheSources) { ASSERT_GT(sources().size(), 50U); }

TEST(Tidy, IncludesFollowTheLayers) {
  every_line(product, [](const SourceText& source, const std::string& line) -> std::string {
    if (!line.starts_with("#include \"")) return {};
    const std::string included = line.substr(10, line.find('"', 10) - 10);
    if (included.find('/') == std::string::npos)
      return "include from the repository root: \"" + included + "\"";
    if (rank(included) > rank(source.path)) return "includes against the direction: \"" + included + "\"";
    return {};
  });
}

// Simulated devices and virtual time are for tests only: no product library links them.
TEST(Tidy, OnlyTestsSimulate) {
  every_line(product, [](const SourceText& source, const std::string& line) -> std::string {
    return !source.path.starts_with("drivers/sim/") && line.starts_with("#include \"drivers/sim/")
               ? "the product includes a simulation"
               : "";
  });
  std::ifstream links(fs::path(LOCKSTEP_SOURCE_DIR) / "reconciler" / "CMakeLists.txt");
  ASSERT_TRUE(links);
  for (std::string line; std::getline(links, line);)
    EXPECT_EQ((" " + line + " ").find(" sim "), std::string::npos) << "links a simulation: " << line;
}

// Its callers may have no console: a service, a simulation.
TEST(Tidy, TheSessionPrintsNothing) {
  constexpr std::array<std::string_view, 7> kBanned{"stdout", "stderr",  "isatty",  "printf",
                                                    "fputs",  "Console", "Terminal"};
  every_line([](const SourceText& source) { return source.path.starts_with("reconciler/session/"); },
             [&](const SourceText&, const std::string& line) -> std::string {
               const std::string code = code_of(line);
               for (const std::string_view word : kBanned)
                 if (code.find(word) != std::string::npos) return "a console: " + std::string(word);
               return {};
             });
}

TEST(Tidy, OnlyTheWiringAttachesDrivers) {
  every_line(
      [](const SourceText& source) {
        return source.path.starts_with("reconciler/") &&
               source.path != "reconciler/cli/program_drivers.cpp" &&
               source.path != "reconciler/local/local_drivers.cpp" &&
               source.path != "reconciler/cli/agent_networks.hpp";
      },
      [](const SourceText& source, const std::string& line) -> std::string {
        if (!line.starts_with("#include \"drivers/") || line.starts_with("#include \"drivers/driver.hpp\"") ||
            line.starts_with("#include \"drivers/runtime/") || line.starts_with("#include \"drivers/posix/"))
          return {};
        const bool attaches = line.find("/driver.hpp\"") != std::string::npos;
        return attaches || source.path.starts_with("reconciler/session/")
                   ? "names a driver: the driver table has it"
                   : "";
      });
}

TEST(Tidy, FilesAreShort) {
  constexpr std::size_t kLinesMax = 500;
  for (const SourceText& source : sources())
    EXPECT_LE(source.lines.size(), kLinesMax) << source.path << " has more than " << kLinesMax << " lines";
}

TEST(Tidy, LinesAreShort) {
  bool recorded = false;  // within a raw string, whose lines may be longer
  every_line(any, [&recorded](const SourceText&, const std::string& line) -> std::string {
    constexpr std::size_t kColumnsMax = 110;  // as .clang-format
    const auto columns = static_cast<std::size_t>(std::count_if(
        line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
    if (line.find("R\"") != std::string::npos) recorded = true;
    const bool as_it_is = recorded || line.find("http") != std::string::npos;
    if (line.find(")\"") != std::string::npos || line.find(")yaml\"") != std::string::npos) recorded = false;
    return columns > kColumnsMax && !as_it_is ? "line of " + std::to_string(columns) + " columns" : "";
  });
}

// clang-format indents everything inside a function deeper than its first line and its closing brace.
void functions_are_short(const SourceText& source, const std::string& indent) {
  constexpr std::size_t kLinesMax = 60;
  const auto begins_here = [&indent](const std::string& line) {
    return line.starts_with(indent) && line.size() > indent.size() &&
           std::string_view(" }#/").find(line[indent.size()]) == std::string_view::npos;
  };
  std::size_t start = 0;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    if (begins_here(source.lines[i])) start = i;
    if (source.lines[i] != indent + "}") continue;
    if (const std::size_t length = i - start + 1; length > kLinesMax)
      ADD_FAILURE() << source.path << ":" << start + 1 << ": function of " << length << " lines";
  }
}

TEST(Tidy, FunctionsAreShort) {
  for (const SourceText& source : sources())
    if (source.product())
      for (const char* const indent : {"", "  "}) functions_are_short(source, indent);
}

TEST(Tidy, HeadersStateTheirPurpose) {
  for (const SourceText& source : sources()) {
    if (!source.header() || !source.product()) continue;
    ASSERT_FALSE(source.lines.empty()) << source.path;
    EXPECT_TRUE(source.lines[0].starts_with("// ")) << source.path << " does not open with what it is for";
    EXPECT_TRUE(std::find(source.lines.begin(), source.lines.end(), "#pragma once") != source.lines.end())
        << source.path;
  }
}

bool has_word(std::string_view identifier, std::string_view word) {
  std::string lower;
  for (std::size_t i = 0; i < identifier.size(); ++i) {
    const char c = identifier[i];
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && i > 0) lower += '_';
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const std::string padded = "_" + lower + "_";
  return padded.find("_" + std::string(word) + "_") != std::string::npos;
}

TEST(Tidy, TypesAndFilesHaveSpecificNames) {
  constexpr std::array<std::string_view, 9> kBanned{"manager", "helper", "util",   "utils", "handler",
                                                    "base",    "impl",   "common", "misc"};
  every_line(product, [&](const SourceText&, const std::string& line) -> std::string {
    const std::string code = code_of(line);
    for (const std::string_view keyword : {"struct ", "class ", "enum class "}) {
      if (!code.starts_with(keyword)) continue;
      const std::size_t start = keyword.size();
      const std::string name = code.substr(start, code.find_first_of(" ;:{", start) - start);
      for (const std::string_view word : kBanned)
        if (has_word(name, word)) return "'" + name + "' is named for nothing: say what it is";
    }
    return {};
  });
  for (const SourceText& source : sources())
    for (const std::string_view word : kBanned)
      EXPECT_FALSE(has_word(fs::path(source.path).stem().string(), word)) << source.path;
}

TEST(Tidy, ProductCallsNoShellAndNoSlowHeaders) {
  constexpr std::array<std::string_view, 6> kBanned{" system(",   "popen(",           "<regex>",
                                                    "<iostream>", "<boost/asio.hpp>", "std::random_device"};
  every_line(product, [&](const SourceText&, const std::string& line) -> std::string {
    const std::string code = code_of(line);
    for (const std::string_view word : kBanned)
      if (code.find(word) != std::string::npos) return "not here: " + std::string(word);
    return {};
  });
}

TEST(Tidy, NothingSleepsInTestsOrInTheEngine) {
  every_line(
      [](const SourceText& source) {
        return (source.path.starts_with("tests/") && source.path != "tests/tidy/tidy.cpp") ||
               source.path.starts_with("reconciler/engine/");
      },
      [](const SourceText&, const std::string& line) -> std::string {
        const std::string code = code_of(line);
        for (const std::string_view word : {"sleep_for", "usleep(", "sleep_until", " sleep("})
          if (code.find(word) != std::string::npos)
            return "waits by the clock: poll for a state with a deadline";
        return {};
      });
}

TEST(Tidy, OnlyCompileAndMapsNameEntries) {
  every_line(product, [](const SourceText& source, const std::string& line) -> std::string {
    // A complete driver in one file, as drivers/README.md shows it.
    const bool example = source.path == "examples/driver/driver.cpp";
    const bool may = example || source.path.starts_with("specs/compile/") ||
                     source.path.starts_with("specs/model/") || source.path.find("/map") != std::string::npos;
    return !may && line.find("row(\"") != std::string::npos && !line.starts_with("//")
               ? "an entry is named by text outside specs/compile, drivers/*/map* and specs/platforms/map*"
               : "";
  });
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
std::string word_at(const std::string& text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(at, end - at);
}

// Collects the members that a line names after a dot or an arrow, except calls.
void add_members(const std::string& code, std::set<std::string>& members) {
  for (std::size_t i = 1; i < code.size(); ++i) {
    const bool behind = code[i - 1] == '.' || (code[i - 1] == '>' && i > 1 && code[i - 2] == '-');
    const std::string word = behind ? word_at(code, i) : "";
    if (!word.empty() && (i + word.size() == code.size() || code[i + word.size()] != '('))
      members.insert(word);
  }
}

// A row of a type table: field<&Window::days>("days", ...
struct FieldRow {
  std::string object;
  std::string member;
  std::string name;
};
std::vector<FieldRow> field_rows(const SourceText& source) {
  constexpr std::string_view kBegin = "field<&";
  std::string text;
  for (const std::string& line : source.lines) text += line + "\n";
  std::vector<FieldRow> rows;
  for (std::size_t at = text.find(kBegin); at != text.npos; at = text.find(kBegin, at + 1)) {
    FieldRow row;
    row.object = word_at(text, at + kBegin.size());
    row.member = word_at(text, at + kBegin.size() + row.object.size() + 2);
    row.name = word_at(text, text.find('"', at) + 1);
    rows.push_back(row);
  }
  return rows;
}

// A field of the spec language that nothing outside specs/language reads has no effect:
// specs/language/idle_fields.cpp must list it, so that users are warned.
TEST(Tidy, EveryFieldIsReadOrListedAsIdle) {
  // Structs that only idle fields and kinds hold.
  const std::set<std::string> parts{"Cost",       "Credentials", "GitSource",
                                    "OnSchedule", "Scheduler",   "Signatures"};
  // Fields that the language itself reads (inventories, selectors), that are for other tools (annotations),
  // or that have one legal value, which is what Lockstep does anyway.
  const std::set<std::string> within{"From::csv",
                                     "From::netbox",
                                     "Metadata::labels",
                                     "Selector::match_labels",
                                     "Metadata::annotations",
                                     "Addressing::host_link"};
  std::string idle;
  std::set<std::string> read;
  for (const SourceText& source : sources()) {
    for (const std::string& line : source.lines) {
      if (source.path == "specs/language/idle_fields.cpp") idle += line;
      if (source.product() && !source.path.starts_with("specs/language/")) add_members(code_of(line), read);
    }
  }
  std::size_t fields = 0;
  for (const SourceText& source : sources()) {
    // Kinds that only the reconciler writes (records.cpp) are idle as a whole.
    if (!source.path.starts_with("specs/language/") || source.path == "specs/language/records.cpp") continue;
    for (const FieldRow& row : field_rows(source)) {
      ++fields;
      const std::string name = row.object + "::" + row.member;
      const bool told = idle.find("\"" + row.name + "\"}") != idle.npos || parts.contains(row.object);
      EXPECT_TRUE(told || within.contains(name) || read.contains(row.member))
          << source.path << ": nothing reads " << name << ", and idle_fields.cpp does not say so";
    }
  }
  EXPECT_GT(fields, 150U);
}

// Two types with the same name in one namespace violate the one-definition rule: the linker merges their
// members, and one type gets the other's destructor.
TEST(Tidy, TypeNamesAreUniqueWithinANamespace) {
  const std::regex opens(R"(^namespace( [\w:]+)? \{)");
  const std::regex defines(R"(^(?:struct|class|enum class) (\w+)(?: final)?(?: :[^;{]*)? \{)");
  std::map<std::string, std::string> where;
  for (const SourceText& source : sources()) {
    if (!source.product()) continue;
    std::vector<std::string> spaces;
    for (const std::string& line : source.lines) {
      std::smatch found;
      if (std::regex_search(line, found, opens)) spaces.push_back(found[1].matched ? found[1].str() : "");
      if (line.starts_with("}  // namespace") && !spaces.empty()) spaces.pop_back();
      if (!std::regex_search(line, found, defines)) continue;
      if (std::ranges::find(spaces, "") != spaces.end()) continue;  // local to this file
      std::string name;
      for (const std::string& space : spaces) name += space.substr(1) + "::";
      const auto [known, is_new] = where.try_emplace(name + found[1].str(), source.path);
      EXPECT_TRUE(is_new || known->second == source.path)
          << known->first << " is in " << known->second << " and in " << source.path;
    }
  }
  EXPECT_GT(where.size(), 300U);
}

TEST(Tidy, NoTodoComments) {
  every_line(any, [](const SourceText& source, const std::string& line) -> std::string {
    if (source.path == "tests/tidy/tidy.cpp") return {};
    for (const std::string_view word : {"TODO", "FIXME", "HACK"})
      if (line.find(word) != std::string::npos) return std::string(word) + " is not a plan: an issue is";
    return {};
  });
}

TEST(Tidy, TestsSkipOnlyThroughNeeds) {
  const auto owner = [](const std::string& path) {
    return path.starts_with("tests/needs.") || path.starts_with("tests/tidy/");
  };
  every_line(any, [&](const SourceText& source, const std::string& line) -> std::string {
    return !owner(source.path) && line.find("GTEST_SKIP") != std::string::npos
               ? "tests/needs.hpp says when a test may be skipped"
               : "";
  });
  const fs::path root = LOCKSTEP_SOURCE_DIR;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
    const std::string path = fs::relative(entry.path(), root).string();
    if (owner(path) || (!path.ends_with(".sh") && !path.ends_with(".py"))) continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      EXPECT_TRUE(line.find("exit 77") == std::string::npos && line.find("exit(77") == std::string::npos)
          << path << ": tests/needs.sh says when a test may be skipped: " << line;
  }
}

TEST(Tidy, TheDriverSeamStaysSmall) {
  for (const SourceText& source : sources()) {
    if (source.path != "drivers/driver.hpp") continue;
    const auto first = std::find(source.lines.begin(), source.lines.end(), "class Driver {");
    ASSERT_NE(first, source.lines.end());
    const auto last = std::find(first, source.lines.end(), "};");
    const auto virtuals = std::count_if(
        first, last, [](const std::string& line) { return line.find("virtual") != std::string::npos; });
    EXPECT_LE(virtuals, 5) << "the seam is four calls and a destructor";
  }
}

}  // namespace
