// Leadership: who may write to a cluster and to its store.
//
// Promises: one holder at a time, in this process and in all others; it ends with its holder, however that
// ends. Every take has a higher epoch than all before it, stored before take() returns. Refuses (conflict) a
// second holder, and says who holds it, since when and with which command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "specs/model/result.hpp"

namespace lockstep {

class Leadership {
 public:
  virtual ~Leadership() = default;
  // `command`: shown to whoever finds it taken. The answer is the epoch; who holds it already keeps theirs.
  virtual Result<std::uint64_t> take(const std::string& command) = 0;
  virtual void resign() = 0;
  // 0: not held by this one.
  virtual std::uint64_t epoch() const = 0;
  // Whoever holds it now, this one or another: "process 7 since 2026-11-21T10:05:26Z (lockstep apply)".
  virtual std::optional<std::string> holder() const = 0;
};

}  // namespace lockstep
