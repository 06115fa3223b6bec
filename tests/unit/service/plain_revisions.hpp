// The rules of reconciler/service/revisions.hpp, plainly: everything that happened is remembered, and each
// question is answered from all of it.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reconciler/service/revisions.hpp"

namespace lockstep {

class PlainRevisions {
 public:
  using Steps = std::set<std::string>;
  using Id = std::optional<RevisionId>;

  void valid(const RevisionId& id, const std::string& version) {
    Fact fact{Fact::valid, id, {}};
    fact.version = version;
    log_.push_back(fact);
  }
  Steps planned(const RevisionId& id, const PlannedSteps& plan) {
    if (goal() != id && running() != id) return {};
    log_.push_back({Fact::planned, id, plan.steps, plan.whole});
    const std::size_t now = log_.size();
    for (const std::string& step : plan.steps)
      if (is_upgrade(id, now) || plan.held.contains(step) || is_refused_step(step, now))
        log_.back().waits.insert(step);
    log_.back().waits = without(log_.back().waits, approved(id, now));
    return may_run(id, now);
  }
  void began(const RevisionId& id) { log_.push_back({Fact::began, id, {}}); }
  void kept() { log_.push_back({Fact::kept, *running(), {}}); }
  void failed() { log_.push_back({Fact::failed, *running(), {}}); }
  void refused(const Steps& steps) { log_.push_back({Fact::refused, *running(), steps}); }
  bool goes_on() {
    const RevisionId newer = *goal(log_.size());
    int in_a_row = 0;
    for (const Fact& one : log_) {
      if (one.what == Fact::superseded) ++in_a_row;
      if (one.what == Fact::kept || one.what == Fact::refused) in_a_row = 0;
    }
    const bool waits = is_upgrade(newer, log_.size()) && approved(newer, log_.size()).empty();
    if (newer == *running() || waits || in_a_row == 2) return true;
    log_.push_back({Fact::superseded, *running(), {}});
    return false;
  }
  bool approve(const RevisionId& id, const Steps& steps) {
    const Steps meant = both(steps, open(id));
    if (!may_be_answered(id) || meant.empty()) return false;
    log_.push_back({Fact::approved, id, meant});
    return true;
  }
  bool reject(const RevisionId& id) {
    if (!may_be_answered(id) || open(id).empty() || running() == id) return false;
    log_.push_back({Fact::rejected, id, {}});
    return true;
  }

  Id running() const { return running(log_.size()); }
  Id goal() const { return goal(log_.size()); }
  Id next() const {
    const Id to = goal();
    return to && !running() && is_to_be_gone_for(*to) ? to : std::nullopt;
  }
  Id last_good() const {
    for (std::size_t i = log_.size(); i > 0; --i)
      if (log_[i - 1].what == Fact::kept && !was_out_since(log_[i - 1].id, i)) return log_[i - 1].id;
    return std::nullopt;
  }
  Steps open(const RevisionId& id) const {
    return without(waits(id, log_.size()), approved(id, log_.size()));
  }
  bool is_refused(const RevisionId& id) const {
    return is_out(id, log_.size()) && !was_rejected(id, log_.size());
  }
  bool is_rejected(const RevisionId& id) const { return was_rejected(id, log_.size()); }
  std::vector<RevisionId> newest_first() const { return order(log_.size()); }

 private:
  struct Fact {
    enum What { valid, planned, began, superseded, kept, refused, failed, approved, rejected } what;
    RevisionId id;
    Steps steps;
    bool whole = true;
    std::string version{};
    Steps waits{};  // of those that were planned
  };

  static Steps without(const Steps& of, const Steps& others) {
    Steps out = of;
    std::erase_if(out, [&](const std::string& one) { return others.contains(one); });
    return out;
  }
  static Steps both(const Steps& of, const Steps& others) { return without(of, without(of, others)); }

  // In all that follows: after the first `until` facts.
  std::vector<RevisionId> order(std::size_t until) const {
    std::vector<RevisionId> out;
    for (std::size_t i = until; i > 0; --i)
      if (log_[i - 1].what == Fact::valid && std::ranges::find(out, log_[i - 1].id) == out.end())
        out.push_back(log_[i - 1].id);
    return out;
  }
  bool was_rejected(const RevisionId& id, std::size_t until) const {
    return std::any_of(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(until),
                       [&](const Fact& one) { return one.what == Fact::rejected && one.id == id; });
  }
  bool is_out(const RevisionId& id, std::size_t until) const {
    for (std::size_t i = until; i > 0; --i) {
      if (log_[i - 1].id != id) continue;
      if (log_[i - 1].what == Fact::refused || log_[i - 1].what == Fact::rejected) return true;
      if (log_[i - 1].what == Fact::approved) return false;
    }
    return false;
  }
  bool was_out_since(const RevisionId& id, std::size_t since) const {
    return std::any_of(log_.begin() + static_cast<std::ptrdiff_t>(since), log_.end(), [&](const Fact& one) {
      return one.id == id && (one.what == Fact::refused || one.what == Fact::rejected);
    });
  }
  Id goal(std::size_t until) const {
    for (const RevisionId& one : order(until))
      if (!is_out(one, until)) return one;
    return std::nullopt;
  }
  Id running(std::size_t until) const {
    for (std::size_t i = until; i > 0; --i) switch (log_[i - 1].what) {
        case Fact::began: return log_[i - 1].id;
        case Fact::superseded:
        case Fact::kept:
        case Fact::refused:
        case Fact::failed: return std::nullopt;
        default: break;
      }
    return std::nullopt;
  }
  // Kept, and none was begun since.
  Id reached(std::size_t until) const {
    for (std::size_t i = until; i > 0; --i) {
      if (log_[i - 1].what == Fact::began) return std::nullopt;
      if (log_[i - 1].what == Fact::kept)
        return was_rejected(log_[i - 1].id, until) ? std::nullopt : Id(log_[i - 1].id);
    }
    return std::nullopt;
  }
  bool is_upgrade(const RevisionId& id, std::size_t until) const {
    for (std::size_t i = until; i > 0; --i) {
      const Fact& one = log_[i - 1];
      if (one.id != id) continue;
      const Fact* const plan = last_plan(id, i);
      if (one.what == Fact::kept && waits(id, i - 1).empty() && (plan == nullptr || plan->whole))
        return false;
      if (one.what != Fact::valid || reached(i - 1) == id) continue;
      for (std::size_t j = i - 1; j > 0; --j) {
        const Fact& last = log_[j - 1];
        if (last.what != Fact::valid || last.id.source != id.source) continue;
        if (last.id != id && last.version != one.version) return true;
        break;
      }
    }
    return false;
  }
  bool is_refused_step(const std::string& step, std::size_t until) const {
    for (std::size_t i = until; i > 0; --i) {
      const Fact& one = log_[i - 1];
      if (one.what == Fact::refused && one.steps.contains(step)) return true;
      if (one.what == Fact::kept && may_run(one.id, i - 1).contains(step)) return false;
      if (one.what != Fact::kept || order(i).front() != one.id) continue;
      const Fact* const plan = last_plan(one.id, i);
      if (plan == nullptr || !plan->whole || plan->steps.contains(step)) continue;
      for (std::size_t j = i; j > 0; --j) {
        if (log_[j - 1].what != Fact::refused || !log_[j - 1].steps.contains(step)) continue;
        if (log_[j - 1].id.intents != one.id.intents) return false;
        break;
      }
    }
    return false;
  }
  Steps approved(const RevisionId& id, std::size_t until) const {
    Steps out;
    for (std::size_t i = 0; i < until; ++i) {
      if (log_[i].what == Fact::approved && log_[i].id == id)
        out.insert(log_[i].steps.begin(), log_[i].steps.end());
      if (log_[i].what == Fact::refused) out = without(out, log_[i].steps);
      if (log_[i].what == Fact::rejected && log_[i].id == id) out.clear();
    }
    return out;
  }
  const Fact* last_plan(const RevisionId& id, std::size_t until) const {
    for (std::size_t i = until; i > 0; --i)
      if (log_[i - 1].what == Fact::planned && log_[i - 1].id == id) return &log_[i - 1];
    return nullptr;
  }
  // Of the last plan, and what its gate refused since; also if it was approved since.
  Steps waits(const RevisionId& id, std::size_t until) const {
    const Fact* const plan = last_plan(id, until);
    if (plan == nullptr || was_rejected(id, until)) return {};
    Steps out = plan->waits;
    for (auto i = static_cast<std::size_t>(plan - log_.data()); i < until; ++i) {
      if (!is_out(id, i + 1) && running(i + 1) != id && goal(i + 1) != id) out.clear();  // superseded
      if (log_[i].what == Fact::refused && log_[i].id == id)
        out.insert(log_[i].steps.begin(), log_[i].steps.end());
    }
    return out;
  }
  Steps may_run(const RevisionId& id, std::size_t until) const {
    const Fact* const plan = last_plan(id, until);
    return plan == nullptr ? Steps{} : without(plan->steps, plan->waits);
  }
  bool may_be_answered(const RevisionId& id) const {
    const std::vector<RevisionId> all = newest_first();
    const auto at = std::ranges::find(all, id);
    return at != all.end() && !is_rejected(id) && (!goal() || at <= std::ranges::find(all, *goal()));
  }
  bool was_kept_whole(const RevisionId& id, std::size_t until) const {
    for (std::size_t i = until; i > 0; --i)
      if (log_[i - 1].what == Fact::kept && log_[i - 1].id == id) return waits(id, i - 1).empty();
    return false;
  }
  bool is_to_be_gone_for(const RevisionId& id) const {
    std::size_t since = log_.size();  // it became the goal
    while (since > 0 && goal(since - 1) == id) --since;
    bool left = reached(since) != id || !was_kept_whole(id, since);
    for (std::size_t i = since; i < log_.size(); ++i) {
      if (log_[i].id != id) continue;
      if (log_[i].what == Fact::planned) left = !may_run(id, i + 1).empty() || waits(id, i + 1).empty();
      if (log_[i].what == Fact::kept) left = !both(waits(id, i), approved(id, i)).empty();
      if (log_[i].what == Fact::failed || log_[i].what == Fact::approved) left = true;
    }
    return left;
  }

  std::vector<Fact> log_;
};

}  // namespace lockstep
