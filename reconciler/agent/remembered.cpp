#include "reconciler/agent/remembered.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace lockstep::agent {

void add_changes(ChangeSet& all, const ChangeSet& more) {
  std::map<Path, std::vector<std::size_t>> known;
  for (std::size_t i = 0; i < all.size(); ++i) known[all[i].path].push_back(i);
  for (const Change& one : more) {
    std::vector<std::size_t>& places = known[one.path];
    if (std::ranges::any_of(places, [&](std::size_t at) { return all[at] == one; })) continue;
    places.push_back(all.size());
    all.push_back(one);
  }
}

bool may_be_repeated(const SettledTransaction& one, std::chrono::nanoseconds now) {
  return one.at <= now && now - one.at < kSettledFor;
}

void add_settled(JournalState& state, const std::string& transaction, Settlement settlement,
                 std::chrono::nanoseconds now) {
  state.settled.push_back({transaction, settlement, now});
  while (state.settled.size() > kSettledMin && !may_be_repeated(state.settled.front(), now))
    state.settled.pop_front();
}

std::string how_settled(const SettledTransaction& one) {
  return "transaction " + one.transaction +
         (one.settlement == Settlement::keep ? " was kept" : " was rolled back");
}

}  // namespace lockstep::agent
