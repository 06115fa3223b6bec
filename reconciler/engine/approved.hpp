// Approved: an approval, as the kinds of holds that it lifts; and the names of those kinds on the command
// line (`apply --approve`), in plans and in messages.
//
// Promises: a hold that can be lifted has exactly one name of its own; the name for one disruption does not
// lift another. Holds that protect the last path to a device, a host's policy and windows can't be lifted by
// any name; `in_person` is lifted at the prompt only and has no name. Refuses: unknown names, suggesting the
// one that was probably meant.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reconciler/engine/plan.hpp"

namespace lockstep {

class Approved {
 public:
  Approved() = default;
  Approved(std::initializer_list<Hold::Kind> kinds) {
    for (const Hold::Kind kind : kinds) add(kind);
  }
  void add(Hold::Kind kind);  // for every disruption
  void add(Hold::Kind kind, Disruption disruption) { lifted_.emplace(kind, disruption); }
  // Whether it lifts a hold of this kind on a step with that disruption.
  bool lifts(Hold::Kind kind, Disruption disruption) const;

 private:
  std::set<std::pair<Hold::Kind, Disruption>> lifted_;
};

// The name that lifts a hold of a step with that disruption, and nothing more; empty: none does.
std::string_view word_of(Hold::Kind kind, Disruption disruption);

// All names, in the order in which they are listed to users.
std::vector<std::string_view> approval_words();

// "approval:traffic,budget".
Result<Approved> parse_approved(std::string_view words);

// The holds of a step that are not lifted.
std::vector<Hold> standing_holds(const Step& step, const Approved& approved);

}  // namespace lockstep
