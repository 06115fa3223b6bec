// Leadership: who may write to a cluster and to its store.
//
// Promises: one holder at a time, in this process and in all others; it ends with its holder, however that
// ends. Every take has a higher epoch than all before it, stored before take() returns. Refuses (conflict) a
// second holder, and names the holder, since when and with which command; and an epoch of devices that no
// controller of this cluster can have given out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "specs/model/result.hpp"

namespace lockstep {

// How far an epoch that a device has accepted may be above the store's: further than a thousand restores
// raise it (kEpochGap), and so little of all epochs that a device that lies can't use them up.
inline constexpr std::uint64_t kEpochsAhead = 1'000'000'000;

class Leadership {
 public:
  virtual ~Leadership() = default;
  // `command`: shown to others who find it taken. Returns the epoch; a current holder keeps its epoch.
  virtual Result<std::uint64_t> take(const std::string& command) = 0;
  // For a holder that devices deny because they have accepted this epoch, of a store that this one is a
  // backup or a copy of: proves once more that it holds this store, and has a higher epoch from then on.
  // Denied: it does not hold it any more. Refused: it is more than kEpochsAhead above this one's.
  virtual Result<std::uint64_t> raise_above(std::uint64_t epoch) = 0;
  virtual void resign() = 0;
  // 0: this object does not hold it.
  virtual std::uint64_t epoch() const = 0;
  // The current holder, this object or another: "process 7 since 2026-11-21T10:05:26Z (lockstep apply)".
  virtual std::optional<std::string> holder() const = 0;
};

}  // namespace lockstep
