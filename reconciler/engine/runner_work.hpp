// What a Runner knows of a step under way: for runner*.cpp alone.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reconciler/engine/met.hpp"
#include "reconciler/engine/runner.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {

inline bool shows_at_once(RowId row) {
  const Takes takes = schema_row(row).takes;
  return takes != Takes::next_boot && takes != Takes::cold_power;
}

// What each leaf of a step shall be in the end.
inline std::map<Path, Value> ends_of(const Step& step) {
  std::map<Path, Value> ends;
  for (const PlannedChange& change : step.changes) ends[change.path] = change.want;
  return ends;
}

struct Runner::Missing {
  std::string text;
  bool unread_before = false;  // and still: nothing was lost that could be seen
};

// What one look at a device told.
struct Runner::Look {
  Tree have;
  std::string revision;  // of the step's driver
  std::vector<Unread> unread;
  std::optional<Error> error;
};

struct Runner::Work {
  const Step* step = nullptr;
  std::size_t device = 0;
  Attached* attached = nullptr;
  bool undoes_itself = false;
  int tries = 0;
  int looks = 0;
  int met = 0;         // looks in which there was nothing left to do
  bool blind = false;  // the next write does not name a revision: the last one moved under our feet, the
                       // ground did not
  bool putting_back = false;
  std::string why;  // of the failure under way
  std::string ticket;
  std::vector<std::string> tickets;
  std::optional<Error> refusal;        // that a receipt told
  std::set<Path> held_before;          // effects that were there before we wrote, or may have been: unread
  std::set<Path> unread_before;        // of those
  std::optional<StepState> failed_as;  // it only waits for what worked before
  Time effects_until{};
  Time started{};
  Look last;
};

}  // namespace lockstep
