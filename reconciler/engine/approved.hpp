// Approved: an approval, as the kinds of holds that it lifts, on all steps or on some; and the names of those
// kinds on the command line (`apply --approve`), in plans and in messages.
//
// Promises: a hold that can be lifted has exactly one name of its own; the name for one disruption does not
// lift another. An approval of one step (step_digest) lifts the holds that the step was shown with and no
// other: a step with a change, a value or a hold more is another step. Holds that protect the last path to a
// device, a host's policy and windows can't be lifted by any name; `in_person` is lifted at the prompt only
// and has no name. Refuses: unknown names, suggesting the one that was probably meant.
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
  // Of the step with this digest, the holds that it has in the plan.
  void add_step(std::string digest) { steps_.insert(std::move(digest)); }
  bool lifts(Hold::Kind kind, const Step& step) const;

 private:
  std::set<std::pair<Hold::Kind, Disruption>> lifted_;
  std::set<std::string> steps_;  // digests
};

// Whether an approval can lift a hold of this kind.
bool can_be_lifted(Hold::Kind kind);

// "sha256:...", by which a step is approved: its device, driver, remedy, disruption, changes with both
// values, and the holds that can be lifted, but for `gate` (which a step gets by being refused). Not its
// place in the plan.
std::string step_digest(const Step& step);

// The name that lifts a hold of a step with that disruption, and nothing more; empty: none does.
std::string_view word_of(Hold::Kind kind, Disruption disruption);

// All names, in the order in which they are listed to users.
std::vector<std::string_view> approval_words();

// "approval:traffic,budget".
Result<Approved> parse_approved(std::string_view words);

// The holds of a step that are not lifted.
std::vector<Hold> standing_holds(const Step& step, const Approved& approved);

}  // namespace lockstep
