#include "specs/platforms/platform.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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
  EXPECT_EQ(out.error().what, "x.yaml:5: no source");
}

TEST(Platforms, AFileWithAnUnknownKeyIsRefused) {
  for (const char* const text :
       {"platform: x\nkind: switch\nabout: x\nfigurs: {}\n",
        "platform: x\nkind: switch\nabout: x\nfigures: {cellBites: {value: 1, source: somewhere}}\n",
        "platform: x\nkind: switch\nabout: x\nfacts: {pfcc: {value: true, source: somewhere}}\n",
        "platform: x\nkind: router\nabout: x\n", "platform: x\nkind: switch\nabout: [\n", "- x\n", ""})
    EXPECT_FALSE(parse_platform("x.yaml", text)) << text;
}

TEST(Platforms, ANearMissSaysWhatWasMeant) {
  const Result<const Platform*> near = find_platform("spectrm-4");
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().what, "no platform is called spectrm-4; did you mean spectrum-4?");
  const Result<const Platform*> far = find_platform("nothing-like-it");
  ASSERT_FALSE(far);
  EXPECT_NE(far.error().what.find("known are connectx-7"), std::string::npos) << far.error().what;
}

TEST(Platforms, HoldsWhatItsSourcesSay) {
  const Result<const Platform*> found = find_platform("spectrum-4");
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->cell_bytes->value, 192);
  EXPECT_EQ((*found)->pause_quanta.size(), 10U);
}

}  // namespace
}  // namespace lockstep
