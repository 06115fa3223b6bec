// Leadership: who may write to a cluster and to its store.
//
// Promises: one holder at a time, in this process and in all others; it ends with its holder, however that
// ends. Every take has a higher epoch than all before it, stored before take() returns. Refuses (conflict) a
// second holder, and names the holder, since when and with which command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "specs/model/result.hpp"

namespace lockstep {

class Leadership {
 public:
  virtual ~Leadership() = default;
  // `command`: shown to others who find it taken. Returns the epoch; a current holder keeps its epoch.
  virtual Result<std::uint64_t> take(const std::string& command) = 0;
  virtual void resign() = 0;
  // 0: this object does not hold it.
  virtual std::uint64_t epoch() const = 0;
  // The current holder, this object or another: "process 7 since 2026-11-21T10:05:26Z (lockstep apply)".
  virtual std::optional<std::string> holder() const = 0;
};

}  // namespace lockstep
