#include "specs/platforms/platform.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "specs/language/load.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kShortestSource = 8;  // characters: "RFC 791;"

void expect_source(const Platform& platform, std::string_view what, const std::string& source) {
  EXPECT_GE(source.size(), kShortestSource) << platform.name << " " << what << ": '" << source << "'";
}

TEST(Platforms, EveryFileOfTheTreeIsRead) {
  const auto& all = all_platforms();
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(all->size(), embedded_platforms().size());
  EXPECT_GE(all->size(), 7U);
}

TEST(Platforms, EveryNumberAndFactHasASource) {
  const auto& all = all_platforms();
  ASSERT_TRUE(all) << all.error().text();
  for (const Platform& one : *all) {
    for (const FigureKey& key : figure_keys()) {
      const std::optional<Figure>& figure = one.*(key.member);
      if (!figure) continue;
      expect_source(one, key.key, figure->source);
      for (const OtherValue& other : figure->differs) {
        expect_source(one, key.key, other.source);
        EXPECT_NE(other.value, figure->value)
            << one.name << " " << key.key << ": sources that agree don't differ";
      }
    }
    for (const FactKey& key : fact_keys())
      if (const std::optional<Fact>& fact = one.*(key.member)) expect_source(one, key.key, fact->source);
    if (!one.pause_quanta.empty()) expect_source(one, "pauseQuanta", one.pause_quanta_source);
    if (!one.hash_fields.empty()) expect_source(one, "hashFields", one.hash_fields_source);
    for (const HeadroomRow& row : one.headroom) expect_source(one, "headroom", row.source);
    for (const NeedsReset& row : one.needs_reset) expect_source(one, row.what, row.source);
    for (const PlatformNote& note : one.notes) expect_source(one, note.text, note.source);
  }
}

TEST(Platforms, AFileWithoutASourceIsRefusedWithItsLine) {
  const Result<Platform> out =
      parse_platform("x.yaml", "platform: x\nkind: switch\nabout: x\nfigures:\n  cellBytes: {value: 192}\n");
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().what, "x.yaml:5:14: no source");
}

TEST(Platforms, AFileWithAnUnknownKeyIsRefused) {
  for (const char* const text :
       {"platform: x\nkind: switch\nabout: x\nfigurs: {}\n",
        "platform: x\nkind: switch\nabout: x\nfigures: {cellBites: {value: 1, source: somewhere}}\n",
        "platform: x\nkind: switch\nabout: x\nfacts: {pfcc: {value: true, source: somewhere}}\n",
        "platform: x\nkind: router\nabout: x\n", "platform: x\nkind: switch\nabout: [\n", "- x\n", ""})
    EXPECT_FALSE(parse_platform("x.yaml", text)) << text;
}

// Values that the arithmetic can't use, and keys that would be ignored silently.
TEST(Platforms, RefuseInvalidValuesAndUnusedKeys) {
  const std::string head = "platform: x\nkind: switch\nabout: a\n";
  const auto line_of = [&](const std::string& rest) {
    Position at;
    const Result<Platform> out = parse_platform("x.yaml", head + rest, &at);
    EXPECT_FALSE(out) << rest;
    return at.line;
  };
  EXPECT_TRUE(parse_platform("x.yaml", head + "figures: {alphaLog2: {value: -8, source: s}}\n"));
  EXPECT_EQ(line_of("figures: {cellBytes: {value: nan, source: s}}\n"), 4U);
  EXPECT_EQ(line_of("figures: {cellBytes: {value: 0, source: s}}\n"), 4U);
  EXPECT_EQ(line_of("figures: {sharedBufferBytes: {value: -1, source: s}}\n"), 4U);
  EXPECT_EQ(line_of("figures: {alphaLog2: {value: 8, source: s}}\n"), 4U);
  EXPECT_EQ(line_of("figures: {alphaLog2: {value: 0.9, source: s}}\n"), 4U) << "log2 is whole in SONiC";
  EXPECT_EQ(line_of("figures: []\n"), 4U);
  EXPECT_EQ(line_of("ecnDefaults:\n  kminBytes: 1\n  kmaxBytes: 2\n  pmaxPercent: 500\n  source: s\n"), 7U);
  EXPECT_EQ(line_of("facts: {pfc: {value: true, source: s, diffres: []}}\n"), 4U);
  EXPECT_EQ(line_of("headroom: {speed: 1Gbps}\n"), 4U);
  EXPECT_EQ(line_of("headroom:\n  - {speed: 1Gbps, cableMetres: 4294967296, reservedBytes: 1, xonBytes: 1, "
                    "xonOffsetBytes: 1, xoffBytes: 1, source: s}\n"),
            5U);
  EXPECT_EQ(line_of("pauseQuanta: {source: s, values: {1Gbps: 65536}}\n"), 4U);
  EXPECT_EQ(line_of("ecnDefaults: {kminBytes: 1, kmaxBytes: 2, pmaxPercent: 0.05, source: s}\n"), 4U);
  EXPECT_EQ(line_of("ecnDefaults: {kminBytes: 3, kmaxBytes: 2, pmaxPercent: 5, source: s}\n"), 4U);
  EXPECT_EQ(line_of("headroomRule: {name: other, source: s}\n"), 4U);
  EXPECT_EQ(line_of("---\n" + head), 5U) << "a second platform in one file would be lost";
}

class PlatformsBesideSpecs : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = folder_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  Loaded loaded() const { return load({folder_.string()}); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("lockstep-platforms-" + std::to_string(::getpid()));
};

TEST_F(PlatformsBesideSpecs, AddAndCorrect) {
  write("cluster.yaml", "apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec: {}\n");
  write("platforms/mine.yaml",
        "platform: mine\nkind: nic\nabout: a\nfacts: {rdma: {value: true, source: s}}\n");
  write("platforms/spectrum-4.yaml", "platform: spectrum-4\nkind: switch\nabout: corrected\n");
  const Loaded all = loaded();
  EXPECT_TRUE(all.diagnostics.empty());
  EXPECT_TRUE(check_platforms(all.catalog).empty());
  const Result<const Platform*> mine = find_platform(all.catalog, "mine");
  ASSERT_TRUE(mine);
  EXPECT_TRUE((*mine)->rdma->value);
  EXPECT_EQ((*find_platform(all.catalog, "spectrum-4"))->about, "corrected");
  EXPECT_NE((*find_platform("spectrum-4"))->about, "corrected");
  EXPECT_TRUE(find_platform(all.catalog, "tomahawk-5"));
  const Result<const Platform*> far = find_platform(all.catalog, "mime");
  ASSERT_FALSE(far);
  EXPECT_NE(far.error().what.find("did you mean mine?"), std::string::npos) << far.error().what;
}

TEST_F(PlatformsBesideSpecs, InvalidFilesAreReportedWithTheirLine) {
  write("cluster.yaml", "apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec: {}\n");
  write("platforms/a.yaml", "platform: a\nkind: switch\nabout: a\nfigures: {cells: {value: 1, source: s}}\n");
  write("platforms/b.yaml", "platform: c\nkind: nic\nabout: b\n");
  write("platforms/c.yaml", "platform: c\nkind: nic\nabout: c\n");
  const Loaded all = loaded();
  const Diagnostics wrong = check_platforms(all.catalog);
  ASSERT_EQ(wrong.size(), 2U);
  EXPECT_EQ(wrong[0].at.line, 4U);
  EXPECT_EQ(wrong[0].message, "unknown figure cells");
  EXPECT_TRUE(all.catalog.sources.files[wrong[0].at.file].name.ends_with("platforms/a.yaml"));
  EXPECT_EQ(wrong[1].message, "platform c is described twice");
}

TEST_F(PlatformsBesideSpecs, SpecsInAFolderOfThatNameAreSpecs) {
  write("platforms/hosts.yaml",
        "apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec: {}\n");
  write("deeper/platforms/x.yaml", "platform: x\nkind: nic\nabout: x\n");
  const Loaded all = loaded();
  EXPECT_EQ(all.catalog.clusters.size(), 1U);
  EXPECT_TRUE(all.catalog.platform_files.empty());
  EXPECT_FALSE(all.diagnostics.empty()) << "what is deeper is no platform of these specs, and no spec";
}

TEST(Platforms, MisspeltNameGetsASuggestion) {
  const Result<const Platform*> near = find_platform("spectrm-4");
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().what, "no platform is called spectrm-4; did you mean spectrum-4?");
  const Result<const Platform*> far = find_platform("nothing-like-it");
  ASSERT_FALSE(far);
  EXPECT_NE(far.error().what.find("known are bluefield-3"), std::string::npos) << far.error().what;
}

std::string number(double value) {
  std::string out = std::to_string(value);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out;
}

std::string ecn_text(const PublishedEcn& ecn) {
  return " ecnDefaults " + std::to_string(ecn.kmin_bytes) + " " + std::to_string(ecn.kmax_bytes) + " " +
         number(ecn.pmax.fraction() * 100);
}

// The values of a platform, in the form of tests/cases/platforms.txt.
std::set<std::string> lines_of(const Platform& one) {
  std::set<std::string> out;
  const auto add = [&](const std::string& text) { out.insert(one.name + " " + text); };
  add("kind " + std::string(to_string(one.kind)));
  for (const FigureKey& key : figure_keys())
    if (const std::optional<Figure>& figure = one.*(key.member)) {
      std::string text = std::string(key.key) + " " + number(figure->value);
      for (const OtherValue& other : figure->differs) text += " " + number(other.value);
      add(text);
    }
  for (const FactKey& key : fact_keys())
    if (const std::optional<Fact>& fact = one.*(key.member))
      add(std::string(key.key) + (fact->value ? " true" : " false"));
  if (one.headroom_rule) add("headroomRule " + one.headroom_rule->name);
  for (const PauseQuanta& row : one.pause_quanta)
    add("pauseQuanta " + std::to_string(row.speed) + " " + std::to_string(row.quanta));
  for (const HeadroomRow& row : one.headroom)
    add("headroom " + std::to_string(row.speed) + " " + std::to_string(row.cable_metres) + " " +
        std::to_string(row.reserved_bytes) + " " + std::to_string(row.xon_bytes) + " " +
        std::to_string(row.xon_offset_bytes) + " " + std::to_string(row.xoff_bytes));
  if (one.ecn_defaults) out.insert(one.name + ecn_text(*one.ecn_defaults));
  for (const PublishedEcn& other : one.other_ecn_defaults) out.insert(one.name + ecn_text(other));
  std::string fields = "hashFields";
  for (const HashField field : one.hash_fields) fields += " " + std::string(to_string(field));
  if (!one.hash_fields.empty()) add(fields);
  if (!one.adaptive_routing_setting.empty()) add("adaptiveRoutingSetting " + one.adaptive_routing_setting);
  for (const NeedsReset& row : one.needs_reset) add("needsReset " + row.disruption + " " + row.what);
  return out;
}

TEST(Platforms, MatchTheListOfValues) {
  const auto& all = all_platforms();
  ASSERT_TRUE(all) << all.error().text();
  std::set<std::string> given;
  std::ifstream file(std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "tests/cases/platforms.txt");
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with("#")) given.insert(line);
  std::set<std::string> held;
  for (const Platform& one : *all) held.merge(lines_of(one));
  for (const std::string& line : held) EXPECT_TRUE(given.contains(line)) << "held: " << line;
  for (const std::string& line : given) EXPECT_TRUE(held.contains(line)) << "given: " << line;
}

}  // namespace
}  // namespace lockstep
