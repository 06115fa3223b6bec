// What a World knows without the program: what was committed, what people were told that it was stored, what
// gates refused, and from that, which writes are right.
//
// Promises: pure. Decisions are by content (device, setting, old and new value), never by digest. What
// somebody said while the program was killed may have been stored or not: it then forbids nothing.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/runtime/executor.hpp"
#include "feed.hpp"

namespace lockstep::service_simulation {

struct Content {
  Setting setting;
  std::string was;
  std::string want;
  auto operator<=>(const Content&) const = default;
};

// On whose behalf a change of the journal writes.
enum class Claim : std::uint8_t { goal, drift, rollback, person };
struct ChangeFact {
  Claim claim = Claim::person;
  Key key{};                 // of a goal, or that a person applies
  std::uint64_t undoes = 0;  // of a rollback
  Time begun{};
  std::size_t clock_jumps = 0;                          // before it began
  std::set<std::pair<Setting, std::string>> planned{};  // what it was to write
};

class Facts {
 public:
  // A running step may still write this long after somebody said no: it is observed first, tried for 60 s,
  // and its last write takes up to 30 s (ApplyOptions).
  static constexpr std::chrono::seconds kStepMost{120};

  const Commit& commit(const std::string& id) const { return commits_.at(id); }
  void committed(const Commit& commit) { commits_[commit.id] = commit; }
  // The program says that it knows it, and has stored that: for good, also where its files are lost.
  void stored(const Key& key);
  void began(const Key& key);
  void kept(const Key& key);
  void accepted(const Key& key) { accepted_ = commit(source_of(key)); }  // a whole change
  // Somebody else may have changed the cluster: what was accepted last is not known.
  void changed_by_others() { accepted_.reset(); }
  void said_refused(const Key& key) { refused_.insert(key); }
  // The process was killed while a gate had failed on it: it may want an approval for what is left.
  void doubted(const Key& key) { doubted_.insert(key); }
  void said_rejected(const Key& key) {
    rejected_.insert(key);
    approved_.erase(key);
  }
  // `refusals`: how many were before the plan that showed the step.
  void approved(const Key& key, const std::set<Content>& step, std::size_t refusals);
  std::size_t refusals() const { return refusals_; }
  bool is_approved(const Key& key, const Content& write) const;
  void deletion_approved(const Key& key) { deletions_.insert(key); }
  void rolled_back(const Setting& setting, const std::string& value) { undone_.insert({setting, value}); }
  // A guilty change is held where it was to write as well, also if it could not be rolled back.
  void held(const ChangeFact& change) {
    ++refusals_;
    for (const auto& one : change.planned) held_[one] = refusals_;
  }
  void suspended(Time at) { suspended_ = at; }
  void not_suspended() { suspended_.reset(); }
  void cordoned(const std::string& device, Time at) { cordoned_.try_emplace(device, at); }
  void not_cordoned(const std::string& device) { cordoned_.erase(device); }
  void clear_cordons() { cordoned_.clear(); }

  bool is_suspended() const { return suspended_.has_value(); }
  std::optional<Time> suspended_since() const { return suspended_; }
  const std::map<std::string, Time>& cordons() const { return cordoned_; }
  bool is_rejected(const Key& key) const { return rejected_.contains(key); }
  bool is_refused(const Key& key) const { return refused_.contains(key); }
  bool is_out(const Key& key) const { return is_rejected(key) || is_refused(key); }
  bool was_kept(const Key& key) const { return kept_.contains(key); }
  bool was_begun(const Key& key) const;
  bool is_upgrade(const Key& key) const { return upgrades_.contains(key); }
  bool was_undone(const Setting& setting, const std::string& value) const {
    return undone_.contains({setting, value});
  }
  std::map<Setting, std::string> wanted(const Key& key) const {
    return wants(commits_.at(source_of(key)), kind_of(key));
  }

  // Whether the goal may leave it so, as an approval is missing. `step`: all that is to change there.
  bool waits(const Key& key, const Content& content, const std::set<Content>& step) const;
  // Why the change must not have begun; empty: it may.
  std::string why_not_begin(const ChangeFact& change) const;
  // Why this write is wrong; empty: it is right. `found`: values that the setting had before lockstep.
  std::string why_wrong(const ChangeFact& change, const Content& write, const std::set<std::string>& found,
                        Time now) const;

 private:
  std::string why_wrong_value(const ChangeFact& change, const Content& write,
                              const std::set<std::string>& found) const;
  bool needs_approval(const ChangeFact& change, const Content& write) const;
  bool deletes_too_much(const Key& key) const;
  bool is_step_approved(const Key& key, const std::set<Content>& step) const;

  std::map<std::string, Commit> commits_;
  std::set<Key> stored_;
  std::set<Key> upgrades_;
  std::vector<Key> begun_;
  std::set<Key> kept_;
  std::set<Key> refused_;
  std::set<Key> rejected_;
  std::set<Key> doubted_;
  std::map<Key, std::map<std::set<Content>, std::size_t>> approved_;  // steps, each with `refusals`
  std::size_t refusals_ = 0;
  std::set<Key> deletions_;           // approved
  std::optional<Commit> accepted_{};  // by the last change that was kept, as far as that is known
  std::set<std::pair<Setting, std::string>> undone_;  // by a gate, and not approved since
  // Planned with one that a gate refused: may be held from then on, as only a run that is kept as a whole
  // ends that.
  std::map<std::pair<Setting, std::string>, std::size_t> held_;  // with which refusal
  std::optional<Time> suspended_;
  std::map<std::string, Time> cordoned_;
};

}  // namespace lockstep::service_simulation
