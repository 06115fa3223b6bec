// Whether an entry is as a step should leave it (no desired value: it should not exist), and whether that can
// be read before the device starts again.
#pragma once

#include "specs/model/diff.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {

inline bool is_met(Path path, Value want, Value have) {
  return want ? satisfies(path.row(), want, have) : !have;
}

inline bool shows_at_once(RowId row) {
  const Takes takes = schema_row(row).takes;
  return takes != Takes::next_boot && takes != Takes::cold_power;
}

}  // namespace lockstep
