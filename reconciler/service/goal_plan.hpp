// GoalPlan: a plan that a service made for a revision, with its steps as people approve them.
//
// Promises: pure. Each step has a digest; a plan that deletes so much that somebody must confirm it is one
// more thing to approve, and until then all of its steps wait for it; one without steps deletes nothing. A
// remedy that only stands by is approved together with the steps that it stands by, and nothing waits for it
// alone.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "reconciler/engine/approved.hpp"
#include "reconciler/engine/plan.hpp"
#include "reconciler/service/revisions.hpp"
#include "reconciler/session/cluster_session.hpp"

namespace lockstep {

class GoalPlan {
 public:
  // `whole`: all devices were observed completely. `to_judge`: as PlannedSteps has it.
  GoalPlan(Plan plan, const Deletion& deletion, bool whole, bool to_judge = false);

  const Plan& plan() const { return plan_; }
  const std::vector<std::string>& digests() const { return digests_; }  // as Plan::steps
  // Of what it deletes; empty: nobody must confirm that.
  const std::string& deletion() const { return deletion_; }
  const std::string& why_confirm() const { return why_confirm_; }
  bool to_judge() const { return to_judge_; }
  PlannedSteps planned() const;

  // Why these wait: what the plan deletes, as its steps are approved with that, and the reasons of their
  // holds, the most frequent first; at most `most` of them; empty: they have none of their own.
  std::string why_held(const std::set<std::string>& steps, std::size_t most) const;

  // Of these, the steps that write or cure something that is open now: what a gate may refuse.
  std::set<std::string> without_stand_bys(const std::set<std::string>& steps) const;

  // For an apply, with what Revisions::planned() returned: the plan, in which a step that may not run and has
  // no hold of its own has one more, and the approvals.
  Plan to_run(const std::set<std::string>& may_run) const;
  Approved approved(const std::set<std::string>& may_run) const;
  bool deletion_confirmed(const std::set<std::string>& may_run) const {
    return deletion_.empty() || may_run.contains(deletion_);
  }
  // Steps that can begin now: without a standing hold, after none that has one, and in no wave before which
  // nothing begins. Remedies that only stand by are none.
  std::size_t can_begin(const std::set<std::string>& may_run) const;
  // The devices of the steps that may run.
  std::set<std::string> changes(const std::set<std::string>& may_run) const;
  // The devices of steps that only a window holds.
  std::set<std::string> wait_for_windows(const std::set<std::string>& may_run) const;

 private:
  Plan plan_;
  std::vector<std::string> digests_;
  std::string deletion_;
  std::string why_confirm_;
  bool whole_;
  bool to_judge_;
};

}  // namespace lockstep
