// RealExecutor: the Executor interface with threads, the steady clock and descriptors.
//
// Promises: those of executor.hpp. Threads are created on demand: as many as the lanes are wide, and one more
// for each abandoned body that has not returned. A job's wake descriptor is readable from its cancellation or
// deadline on; if none can be opened, the body is not started. No exception leaves a worker thread. The
// destructor asks all bodies to stop and waits for them.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "drivers/runtime/executor.hpp"
#include "specs/model/result.hpp"

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
  void defer(std::function<void()> act) override;
  Result<Done> watch(int descriptor, std::function<void()> readable) override;
  void forget(int descriptor) override;
  bool step() override;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace lockstep
