// The thresholds that compile computes and the point that the proofs hold them against are one arithmetic.
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

}  // namespace
}  // namespace lockstep
