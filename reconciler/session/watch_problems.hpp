// WatchProblems: the causes of the differences that a watch reports one by one.
//
// Promises: once nothing has happened for kQuiet, and at the latest kLatest after something did, the first
// device was read, or one was read with other differences than before, the results of the last read of each
// device are reported as one report with its problems (engine/causes.hpp); without them where there are more
// than `most` differences.
// Single-threaded over the executor.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>

#include "drivers/runtime/callback_scope.hpp"
#include "reconciler/engine/status.hpp"

namespace lockstep {

class WatchProblems {
 public:
  // `found`: null: no reports are wanted.
  WatchProblems(const Fleet& fleet, Executor& executor, std::function<void(const DriftReport&)> found,
                std::size_t most);
  ~WatchProblems();
  WatchProblems(const WatchProblems&) = delete;
  WatchProblems& operator=(const WatchProblems&) = delete;

  void observed(std::size_t device, const DriftReport& report);
  void happened();

 private:
  void wait();
  void settled();

  // Choices: neighbours of a device that failed are read within some 100 ms; an event storm is reported all
  // the same.
  static constexpr std::chrono::milliseconds kQuiet{1'000};
  static constexpr std::chrono::milliseconds kLatest{10'000};

  const Fleet& fleet_;
  Executor& executor_;
  std::function<void(const DriftReport&)> found_;
  const std::size_t most_;
  std::map<std::size_t, DriftReport> last_read_;  // by device, those with findings
  bool has_begun_ = false;
  Time first_{};
  Time last_{};
  std::optional<std::uint64_t> timer_;
  CallbackScope callbacks_;
};

}  // namespace lockstep
