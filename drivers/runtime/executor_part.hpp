// ExecutorPart: one owner's part of an executor that several owners share, and knows which of the owner's
// bodies may still run.
//
// Promises: forwards everything; keys and lanes are those of the shared executor. is_idle() is false while
// any job that was started through it has a body that runs, or that may still begin: a body that was
// abandoned at its deadline counts until it has really returned. What bodies use may be destroyed once it is
// idle and the owner's operations are gone. All on the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "drivers/runtime/executor.hpp"

namespace lockstep {

class ExecutorPart final : public Executor {
 public:
  explicit ExecutorPart(Executor& whole) : whole_(whole) {}
  ExecutorPart(const ExecutorPart&) = delete;
  ExecutorPart& operator=(const ExecutorPart&) = delete;

  bool is_idle() const { return bodies_.use_count() == 1; }

  Time now() const override { return whole_.now(); }
  WallTime wall_time() const override { return whole_.wall_time(); }
  // The executor drops a job's functions on the engine's thread, once its body has returned or never will
  // begin.
  std::uint64_t start(Job job) override {
    job.run = [bodies = bodies_, run = std::move(job.run)](const Call& call) { run(call); };
    return whole_.start(std::move(job));
  }
  std::uint64_t at(Time when, std::function<void()> fire) override {
    return whole_.at(when, std::move(fire));
  }
  void cancel(std::uint64_t id) override { whole_.cancel(id); }
  void defer(std::function<void()> act) override { whole_.defer(std::move(act)); }
  Result<Done> watch(int descriptor, std::function<void()> readable) override {
    return whole_.watch(descriptor, std::move(readable));
  }
  void forget(int descriptor) override { whole_.forget(descriptor); }
  bool step() override { return whole_.step(); }

 private:
  Executor& whole_;
  std::shared_ptr<const char> bodies_ = std::make_shared<const char>();  // one more owner for each job
};

}  // namespace lockstep
