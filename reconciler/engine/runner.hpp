// Runner: carries out the steps of one wave after the other, as many at once as their order allows, one at a
// time for each device.
//
// Promises: no step begins before those that it comes after have succeeded, nor after a stop was requested;
// what takes away what may be in use waits until nothing uses it, or is held (quiet_check.hpp); what disturbs
// live traffic begins only where minCapacity has room for it then (budget_check.hpp); every step ends in a
// StepResult. Of the steps at the ends of one link (Step::together) none begins where another is held, left
// alone, failed, or of a device that can't be reached: which, and of which port, its result says. Those that
// arm their device are kept once all of them work, and undone, one after the other, where one does not. What
// one step does is StepRun's. Single-threaded over the executor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "reconciler/engine/budget_check.hpp"
#include "reconciler/engine/link_ends.hpp"
#include "reconciler/engine/quiet_check.hpp"
#include "reconciler/engine/step_order.hpp"
#include "reconciler/engine/step_run.hpp"

namespace lockstep {

class Runner {
 public:
  // `plan`, `progress` and what `context` refers to outlive it.
  Runner(RunContext context, const Plan& plan, const Progress& progress);

  // `done`: every step of the wave has ended, or never begins. Remedies are left for run_remedies().
  void run_wave(std::uint32_t wave, std::function<void()> done);
  // Those of waves up to this one that `needed` says of; the others wait.
  void run_remedies(const std::set<std::uint32_t>& needed, std::function<void()> done);
  // What became of a remedy once its effects were observed again.
  void judge(std::uint32_t id, StepState state, const std::string& why);
  // What was asked to stop does not wait for a question that is under way.
  void stop() { check_.stop(); }
  // Marks what has not begun in waves from `wave` on, but for `spared`; of those, what needs one that is
  // marked.
  void skip_from(std::uint32_t wave, StepState state, const std::string& why,
                 const std::set<std::uint32_t>& spared = {});

  const std::vector<StepResult>& results() const { return results_; }
  // Remedies whose turn came, with or without success.
  std::vector<Step> tried() const;
  // Whether a remedy has a turn left in this wave.
  bool may_run(const Step& remedy) const;
  bool wave_failed(std::uint32_t wave) const;
  bool wave_held(std::uint32_t wave) const;  // some step of it was
  // Where nothing of the earlier waves could begin, as all was held, nothing of the later ones does: they
  // have nobody who went ahead of them.
  void leave_without_forerunner(std::uint32_t wave);
  // Those that may still begin: neither held, nor left alone for one that is.
  std::vector<Step> to_come() const;
  // The steps that wrote anything: what an undo starts from.
  std::vector<Step> written() const;

 private:
  // The steps of a wave at the ends of one link.
  struct Group {
    std::set<std::uint32_t> open;  // not known to work yet
    std::set<std::uint32_t> held;  // work, and wait for the others
    bool failed = false;
    std::uint32_t going_back = 0;  // of a failed one the step whose device undoes it now: one after the other
  };

  // What is left of a barrier.
  struct Passing {
    std::size_t left = 0;                       // steps that are not over
    std::map<std::uint32_t, std::size_t> held;  // of these, by Group: those that work, and wait
    std::set<std::uint32_t> let_through;        // groups, before all of it was over
  };

  bool may_begin() const { return !context_.stop.stop_requested(); }
  StepRun::Together holds(std::uint32_t id);
  void leave_group(std::uint32_t id, bool works);
  void go_on(std::uint32_t id, StepRun::Together decision);
  void decide(Group& group, StepRun::Together decision);
  std::uint32_t take_next_back(Group& group);
  bool only_holds() const;
  void release_dependants(std::uint32_t id, bool of_group);
  void pass_barriers(std::uint32_t id, bool of_group);
  void one_less_before(std::uint32_t next, const Step& released);
  bool remedy_follows(const std::string& device, Path effect) const;
  void not_begun(std::uint32_t id);
  void consider(std::uint32_t id);
  void start_ready();
  void ask_budgets();
  std::vector<const Step*> under_way() const;
  void budgets_answered(const std::vector<std::uint32_t>& asked, const BudgetCheck::Reasons& reasons);
  void begin(std::uint32_t id);
  bool waits_for_quiet(std::uint32_t id) const;
  void await_quiet(std::uint32_t id);
  void quiet_answered(std::uint32_t id, const QuietCheck::Answer& answer);
  void over(std::uint32_t id, const StepRun::End& end);
  void advance_soon();
  void advance();
  void hold_now(std::uint32_t id, Hold::Kind kind, const std::string& why);
  void skip_dependants(std::uint32_t id);
  void leave_alone(std::uint32_t id, std::uint32_t for_step, const std::string& why);
  void set(std::uint32_t id, StepState state, const std::string& why);

  RunContext context_;
  const Plan& plan_;
  const Progress& progress_;
  std::function<void()> wave_over_;
  std::vector<StepResult> results_;
  NextSteps next_;
  std::vector<Passing> passing_;                             // by number of a barrier
  std::vector<std::vector<OtherEnd>> other_ends_;            // by id
  std::vector<std::size_t> waits_;                           // by id
  std::map<std::string, std::set<std::uint32_t>> ready_;     // by device
  std::map<std::string, std::unique_ptr<StepRun>> running_;  // by device
  std::map<std::uint32_t, Group> groups_;                    // by Step::together, of the wave under way
  std::set<std::uint32_t> remedies_;                         // that run_remedies() was asked for last
  std::map<std::uint32_t, std::uint32_t> ran_in_;            // by id of a remedy: the wave of its last turn
  std::set<std::uint32_t> let_go_;                           // whose dependants were released
  std::set<std::uint32_t> released_;             // steps whose group was released before they ended
  std::vector<std::unique_ptr<StepRun>> ended_;  // since the last advance()
  std::vector<std::unique_ptr<QuietCheck>> ended_quiet_;
  bool advances_ = false;  // advance() was asked for
  std::uint32_t wave_ = 0;
  std::uint64_t tickets_ = 0;
  std::map<std::string, std::unique_ptr<QuietCheck>> await_quiet_;  // by device
  std::map<std::uint32_t, Time> are_quiet_;  // when: steps that take away what nothing uses
  std::set<std::uint32_t> have_room_;        // steps that may begin, as the budgets were asked
  BudgetCheck check_;
  CallbackScope callbacks_;
};

}  // namespace lockstep
