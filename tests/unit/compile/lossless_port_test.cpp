// The thresholds that compile computes and the point that the proofs hold them against are one arithmetic.
#include "specs/compile/lossless_port.hpp"

#include <gtest/gtest.h>

#include "specs/fabric/buffer_use.hpp"
#include "specs/fabric/proofs.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/compile/golden.hpp"

namespace lockstep {
namespace {

std::string shallow_buffer() {
  const golden::Case one =
      golden::read(std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "tests/cases/compile/shallow-buffer");
  return one.loaded.catalog.sources.files.at(1).text;
}

std::uint64_t leaf_of(const Compiled& compiled, std::string_view device, RowId id) {
  const Path path(id, {"swp40", "3"});
  return static_cast<std::uint64_t>(
      compiled.intents[compiled.topology.find_device(device)].want.value(path).as_integer());
}

// The warnings and errors about a class whose thresholds a person wrote.
Diagnostics proved_with(std::uint64_t kmin, std::uint64_t kmax) {
  std::string text = shallow_buffer();
  const std::string_view automatic = "ecn: auto}";
  const std::size_t at = text.find(automatic);
  EXPECT_NE(at, std::string::npos);
  text.replace(at, automatic.size(),
               "ecn: {kmin: " + std::to_string(kmin) + "B, kmax: " + std::to_string(kmax) + "B, pmax: 10%}}");
  const Loaded loaded = load_text("cluster.yaml", text);
  EXPECT_TRUE(loaded.diagnostics.empty());
  Diagnostics out;
  for (Diagnostic& one : prove(loaded.catalog, expand(loaded.catalog).topology))
    if (one.code == "LS103") out.push_back(std::move(one));
  return out;
}

TEST(LosslessPort, AutomaticThresholdsEndWhereTheProofsSayThatPfcFires) {
  const Loaded loaded = load_text("cluster.yaml", shallow_buffer());
  const Compiled compiled = compile(loaded.catalog);
  const DeviceIndex leaf = compiled.topology.find_device("leaf0");
  const Result<const Platform*> platform = find_platform("spectrum-3");
  ASSERT_TRUE(platform);
  const Result<BufferUse> use = buffer_use(loaded.catalog, compiled.topology, leaf, **platform);
  ASSERT_TRUE(use);
  ASSERT_TRUE(use->fires);
  EXPECT_GT(use->headroom, 0U);
  EXPECT_EQ(use->fires->shared, use->buffer - use->headroom);
  const std::uint64_t kmax = leaf_of(compiled, "leaf0", row("interface[*]/class[*]/ecn-max"));
  EXPECT_EQ(kmax, use->fires->queue);

  const std::uint64_t kmin = leaf_of(compiled, "leaf0", row("interface[*]/class[*]/ecn-min"));
  EXPECT_TRUE(proved_with(kmin, kmax).empty());
  EXPECT_EQ(proved_with(kmin, kmax + 1).size(), 1U);
}

// The headroom of a Tomahawk 5 comes from one pool: it is counted once, whatever all classes may ask of it.
TEST(LosslessPort, AHeadroomThatAllShareIsCountedOnce) {
  const Loaded loaded = load_text("cluster.yaml", shallow_buffer());
  const Topology topology = expand(loaded.catalog).topology;
  const Result<const Platform*> platform = find_platform("tomahawk-5");
  ASSERT_TRUE(platform);
  const Result<BufferUse> use =
      buffer_use(loaded.catalog, topology, topology.find_device("leaf0"), **platform);
  ASSERT_TRUE(use) << use.error().text();
  const std::uint64_t pool = (*platform)->shared_headroom_bytes->whole();
  EXPECT_EQ(pool, 49'418'240U);
  const std::uint64_t of_class = use->largest_headroom.reserved;
  EXPECT_EQ(of_class, 18'796U) << "what is a class's own";
  ASSERT_GT(use->ports, 0U);
  EXPECT_GT(use->shared_asked, use->ports * 100'000U);
  EXPECT_EQ(use->headroom, use->ports * of_class + std::min(use->shared_asked, pool));

  Platform small = **platform;
  small.shared_headroom_bytes->value = 100'000;
  const Result<BufferUse> from_less =
      buffer_use(loaded.catalog, topology, topology.find_device("leaf0"), small);
  ASSERT_TRUE(from_less);
  EXPECT_EQ(from_less->headroom, use->ports * of_class + 100'000);
  EXPECT_EQ(from_less->shared_asked, use->shared_asked);
}

TEST(LosslessPort, TheSpecSaysHowManyPacketsAreSmall) {
  std::string text = shallow_buffer();
  const std::string_view kind = "kind: RoceProfile";
  const auto headroom = [](const std::string& specs) {
    const Loaded loaded = load_text("cluster.yaml", specs);
    EXPECT_TRUE(loaded.diagnostics.empty()) << loaded.diagnostics.front().message;
    const Topology topology = expand(loaded.catalog).topology;
    const DeviceIndex leaf = topology.find_device("leaf0");
    return *headroom_of_port(loaded.catalog, topology, topology.find_port(leaf, "swp40"));
  };
  const Headroom worst = headroom(text);
  const std::size_t end = text.find("\n---", text.find(kind));
  text.insert(end == text.npos ? text.size() : end, "\n  smallPackets: 0%\n");
  const Headroom large = headroom(text);
  EXPECT_LT(large.xoff * 2, worst.xoff) << "cells of 144 B hold 2.25 times as much of small packets";
  EXPECT_EQ(large.xon, worst.xon);
  const auto small = std::ranges::find(large.constants, "small packets", &Constant::name);
  ASSERT_NE(small, large.constants.end());
  EXPECT_EQ(small->value, 0);
  EXPECT_EQ(small->source, "the spec");
}

}  // namespace
}  // namespace lockstep
