// Selection: which pairs a gate measures, so that every link that a change can have touched is crossed.
//
// Promises: pure and deterministic. Of the pairs that the benchmark's choice makes, as the data goes: over
// each directed link asked for kPairsEach that may cross it under some hash outcome, in turns (the first of
// every link, then the second of each), so that what is cut off at the end is missed least. The two
// directions of a host's link stand for its endpoint: kPairsEach that it sends, and as many that it receives.
// Fewer only where the choice has no more between usable endpoints. The cost follows the links asked for
// (`looked_at`), not the pairs that there are; with `ring` and `sample(N)` also the pairs that these name.
// Refuses nothing.
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

// shared/design has it: engine.md, section 1.
inline constexpr std::size_t kPairsEach = 3;
// Of so many endpoints all pairs are gone through, one by one. A choice: 4,032 pairs, which takes about as
// long as selecting among more.
inline constexpr std::size_t kFewEndpoints = 64;

class PairSelector {
 public:
  // `usable`: by endpoint.
  PairSelector(Ground& ground, const Benchmark& benchmark, std::vector<bool> usable,
               std::size_t few = kFewEndpoints);

  // All over a flagged link, where the endpoints are few or the choice names its pairs; else none.
  std::optional<std::vector<bench::Pair>> all_over(const std::vector<bool>& flagged);
  // Those that are missing over these links beside what was selected before.
  std::vector<bench::Pair> over(std::span<const std::uint32_t> links);
  // The first that cross no flagged link; they are spread over the fabric.
  std::vector<bench::Pair> beside(const std::vector<bool>& flagged, std::size_t count);

  // Whether a pair that was selected may cross it.
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
  std::optional<std::vector<bench::Pair>> listed_;  // where the pairs are gone through one by one
  std::unordered_map<std::uint32_t, std::vector<bench::Pair>> listed_over_;  // a link; last ones first
  std::vector<std::vector<Members>> leaves_;                                 // by leaf number; by key
  std::vector<std::size_t> place_;                                           // of an endpoint at its leaf
  std::vector<std::size_t> end_of_;                // by LinkIndex: the host's endpoint; kNone: no host's link
  std::vector<std::uint32_t> crossing_;            // by directed link: pairs taken
  std::unordered_set<std::uint64_t> taken_;        // pairs
  std::unordered_map<std::uint64_t, bool> known_;  // is_flagged(), by device and leaf
  std::size_t looked_at_ = 0;
};

}  // namespace lockstep
