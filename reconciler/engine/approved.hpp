// Approved: a person's word, by the kinds of holds that it lifts; and the words that name those kinds on the
// command line (`apply --approve`), in plans and in messages.
//
// Promises: a hold that some word lifts has exactly one that is its own; the word for one disruption is none
// for another. What protects the last path to a device, a host's policy and windows are lifted by no word,
// whoever says it; `in_person` is the prompt's, and has none. Refuses: other words, with the one that was
// probably meant.
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
  void add(Hold::Kind kind);  // approval: of every disruption
  void add(Hold::Kind kind, Disruption disruption) { lifted_.emplace(kind, disruption); }
  // A hold of this kind, of a step of that disruption.
  bool lifts(Hold::Kind kind, Disruption disruption) const;

 private:
  std::set<std::pair<Hold::Kind, Disruption>> lifted_;
};

// The word that lifts a hold of a step of that disruption, and nothing more; empty: none does.
std::string_view word_of(Hold::Kind kind, Disruption disruption);

// All words, as they are told.
std::vector<std::string_view> approval_words();

// "approval:traffic,budget".
Result<Approved> parse_approved(std::string_view words);

// The holds of a step that were not lifted.
std::vector<Hold> standing_holds(const Step& step, const Approved& approved);

}  // namespace lockstep
