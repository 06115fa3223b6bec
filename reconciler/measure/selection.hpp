// Selection: which pairs a gate measures, so that every link that a change may have affected is crossed.
//
// Promises: pure and deterministic. Selects from the pairs of the benchmark's choice, in the direction of the
// data: for each requested directed link, kPairsEach pairs that may cross it under some hash outcome, in
// turns (the first of every link, then the second of each), so that pairs cut off at the end matter least.
// The two directions of a host's link represent its endpoint: kPairsEach pairs that it sends, and as many
// that it receives. Fewer only if the choice has no more between usable endpoints. The cost grows with the
// requested links (`looked_at`), not with the existing pairs; with `ring` and `sample(N)` also with the pairs
// that these name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bench/pairs.hpp"
#include "reconciler/measure/ground.hpp"

namespace lockstep {

// Over each link: a choice (ARCHITECTURE.md, "The gate").
inline constexpr std::size_t kPairsEach = 3;
// Up to this many endpoints, all pairs are enumerated one by one. A chosen limit: 4,032 pairs, which takes
// about as long as a selection from more.
inline constexpr std::size_t kFewEndpoints = 64;

class PairSelector {
 public:
  // `usable`: by endpoint.
  PairSelector(Ground& ground, const Benchmark& benchmark, std::vector<bool> usable,
               std::size_t few = kFewEndpoints);

  // All pairs over a flagged link, if the endpoints are few or the choice names its pairs; else none.
  std::optional<std::vector<bench::Pair>> all_over(const std::vector<bool>& flagged);
  // The pairs still missing over these links, in addition to those selected before.
  std::vector<bench::Pair> over(std::span<const std::uint32_t> links);
  // The first `count` pairs that cross no flagged link, spread over the fabric.
  std::vector<bench::Pair> beside(const std::vector<bool>& flagged, std::size_t count);

  // Whether a selected pair may cross it.
  bool crosses(std::uint32_t link) const { return crossing_[link] > 0; }
  std::size_t looked_at() const { return looked_at_; }

 private:
  // Endpoints of one leaf that may be paired with those of the same key elsewhere.
  struct Members {
    std::uint32_t key = 0;
    std::vector<std::size_t> ends;
    std::size_t next_sender = 0;
    std::size_t next_receiver = 0;
  };
  using Found = std::optional<bench::Pair>;

  void list_pairs();
  void group_by_leaf();
  std::uint32_t key_of(std::size_t end) const;
  Members* members(std::uint32_t leaf, std::uint32_t key);
  bool may_pair(std::size_t from, std::size_t to) const;
  void take(const bench::Pair& way);

  Found another(std::uint32_t link, std::size_t turn);
  Found from_list(std::uint32_t link);
  Found with(std::size_t end, bool sends, std::size_t turn);
  Found with_one_of(std::size_t end, bool sends, std::uint32_t leaf);
  Found through(std::uint32_t link, std::size_t turn);
  Found between(std::uint32_t from_leaf, std::uint32_t to_leaf);
  bool is_flagged(DeviceIndex device, std::uint32_t leaf, const std::vector<bool>& flagged);

  Ground& ground_;
  const Benchmark& benchmark_;
  PairChoice::Way way_;
  std::vector<bool> usable_;
  std::size_t few_;
  std::optional<std::vector<bench::Pair>> listed_;  // if the pairs are enumerated one by one
  std::unordered_map<std::uint32_t, std::vector<bench::Pair>> listed_over_;  // by link; last ones first
  std::vector<std::vector<Members>> leaves_;                                 // by leaf number; by key
  std::vector<std::size_t> place_;           // position of an endpoint at its leaf
  std::vector<std::size_t> end_of_;          // by LinkIndex: the host's endpoint; kNone: not a host's link
  std::vector<std::uint32_t> crossing_;      // by directed link: number of selected pairs
  std::unordered_set<std::uint64_t> taken_;  // selected pairs
  std::unordered_map<std::uint64_t, bool> known_;  // is_flagged(), by device and leaf
  std::size_t looked_at_ = 0;
};

}  // namespace lockstep
