#include "specs/language/load.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "specs/language/codes.hpp"
#include "specs/language/excerpt.hpp"
#include "specs/language/json_schema.hpp"
#include "tests/unit/language/spec_folder.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

class Folder : public SpecFolder {
 protected:
  static std::string set(const std::string& name) {
    return "apiVersion: lockstep.dev/v1alpha1\nkind: DeviceSet\nmetadata: {name: " + name +
           "}\nspec: {names: " + name + ", role: host, drivers: [linux]}\n";
  }
};

TEST_F(Folder, IsReadInTheOrderOfNamesWithoutHiddenFiles) {
  write("b.yaml", set("b"));
  write("a/z.yml", set("a"));
  write("c.yaml", set("c") + "---\n# only a comment\n---\n---\n" + set("d") + "...\n" + set("e"));
  write("notes.txt", "not: [yaml");
  write(".hidden.yaml", "not: [yaml");
  write(".git/x.yaml", "not: [yaml");
  fs::create_directory_symlink(root_, root_ / "a" / "loop");
  const Loaded loaded = load({root_.string()});
  EXPECT_TRUE(loaded.diagnostics.empty())
      << excerpts(loaded.diagnostics, loaded.catalog.sources, Colour::off);
  std::string names;
  for (const DeviceSet& one : loaded.catalog.device_sets) names += *one.metadata.name;
  EXPECT_EQ(names, "abcde");
  EXPECT_EQ(loaded.catalog.directory, root_.string());
}

TEST_F(Folder, WithoutSpecsIsAnError) {
  const Loaded loaded = load({root_.string()});
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].code, code::no_specs);
  EXPECT_EQ(loaded.catalog.sources.files[loaded.diagnostics[0].at.file].name, root_.string());
}

TEST_F(Folder, UnreadableSubfolderIsReported) {
  write("a/b/c.yaml", set("c"));
  fs::permissions(root_, fs::perms{0755});
  fs::permissions(root_ / "a" / "b", fs::perms::none);
  const uid_t own = ::geteuid();  // root reads everything
  ASSERT_EQ(::seteuid(own == 0 ? 65534 : own), 0);
  const Loaded loaded = load({root_.string()});
  ASSERT_EQ(::seteuid(own), 0);
  fs::permissions(root_ / "a" / "b", fs::perms::owner_all);
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].message,
            "cannot read '" + (root_ / "a" / "b").string() + "': Permission denied");
}

TEST_F(Folder, OnlyEmptyFilesAreAnErrorThatNamesThem) {
  write("a.yaml", "# to come\n");
  write("b.yml", "---\n---\n");
  const Loaded loaded = load({root_.string()});
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].code, code::no_specs);
  EXPECT_NE(loaded.diagnostics[0].message.find("'a.yaml, b.yml' are empty"), std::string::npos)
      << loaded.diagnostics[0].message;
  write("c.yaml", set("x"));
  EXPECT_TRUE(load({root_.string()}).diagnostics.empty());
}

TEST_F(Folder, EachFileIsOneSource) {
  write("a.yaml", set("a"));
  write("b.yaml", set("b"));
  EXPECT_EQ(load({root_.string()}).catalog.sources.files.size(), 3U);  // the first is not a file
}

TEST_F(Folder, MissingPathIsAnError) {
  const Loaded loaded = load({(root_ / "nothing").string()});
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].code, code::unreadable);
}

TEST_F(Folder, AFifoIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(mkfifo((root_ / "pipe.yaml").c_str(), 0600), 0);
  const Loaded loaded = load({root_.string()});
  ASSERT_FALSE(loaded.diagnostics.empty());
  EXPECT_EQ(loaded.diagnostics[0].code, code::unreadable);
}

TEST_F(Folder, AFileOf100MegabytesIsRefusedWithoutReadingIt) {
  write("big.yaml", "a");
  fs::resize_file(root_ / "big.yaml", 100'000'000);  // sparse
  const Loaded loaded = load({(root_ / "big.yaml").string()});
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  EXPECT_EQ(loaded.diagnostics[0].code, code::too_large);
  EXPECT_TRUE(loaded.catalog.sources.files.back().text.empty());
}

TEST_F(Folder, DuplicateObjectCitesBothFiles) {
  write("a.yaml", set("x"));
  write("b.yaml", set("x"));
  const Loaded loaded = load({root_.string()});
  ASSERT_EQ(loaded.diagnostics.size(), 1U);
  const Diagnostic& one = loaded.diagnostics[0];
  EXPECT_EQ(one.code, code::duplicate_object);
  EXPECT_EQ(loaded.catalog.sources.files[one.at.file].name, (root_ / "b.yaml").string());
  EXPECT_EQ(loaded.catalog.sources.files[one.related.at(0).at.file].name, (root_ / "a.yaml").string());
  EXPECT_EQ(loaded.catalog.device_sets.size(), 1U);
}

TEST(Excerpt, UnderlinesThePlace) {
  const Loaded loaded = load_text("f.yaml", "apiVersion: lockstep.dev/v1alpha1\nkind: Clusterr\n");
  EXPECT_EQ(excerpts(loaded.diagnostics, loaded.catalog.sources, Colour::off),
            "f.yaml:2:7: error LS1001: unknown kind 'Clusterr'\n"
            "  2 | kind: Clusterr\n"
            "    |       ^~~~~~~~\n"
            "  hint: did you mean 'Cluster'?\n");
}

std::string underlined(const std::string& line, std::uint32_t column, std::uint32_t length) {
  Sources sources;
  Diagnostic one;
  one.at = {sources.add("f", line), 1, column};
  one.length = length;
  return excerpt(one, sources, Colour::off);
}

TEST(Excerpt, CountsTabsAndWideCharactersAsTheyAreShown) {
  EXPECT_NE(underlined("\ta: 日本 x", 8, 1).find("  1 |     a: 日本 x\n    |             ^\n"),
            std::string::npos);
  EXPECT_NE(underlined("日本", 1, 2).find("  1 | 日本\n    | ^~~~\n"), std::string::npos);
  EXPECT_NE(underlined("e\xcc\x81x", 3, 1).find("    |  ^\n"), std::string::npos);
  EXPECT_NE(underlined("ab", 9, 1).find("    |   ^\n"), std::string::npos);
}

TEST(Excerpt, CutsLongLinesAroundThePlace) {
  const std::string shown = underlined(std::string(5000, 'a') + "XY" + std::string(5000, 'b'), 5001, 2);
  EXPECT_LT(shown.size(), 500U);
  EXPECT_NE(shown.find("aXYb"), std::string::npos);
}

TEST(Excerpt, LetsNoControlSequenceThrough) {
  const Loaded loaded = load_text("\x1b[31m.yaml", "\"\\e[31mred\": 1\nb: \x1b[0m\n");
  EXPECT_EQ(excerpts(loaded.diagnostics, loaded.catalog.sources, Colour::off).find('\x1b'),
            std::string::npos);
  const Loaded escaped = load_text("x", "\"\\e[31mred\": 1\n");
  EXPECT_EQ(excerpts(escaped.diagnostics, escaped.catalog.sources, Colour::off).find('\x1b'),
            std::string::npos);
  EXPECT_NE(excerpts(escaped.diagnostics, escaped.catalog.sources, Colour::on).find("\x1b[1;31m"),
            std::string::npos);
}

TEST(Excerpt, JsonReportHasTheSamePlaces) {
  const Loaded loaded = load_text("f.yaml", "a: 1\na: 2\n");
  const nlohmann::json report = error_report(loaded.diagnostics, loaded.catalog.sources);
  EXPECT_EQ(report["kind"], "Error");
  bool found = false;
  for (const auto& one : report["errors"])
    if (one["code"] == "LS0011") {
      found = true;
      EXPECT_EQ(one["file"], "f.yaml");
      EXPECT_EQ(one["line"], 2);
      EXPECT_EQ(one["column"], 1);
      EXPECT_EQ(one["related"][0]["line"], 1);
    }
  EXPECT_TRUE(found);
  EXPECT_FALSE(report.dump().empty());
}

TEST(JsonSchema, MatchesTheLoader) {
  const nlohmann::json schema = json_schema(*find_kind("Fabric"), true);
  const auto& spec = schema["properties"]["spec"];
  EXPECT_EQ(schema["properties"]["kind"]["const"], "Fabric");
  EXPECT_EQ(spec["additionalProperties"], false);
  EXPECT_EQ(spec["properties"]["mtu"]["properties"]["host"]["minimum"], 68);
  EXPECT_EQ(spec["properties"]["mtu"]["properties"]["host"]["maximum"], 65535);
  EXPECT_EQ(spec["properties"]["role"]["enum"], (nlohmann::json{"backend", "frontend", "storage"}));
  EXPECT_EQ(spec["properties"]["cabling"]["type"], "array");
  EXPECT_TRUE(spec["properties"].contains("overrides"));
  EXPECT_EQ(json_schema_of_all(true)["oneOf"].size(), 8U);
}

TEST(JsonSchema, EveryFieldIsDocumented) {
  const auto walk = [](const auto& self, const nlohmann::json& schema) -> void {
    if (schema.contains("properties"))
      for (const auto& [name, field] : schema["properties"].items()) {
        EXPECT_TRUE(field.contains("description")) << name;
        self(self, field);
      }
    if (schema.contains("items")) self(self, schema["items"]);
  };
  for (const KindRow& kind : kind_rows()) {
    const nlohmann::json schema = json_schema(kind, true);
    for (const auto& [name, field] : schema["properties"]["spec"]["properties"].items()) {
      EXPECT_FALSE(field["description"].template get<std::string>().empty()) << kind.name << "." << name;
      walk(walk, field);
    }
  }
}

}  // namespace
}  // namespace lockstep
