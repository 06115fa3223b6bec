// Revisions: which revision of the specs a service goes for, keeps, and refuses.
//
// Promises: pure: what happens and when are arguments; the same calls give the same decisions, also after a
// restart from to_json(). The goal is the newest valid revision that no gate refused and nobody rejected: the
// newest is the one that was fetched last, also where a branch went back to it. A revision that does not
// load, compile or prove never replaces one that did.
//
// One change at a time: a newer valid revision supersedes the running one at the next decision of its gate,
// never before, and never while all of it waits for an approval; after kSupersededMax supersessions in a row
// the next one is let finish (kept or refused). What a gate refused is not gone for again, by revision and by
// the digests of its steps (a new revision whose plan still has a refused step waits with that step), until
// the specs no longer want it (the newest revision, with other intents, was kept by a whole plan that lacks
// the step) or somebody approves it. Where the newest revision is refused or rejected, the one before is gone
// for again, as others may have left a part of themselves.
//
// A source's revision that this version of Lockstep compiles to other intents than the last version did is a
// revision of its own, all of whose steps wait for approval. An approval holds for one revision and the step
// digests that were shown; a step that changed since waits again, the others stand. It ends when a gate
// refuses that step, in this revision or any other.
//
// Where a gate could not judge what was written, all that is left of the revision needs approval, until a
// later measurement judges it; so does a new revision with the same intents.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/runtime/executor.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

struct RevisionId {
  std::string source;   // Revision::id: a commit's hash
  std::string intents;  // digest of what it compiles to
  auto operator<=>(const RevisionId&) const = default;
};

enum class RevisionState : std::uint8_t {
  pending,  // the goal, and not begun
  waiting,  // the goal, and all that is left of it waits for an approval
  running,
  kept,        // all of it that may be written is, and no gate refused it; `why` says what it lacks
  refused,     // by its gate
  superseded,  // by a newer one, before or after it was begun
  rejected,    // by somebody
};
constexpr auto words(RevisionState) {
  return std::to_array<std::string_view>(
      {"pending", "waiting", "running", "kept", "refused", "superseded", "rejected"});
}

struct SpokenBy {
  std::string who;     // the role's name and the credential's, as in the audit log
  std::string reason;  // as they gave it
  WallTime at{};
};

// What was said to one revision's waiting steps.
struct StepApproval {
  RevisionId revision;
  std::set<std::string> steps;  // digests
  SpokenBy by;
};

// The steps of a plan that was made for a revision, by digest.
struct PlannedSteps {
  std::set<std::string> steps;
  std::set<std::string> held;  // of those, the ones that need an approval by their policies
  bool whole = true;           // false: steps may be missing, as a device could not be observed
  bool to_judge = false;       // earlier runs have left something that a run without any step measures
};

class Revisions {
 public:
  static constexpr int kSupersededMax = 2;
  // Beyond that the oldest are forgotten: of the refused and rejected ones if these are more than half, else
  // of the others; never the goal, the running one and the last good one.
  static constexpr std::size_t kShownMax = 50;

  // A revision was fetched, and is valid. `version`: of this lockstep.
  void valid(const RevisionId& revision, const std::string& version, WallTime at);
  // It was fetched, and is not; `why` is shown as it is ("fabric.yaml:9:3: ...").
  void invalid(const std::string& source, const std::string& why, WallTime at);

  // What to go for now: to be planned, and begun if something of the plan may run or it is empty. None:
  // nothing, or one is running.
  std::optional<RevisionId> next() const;
  // The goal, if all that is left of it waits for an approval: to be planned again when its devices may have
  // changed.
  std::optional<RevisionId> waiting() const;
  // A plan was made for it: those of its steps that may run, by digest; the others wait for an approval, and
  // the revision with them where nothing else is left. None of a revision that is neither the goal nor
  // running. To be called again for each new plan, also of a revision that waits, as approvals are for what
  // the last plan has.
  std::set<std::string> planned(const RevisionId& revision, const PlannedSteps& plan, WallTime at);

  // It must be what next() gives.
  void began(const RevisionId& revision, WallTime at);
  // The running one's gate has decided on a wave: whether the run goes on. If not, it ends as superseded.
  bool goes_on(WallTime at);
  // `but`: why nothing could judge what was written, or what was left as it is; shown with it.
  void kept(WallTime at, const std::string& but = "");
  void refused(const std::set<std::string>& steps, const std::string& why, WallTime at);
  // Its gate has refused these steps alone, and the rest goes on or stays: kept() or failed() follows.
  void refused_in_part(const std::set<std::string>& steps, const std::string& why);
  // It ended as its gate could not judge what was written, and held what is left. `measurable`: a later
  // measurement may judge it; where nothing is left to measure (PlannedSteps::to_judge), one has.
  void not_validated(const std::string& why, bool measurable, WallTime at);
  // All that was written is judged by now: if it was not before, the running one ends, to be gone for again
  // with what is left of it. Returns whether it has ended.
  bool validated(WallTime at);
  // It ended for a reason that may pass (a device unreachable, a window): it is gone for again.
  void failed(const std::string& why, WallTime at);
  // Its gate has failed, and what it wrote is being rolled back.
  void gate_failed(const std::string& why);
  // After a restart: nobody knows how far the running one came. Where its gate had failed, nothing of it is
  // gone for again without approval.
  void interrupted(const std::string& why, WallTime at);
  // The goal had been kept, and its devices differ from it in a way that is not healed by itself: it is gone
  // for again, with the approvals that it needs. Nothing happens while another revision is the goal. Returns
  // whether it is gone for again by this.
  bool drifted(const RevisionId& revision, const std::string& why, WallTime at);
  // Its files are gone (a restart), and it was never kept: the one before it is the goal, until it is fetched
  // again; what an upgrade makes wait in it waits then too. Nothing happens to the last good one.
  void lost(const RevisionId& revision, WallTime at);

  // Refused (ErrorKind::conflict): the revision is not there, is older than the goal, or none of these steps
  // waits in it (the plan of a superseded revision is forgotten). A refused revision waits with the steps
  // that were refused. Of the steps, those that do not wait are ignored.
  Result<Done> approve(const StepApproval& approval);
  // Refused as approve() for any step, and where it is running.
  Result<Done> reject(const RevisionId& revision, const SpokenBy& by);

  struct Shown {
    RevisionId revision;
    RevisionState state{};
    std::string why{};
    WallTime since{};               // of the state
    std::set<std::string> waits{};  // the steps that need approval, by its last plan
    std::string why_waits{};        // "2 steps need approval: WHY"; empty: none does
    std::string unproven{};         // why its last gate could not judge what was written; empty: it could
    // Somebody is asked to approve a part of it: it is the goal, or runs.
    bool asks() const {
      using enum RevisionState;
      return !waits.empty() && (state == waiting || state == pending || state == running);
    }
  };
  std::vector<Shown> shown() const;  // newest first
  std::optional<RevisionId> newest() const;
  std::optional<Shown> shown(const RevisionId& revision) const;
  // The last one that was kept, and not refused or rejected since.
  std::optional<RevisionId> last_good() const;
  std::optional<Shown> running() const;
  std::set<std::string> approved_steps(const RevisionId& revision) const;
  // "operator ann, admin bob": who approved any of these steps of it; empty: nobody.
  std::string approved_by(const RevisionId& revision, const std::set<std::string>& steps) const;
  struct Invalid {
    std::string source;
    std::string why;
    WallTime since{};
  };
  // The newest one that was fetched, if it is invalid.
  const std::optional<Invalid>& bad() const { return bad_; }

  nlohmann::json to_json() const;
  // Invalid spec: a document that is none of these.
  static Result<Revisions> from_json(const nlohmann::json& document);

 private:
  struct Known {
    RevisionId id;
    std::string version;  // the last that compiled to it
    RevisionState state = RevisionState::pending;
    std::string why;
    WallTime since{};
    std::uint64_t kept = 0;             // the number of its last keep; 0: never
    std::optional<std::string> former;  // the version that compiled its source otherwise: all steps wait
    std::string unproven;               // why its last gate could not judge: all steps wait; empty: it could
    bool is_measurable = false;         // a later measurement may judge a part of it
    bool is_open = false;               // and no measurement the rest: somebody has to
    std::string failing;                // why the gate of its run has failed
    // By the last plan, while it may serve; what was approved since is in `waits` all the same.
    std::set<std::string> may_run;
    std::set<std::string> waits;
    bool whole = true;
    std::map<std::string, std::string> approved;  // by whom

    std::set<std::string> open() const;  // `waits` without `approved`
    bool is_out() const { return state == RevisionState::refused || state == RevisionState::rejected; }
    void drop_plan();
    void forget_unproven();
    void become(RevisionState next, std::string reason, WallTime at);
  };
  struct Refusal {
    std::set<std::string> steps;
    std::string why;
    std::string intents;  // of the revision that had them
  };

  // One whose files were lost: which version compiled it last, and which one otherwise before.
  struct Lost {
    RevisionId id;
    std::string version;
    std::optional<std::string> former;
  };

  Known* find(const RevisionId& revision);
  const Known* find(const RevisionId& revision) const;
  Known* find_running();
  const Known* find_running() const;
  const Known* goal() const;
  const Known* find_last_good() const;
  Result<Known*> find_open(const RevisionId& revision);
  const Refusal* refusal_of(const std::string& step) const;
  std::string why_waiting(const Known& one) const;
  Shown shown_of(const Known& one) const;
  void forget_refusals(const std::set<std::string>& steps);
  void forget_unwanted(const Known& newest);
  void settle(WallTime at);
  void drop_old();
  Lost last_of(const RevisionId& revision) const;
  void inherit_unproven(Known& next) const;
  static nlohmann::json known_json(const Known& one);
  static Result<Known> read_known(const nlohmann::json& json);
  static Result<Refusal> read_refusal(const nlohmann::json& json);
  static Result<Lost> read_lost(const nlohmann::json& json);
  Result<Done> read_all(const nlohmann::json& document);

  std::vector<Known> known_;  // newest first
  std::vector<Refusal> refusals_;
  std::vector<Lost> lost_;  // newest first, none of which is in known_
  std::optional<Invalid> bad_;
  std::optional<RevisionId> reached_;  // kept, and none begun since
  int superseded_ = 0;                 // in a row
};

}  // namespace lockstep
