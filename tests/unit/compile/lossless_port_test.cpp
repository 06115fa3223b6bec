// The thresholds that compile computes use the same arithmetic as the limits that the proofs check.
#include "specs/compile/lossless_port.hpp"

#include <gtest/gtest.h>

#include <set>

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

// The diagnostics about a class whose thresholds are written in the spec.
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

TEST(LosslessPort, AutomaticThresholdsEndWhereTheProofsExpectPfc) {
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
  const std::uint64_t kmin = leaf_of(compiled, "leaf0", row("interface[*]/class[*]/ecn-min"));
  EXPECT_LE(kmax, use->fires->even());
  EXPECT_LE(kmin, use->fires->bound());
  EXPECT_TRUE(proved_with(kmin, kmax).empty());
  const std::uint64_t bound = use->fires->bound();
  const auto severities = [](std::uint64_t low, std::uint64_t high) {
    std::vector<Severity> out;
    for (const Diagnostic& one : proved_with(low, high)) out.push_back(one.severity);
    return out;
  };
  using Severities = std::vector<Severity>;
  EXPECT_EQ(severities(bound, use->fires->even()), Severities{});
  EXPECT_EQ(severities(bound, use->fires->even() + 1), Severities{Severity::warning});
  EXPECT_EQ(severities(bound + 1, use->fires->even()), Severities{Severity::warning});
  EXPECT_EQ(severities(use->fires->lone() - 1, use->fires->lone()), Severities{Severity::warning});
  EXPECT_EQ(severities(use->fires->lone(), use->fires->lone()), Severities{Severity::error});
}

// The headroom of a Tomahawk 5 comes from one pool: it is counted once, however much the classes may need.
TEST(LosslessPort, SharedHeadroomIsCountedOnce) {
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

// A spine switch with 128 ports of 400G over 40 m: SONiC's thresholds for this chip, 128 and 256 KiB, are
// accepted, and automatic thresholds are not lower.
TEST(LosslessPort, Tomahawk5SpineHasTheThresholdsOfItsVendor) {
  std::string text = shallow_buffer();
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  replace("platform: spectrum-3", "platform: tomahawk-5");
  replace("gpu[1-40]", "gpu[1-128]");
  replace("swp[1-40]", "swp[1-128]");
  replace("cableLength: 100m", "cableLength: 40m");
  const auto proved = [](const std::string& specs) {
    const Loaded loaded = load_text("cluster.yaml", specs);
    EXPECT_TRUE(loaded.diagnostics.empty());
    Diagnostics out;
    for (Diagnostic& one : prove(loaded.catalog, expand(loaded.catalog).topology))
      if (one.code == "LS103" || one.code == "LS102") out.push_back(std::move(one));
    return out;
  };
  const Loaded loaded = load_text("cluster.yaml", text);
  const Compiled compiled = compile(loaded.catalog);
  EXPECT_EQ(leaf_of(compiled, "leaf0", row("interface[*]/class[*]/ecn-min")), 128U * 1024);
  EXPECT_EQ(leaf_of(compiled, "leaf0", row("interface[*]/class[*]/ecn-max")), 256U * 1024);
  EXPECT_TRUE(proved(text).empty());
  replace("ecn: auto", "ecn: {kmin: 128KiB, kmax: 256KiB, pmax: 5%}");
  EXPECT_TRUE(proved(text).empty());
}

// SONiC's shared headroom pool: each class reserves its XON part, and all classes share the rest, divided by
// the oversubscription ratio.
TEST(LosslessPort, OversubscribedHeadroomIsSharedInItsRatio) {
  const std::string text = shallow_buffer();
  const auto used = [](const std::string& specs) {
    const Loaded loaded = load_text("cluster.yaml", specs);
    EXPECT_TRUE(loaded.diagnostics.empty());
    const Topology topology = expand(loaded.catalog).topology;
    return *buffer_of(loaded.catalog, topology, topology.find_device("leaf0"));
  };
  const auto with = [&](const std::string& buffers) { return used(text + "\n  buffers: " + buffers + "\n"); };
  const BufferUse whole = used(text);
  const BufferUse shared = with("{headroomOversubscription: 4}");
  const Headroom& one = whole.largest_headroom;
  EXPECT_EQ(whole.headroom, whole.ports * one.size);
  EXPECT_EQ(whole.shared_headroom, 0U);
  EXPECT_EQ(shared.shared_asked, shared.ports * one.xoff);
  EXPECT_EQ(shared.shared_headroom, shared.ports * one.xoff / 4);
  EXPECT_EQ(shared.headroom, shared.ports * (one.size - one.xoff) + shared.shared_headroom);
  EXPECT_GT(shared.fires->shared, whole.fires->shared);

  EXPECT_EQ(with("{dynamicThreshold: -2}").fires->alpha, 0.25);
  const BufferUse pools = with("{pools: {lossless: 50%, headroom: 30%, lossy: 20%}}");
  EXPECT_EQ(pools.headroom_most, pools.buffer * 3 / 10);
  EXPECT_EQ(pools.fires->shared, pools.buffer / 2);
}

// Two Fabrics on one switch whose profiles divide its buffer differently (LS102); a switch with a NIC's
// platform (LS112); and a NIC's cable that is too long for its driver (LS112): its longest cable counts, not
// its first.
TEST(LosslessPort, ConflictingOrInsufficientBufferIsAnError) {
  const std::string text = shallow_buffer();
  const auto codes = [](const std::string& specs) {
    const Loaded loaded = load_text("cluster.yaml", specs);
    EXPECT_TRUE(loaded.diagnostics.empty()) << loaded.diagnostics.front().message;
    std::multiset<std::string> out;
    for (const Diagnostic& one : prove(loaded.catalog, expand(loaded.catalog).topology))
      if (one.severity == Severity::error) out.insert(one.code);
    return out;
  };
  const auto replaced = [](std::string in, std::string_view from, std::string_view to) {
    const std::size_t at = in.find(from);
    EXPECT_NE(at, in.npos) << from;
    return in.replace(at, from.size(), to);
  };
  EXPECT_FALSE(codes(text).contains("LS102"));
  const std::size_t profile = text.find("apiVersion", text.find("roceProfile: lossless"));
  std::string two = text + "\n---\n" + text.substr(profile);
  two = replaced(
      two, "roceProfile: lossless",
      "roceProfile: lossless\n---\n"
      "apiVersion: lockstep.dev/v1alpha1\nkind: Fabric\nmetadata: {name: other}\nspec:\n"
      "  role: storage\n  topology: rail-only\n  mtu: {host: 9000, fabric: 9216}\n"
      "  cabling: [{from: \"gpu1:rail1\", to: \"leaf0:swp41\", by: pairs, speed: 100Gbps, cableLength: 5m}]\n"
      "  addressing: {hosts: 10.65.0.0/16}\n  roceProfile: second");
  two = replaced(two, "speed: 400Gbps}]",
                 "speed: 400Gbps}, {name: rail1, platform: connectx-7, rdma: true, speed: 100Gbps}]");
  const std::size_t second = two.rfind("metadata: {name: lossless}");
  two.replace(second, 26, "metadata: {name: second}");
  EXPECT_FALSE(codes(two).contains("LS102"));
  EXPECT_TRUE(codes(two + "\n  buffers: {dynamicThreshold: -3}\n").contains("LS102"));

  EXPECT_TRUE(codes(replaced(text, "platform: spectrum-3", "platform: connectx-7")).contains("LS112"));
  // 40 ports need up to 40 times one port's headroom: a ratio above 40 leaves less than one port's.
  EXPECT_FALSE(codes(text + "\n  buffers: {headroomOversubscription: 40}\n").contains("LS102"));
  EXPECT_TRUE(codes(text + "\n  buffers: {headroomOversubscription: 41}\n").contains("LS102"));
  // One LS112 is there in any case: 40 ports of 400G are more than a Spectrum-3 has.
  EXPECT_EQ(codes(replaced(text, "cableLength: 100m", "cableLength: 999m")).count("LS112"), 1U);
  EXPECT_EQ(codes(replaced(text, "cableLength: 100m", "cableLength: 1km")).count("LS112"), 2U);
}

TEST(LosslessPort, ShareOfSmallPacketsComesFromTheSpec) {
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
