#include "reconciler/engine/damping.hpp"

#include <algorithm>
#include <utility>

namespace lockstep {

const Damping::Counted* Damping::find(const std::string& device, Path path) const {
  const auto found = entries_.find({device, path.id()});
  return found == entries_.end() ? nullptr : &found->second;
}

Time::duration Damping::wait_after(int heals) const {
  if (heals == 0) return {};
  const int doublings = std::min(heals - 1, 20);  // 2^20 s is past any heal_wait_max
  return std::min(limits_.heal_wait_min * (1 << doublings), limits_.heal_wait_max);
}

// For an entry that is clear.
bool Damping::is_forgotten(const Counted& entry, Time now) const {
  const Time::duration quiet = now - *entry.gone;
  return quiet > limits_.forget_factor * std::max(entry.lasted, wait_after(entry.heals)) ||
         quiet > limits_.forget_max;
}

void Damping::note_change(Counted& entry, Time now) const {
  std::erase_if(entry.changes, [&](Time at) { return now - at > limits_.flap_window; });
  entry.changes.push_back(now);
}

void Damping::came(const std::string& device, Path path, Time now) {
  if (entries_.size() >= drop_at_) drop_old(now);
  Counted& entry = entries_[{device, path.id()}];
  note_change(entry, now);
  if (std::exchange(entry.there, true)) return;
  if (entry.heals > 0 && entry.gone) {
    const Time::duration quiet = now - *entry.gone;
    if (is_forgotten(entry, now)) {
      entry.heals = quiet > limits_.forget_max ? 0 : 1;
      entry.returns = 0;
      entry.lasted = {};
    }
    if (entry.heals > 0) {
      if (!entry.came) ++entry.returns;
      entry.lasted = std::max(entry.lasted, quiet);
    }
  }
  if (!entry.came) entry.came = now;
}

void Damping::went(const std::string& device, Path path, Time now) {
  Counted& entry = entries_[{device, path.id()}];
  note_change(entry, now);
  entry.there = false;
  entry.gone = now;
}

void Damping::healed(const std::string& device, Path path, Time now) {
  Counted& entry = entries_[{device, path.id()}];
  ++entry.heals;
  entry.last_heal = now;
  entry.came.reset();
}

bool Damping::flaps(const std::string& device, Path path, Time now) const {
  const Counted* const entry = find(device, path);
  if (entry == nullptr) return false;
  const auto recent =
      std::ranges::count_if(entry->changes, [&](Time at) { return now - at <= limits_.flap_window; });
  return recent >= limits_.flaps_max;
}

int Damping::returns(const std::string& device, Path path, Time now) const {
  const Counted* const entry = find(device, path);
  if (entry == nullptr || (!entry->there && entry->gone && is_forgotten(*entry, now))) return 0;
  return entry->returns;
}

Time Damping::may_heal_at(const std::string& device, Path path, Time now) const {
  const Counted* const entry = find(device, path);
  if (entry == nullptr || entry->heals == 0) return now;
  const Time since = std::max(entry->last_heal, entry->came.value_or(entry->last_heal));
  return std::max(now, since + wait_after(entry->heals));
}

void Damping::drop_old(Time now) {
  std::erase_if(entries_, [&](const auto& one) {
    const Counted& entry = one.second;
    return !entry.there && entry.gone && now - *entry.gone > limits_.flap_window &&
           is_forgotten(entry, now) && (entry.heals == 0 || now - *entry.gone > limits_.forget_max);
  });
  drop_at_ = std::max(drop_at_, 2 * entries_.size());
}

}  // namespace lockstep
