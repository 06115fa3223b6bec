// Runner: runs the steps of a plan wave by wave, as many at once as their order allows, one at a time per
// device.
//
// Promises: no step begins before those that it comes after have succeeded, nor after a stop was requested; a
// step that removes what may be in use waits until nothing uses it, or is held (quiet_check.hpp); a step that
// disturbs live traffic begins only if minCapacity has room for it then (budget_check.hpp); every step ends
// in a StepResult. Of the steps at the ends of one link (Step::together) none begins if another is held, left
// alone, failed, or of an unreachable device; its result names that step and port. Steps that arm their
// device are kept once all of the group work, and rolled back one after the other if one does not. StepRun
// runs the single step. Single-threaded over the executor.
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

  // `done`: every step of the wave has ended or will not begin. Remedies are left for run_remedies().
  void run_wave(std::uint32_t wave, std::function<void()> done);
  // Runs those in waves up to this one whose ids are in `needed`; the others wait.
  void run_remedies(const std::set<std::uint32_t>& needed, std::function<void()> done);
  // Sets the outcome of a remedy once its effects were observed again.
  void judge(std::uint32_t id, StepState state, const std::string& why);
  // A question under way is not waited for when a stop is requested.
  void stop() { check_.stop(); }
  // Marks the steps in waves from `wave` on that have not begun, except `spared` ones; a spared step that
  // needs a marked one is marked too.
  void skip_from(std::uint32_t wave, StepState state, const std::string& why,
                 const std::set<std::uint32_t>& spared = {});

  const std::vector<StepResult>& results() const { return results_; }
  // Remedies whose turn came, with or without success.
  std::vector<Step> tried() const;
  // Whether a remedy may still run in this wave.
  bool may_run(const Step& remedy) const;
  bool wave_failed(std::uint32_t wave) const;
  bool wave_held(std::uint32_t wave) const;  // whether some step of it was
  // If no step of the earlier waves could begin because all were held, no step of the later waves begins
  // either: nothing has gone ahead of them.
  void leave_without_forerunner(std::uint32_t wave);
  // Steps that may still begin: neither held, nor left alone because of a held one.
  std::vector<Step> to_come() const;
  // The steps that wrote anything: a rollback starts from these.
  std::vector<Step> written() const;

 private:
  // The steps of a wave at the ends of one link.
  struct Group {
    std::set<std::uint32_t> open;  // not known to work yet
    std::set<std::uint32_t> held;  // work, and wait for the others
    bool failed = false;
    std::uint32_t going_back = 0;  // of a failed one, the step that rolls back now (in turn)
  };

  // What is left of a barrier.
  struct Passing {
    std::size_t left = 0;                       // steps that are not over
    std::map<std::uint32_t, std::size_t> held;  // of those steps, by Group: those that work, and wait
    std::set<std::uint32_t> let_through;        // groups that may pass before all steps are over
  };

  bool may_begin() const { return !context_.must_end(); }
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
  std::set<std::uint32_t> remedies_;                         // those of the last call of run_remedies()
  std::map<std::uint32_t, std::uint32_t> ran_in_;            // by id of a remedy: the wave of its last turn
  std::set<std::uint32_t> let_go_;                           // steps whose dependants were released
  std::set<std::uint32_t> released_;             // steps whose group was released before they ended
  std::vector<std::unique_ptr<StepRun>> ended_;  // since the last advance()
  std::vector<std::unique_ptr<QuietCheck>> ended_quiet_;
  bool advances_ = false;  // advance() is scheduled
  std::uint32_t wave_ = 0;
  std::uint64_t tickets_ = 0;
  std::map<std::string, std::unique_ptr<QuietCheck>> await_quiet_;  // by device
  std::map<std::uint32_t, Time> are_quiet_;  // since when: steps that remove what nothing uses
  std::set<std::uint32_t> have_room_;        // steps that may begin by the last budget answer
  BudgetCheck check_;
  CallbackScope callbacks_;
};

}  // namespace lockstep
