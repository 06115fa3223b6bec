#include "facts.hpp"

#include <algorithm>

namespace lockstep::service_simulation {

// It is an upgrade if the service knew the same commit as another version compiled it.
void Facts::stored(const Key& key) {
  if (!stored_.insert(key).second) return;
  const Key plain = source_of(key) + "@plain";
  const Key other = source_of(key) + "@other";
  if (stored_.contains(key == plain ? other : plain)) upgrades_.insert(key);
}

void Facts::approved(const Key& key, const std::set<Content>& step, std::size_t refusals) {
  approved_[key][step] = refusals;
  refused_.erase(key);
  for (const Content& one : step) undone_.erase({one.setting, one.want});
}

// A run that is killed may have been accepted without saying so.
void Facts::began(const Key& key) {
  begun_.push_back(key);
  if (deletes_too_much(key)) accepted_.reset();
}

void Facts::kept(const Key& key) {
  upgrades_.erase(key);
  doubted_.erase(key);
  kept_.insert(key);
}

// More than one profile: more than 10 % of the objects (specs.cpp, maxDelete).
bool Facts::deletes_too_much(const Key& key) const {
  if (!accepted_) return false;
  int gone = 0;
  for (std::size_t i = 0; i < kGroups; ++i)
    gone += accepted_->values[i] && !commit(source_of(key)).values[i] ? 1 : 0;
  return gone > 1;
}

bool Facts::was_begun(const Key& key) const { return std::ranges::count(begun_, key) != 0; }

bool Facts::is_approved(const Key& key, const Content& write) const {
  const auto found = approved_.find(key);
  return found != approved_.end() &&
         std::ranges::any_of(found->second, [&](const auto& step) { return step.first.contains(write); });
}

bool Facts::needs_approval(const ChangeFact& change, const Content& write) const {
  return is_manual(write.setting) || (change.claim == Claim::goal && is_upgrade(change.key)) ||
         was_undone(write.setting, write.want);
}

// What a gate rolled back since is a step of its own, apart from the rest of this one.
bool Facts::is_step_approved(const Key& key, const std::set<Content>& step) const {
  const auto of_key = approved_.find(key);
  if (of_key == approved_.end()) return false;
  const auto found = of_key->second.find(step);
  if (found == of_key->second.end()) return false;
  return std::ranges::none_of(step, [&](const Content& one) {
    const auto held = held_.find({one.setting, one.want});
    return held != held_.end() && held->second > found->second;
  });
}

bool Facts::waits(const Key& key, const Content& content, const std::set<Content>& step) const {
  const ChangeFact change{.claim = Claim::goal, .key = key};
  const Key others = source_of(key) + (kind_of(key) == Kind::plain ? "@other" : "@plain");
  const bool may_need = needs_approval(change, content) || stored_.contains(others) ||
                        doubted_.contains(key) || held_.contains({content.setting, content.want});
  const bool may_delete = !accepted_ && commit(source_of(key)).profiles() + 2 <= kGroups;
  const bool is_approved = is_step_approved(key, step);
  const bool deletes = may_delete || deletes_too_much(key);  // its steps are approved with it
  return ((may_need || deletes) && !is_approved) || (deletes && !deletions_.contains(key));
}

std::string Facts::why_not_begin(const ChangeFact& change) const {
  if (change.claim != Claim::goal) return "";
  const auto found = commits_.find(source_of(change.key));
  if (found == commits_.end() || !found->second.loads) return "a revision that does not load was begun";
  if (is_rejected(change.key)) return "a rejected revision was begun";
  if (is_refused(change.key)) return "a refused revision was begun again";
  if (deletes_too_much(change.key) && !deletions_.contains(change.key))
    return "a revision that deletes too much was begun, and nobody confirmed that";
  return "";
}

// A setting of ours has a value that the specs want, or one from before that is restored.
std::string Facts::why_wrong_value(const ChangeFact& change, const Content& write,
                                   const std::set<std::string>& found) const {
  if (!is_of_profile(write.setting)) return "";
  const auto is_wanted_by = [&](const Key& key) {
    const auto all = wanted(key);
    const auto want = all.find(write.setting);
    return want == all.end() ? found.contains(write.want) : want->second == write.want;
  };
  if (change.claim == Claim::goal)
    return is_wanted_by(change.key) ? "" : "a value that the revision does not want";
  if (change.claim == Claim::drift) {
    const auto stands = [&](const Key& key) { return !is_out(key) && is_wanted_by(key); };
    if (std::ranges::any_of(begun_, stands) || std::ranges::any_of(kept_, stands)) return "";
    return "healed towards no revision that was begun and not refused";
  }
  return "";
}

std::string Facts::why_wrong(const ChangeFact& change, const Content& write,
                             const std::set<std::string>& found, Time now) const {
  if (change.claim == Claim::person || change.claim == Claim::rollback) return "";
  if (std::string why = why_wrong_value(change, write, found); !why.empty()) return why;
  if (suspended_ && now > *suspended_ + kStepMost) return "while it is suspended";
  const auto cordon = cordoned_.find(device_of(write.setting));
  if (cordon != cordoned_.end() && now > cordon->second + kStepMost) return "on a cordoned device";
  if (needs_approval(change, write) && !is_approved(change.key, write))
    return was_undone(write.setting, write.want) ? "a value that a gate refused, and nobody approved"
           : is_upgrade(change.key)              ? "an upgrade's intents, and nobody approved"
                                                 : "nobody approved it";
  return "";
}

}  // namespace lockstep::service_simulation
