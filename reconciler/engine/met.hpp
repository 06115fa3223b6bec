// Whether an entry is as a step shall leave it; no wanted value: it shall not be there.
#pragma once

#include "specs/model/diff.hpp"

namespace lockstep {

inline bool is_met(Path path, Value want, Value have) {
  return want ? satisfies(path.row(), want, have) : !have;
}

}  // namespace lockstep
