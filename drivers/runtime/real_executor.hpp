// RealExecutor: threads, the steady clock and descriptors behind the Executor seam.
//
// Promises: those of executor.hpp. Each lane has threads of its own, made when the lane is first used. A
// job's wake descriptor is readable from its cancellation or deadline on. The destructor asks all bodies to
// stop and waits for them.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "drivers/runtime/executor.hpp"

namespace lockstep {

struct LaneWidths {
  std::size_t local = 4;
  std::size_t remote = 64;
  std::size_t suspect = 4;
  std::size_t bench = 2;
};

class RealExecutor final : public Executor {
 public:
  explicit RealExecutor(LaneWidths widths = {});
  ~RealExecutor() override;
  RealExecutor(const RealExecutor&) = delete;
  RealExecutor& operator=(const RealExecutor&) = delete;

  Time now() const override;
  WallTime wall_time() const override;
  std::uint64_t start(Job job) override;
  std::uint64_t at(Time when, std::function<void()> fire) override;
  void cancel(std::uint64_t id) override;
  bool step() override;

  // Calls `readable` in step() whenever the descriptor is readable (level-triggered). A watched descriptor
  // alone keeps step() waiting. forget() before closing it.
  void watch(int descriptor, std::function<void()> readable);
  void forget(int descriptor);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace lockstep
