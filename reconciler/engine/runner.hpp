// Runner: carries out the steps of one wave, as many at once as their order allows, one at a time for each
// device.
//
// Promises: each step is look, write (under a ticket that was journalled first), look again, keep; at most
// `tries` writes, none of them begun after step_timeout; every way out of a step ends in a StepResult.
// Single-threaded over the executor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "reconciler/engine/apply.hpp"

namespace lockstep {

// Looks after a write that was acknowledged, before it is called not done: reads may lag behind writes.
inline constexpr int kLooksMax = 5;

class Runner {
 public:
  Runner(const Fleet& fleet, Executor& executor, Ledger& ledger, const Plan& plan, std::uint64_t change,
         const ApplyOptions& options, const Progress& progress, std::stop_token stop);

  void run_wave(std::uint32_t wave);
  // Marks what has not begun in waves from `wave` on.
  void skip_from(std::uint32_t wave, StepState state, const std::string& why);

  const std::vector<StepResult>& results() const { return results_; }
  bool wave_failed(std::uint32_t wave) const;
  // The steps that wrote anything: what an undo starts from.
  std::vector<Step> written() const;
  std::string next_ticket(std::uint32_t step);

 private:
  struct Look;
  struct Missing;
  struct Work;
  using Shared = std::shared_ptr<Work>;

  void consider(std::uint32_t id);
  void start_ready();
  void begin(std::uint32_t id);
  void look(const Shared& work, void (Runner::*then)(const Shared&));
  void before_write(const Shared& work);
  void confirm_met(const Shared& work);
  void remember_effects(const Shared& work);
  void write(const Shared& work, ChangeSet changes);
  void after_write(const Shared& work);
  void keep(const Shared& work);
  std::optional<Missing> not_regained(const Shared& work) const;
  void regain(const Shared& work);
  void fail(const Shared& work, StepState state, const std::string& why);
  void cure(const Shared& work);
  void react(const Shared& work, const Error& error, bool may_have_happened);
  void again(const Shared& work, std::chrono::milliseconds wait, void (Runner::*next)(const Shared&));
  void give_up(const Shared& work, const std::string& why);
  void put_back(const Shared& work, const std::string& why);
  void finish(const Shared& work, StepState state, const std::string& why);
  void skip_dependants(std::uint32_t id);
  void set(std::uint32_t id, StepState state, const std::string& why);
  bool is_late(const Shared& work, std::chrono::milliseconds wait) const;
  void look_again(const Shared& work);
  void look_after(const Shared& work);
  void look_for_effects(const Shared& work);
  void start_job(const Shared& work, std::chrono::milliseconds timeout, std::function<void(const Call&)> run,
                 std::function<void(Outcome)> done);

  const Fleet& fleet_;
  Executor& executor_;
  Ledger& ledger_;
  const Plan& plan_;
  std::uint64_t change_;
  const ApplyOptions& options_;
  const Progress& progress_;
  std::stop_token stop_;
  std::vector<StepResult> results_;
  std::vector<std::vector<std::uint32_t>> next_;          // by id: steps that come after it
  std::vector<std::size_t> waits_;                        // by id
  std::map<std::string, std::set<std::uint32_t>> ready_;  // by device
  std::set<std::string> busy_;
  std::size_t open_ = 0;
  std::uint64_t tickets_ = 0;
};

}  // namespace lockstep
