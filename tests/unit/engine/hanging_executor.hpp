// HangingExecutor: a fake, for a fault that simulated devices don't have: calls of some devices are never
// answered, and are abandoned when their time is over.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "drivers/sim/simulated_executor.hpp"

namespace lockstep {

class HangingExecutor final : public Executor {
 public:
  explicit HangingExecutor(SimulatedExecutor& within) : within_(within) {}
  Time now() const override { return within_.now(); }
  WallTime wall_time() const override { return within_.wall_time(); }
  std::uint64_t start(Job job) override {
    if (!hang.contains(job.key)) return within_.start(std::move(job));
    const auto id = std::make_shared<std::uint64_t>();
    *id = within_.at(now() + job.timeout, [this, id] { end(*id); });
    calls_[*id] = std::move(job.done);
    return *id;
  }
  std::uint64_t at(Time when, std::function<void()> fire) override {
    return within_.at(when, std::move(fire));
  }
  void cancel(std::uint64_t id) override {
    within_.cancel(id);
    if (calls_.contains(id)) within_.defer([this, id] { end(id); });
  }
  void defer(std::function<void()> act) override { within_.defer(std::move(act)); }
  Result<Done> watch(int descriptor, std::function<void()> readable) override {
    return within_.watch(descriptor, std::move(readable));
  }
  void forget(int descriptor) override { within_.forget(descriptor); }
  bool step() override { return within_.step(); }

  std::set<std::string> hang;  // by device

 private:
  void end(std::uint64_t id) {
    if (const auto call = calls_.extract(id)) call.mapped()(Outcome::abandoned);
  }
  SimulatedExecutor& within_;
  std::map<std::uint64_t, std::function<void(const Outcome&)>> calls_;
};

}  // namespace lockstep
