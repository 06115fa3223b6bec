// What was measured before a change, as text: the journal keeps it until that change is judged.
//
// Promises: figures and controls are the same after writing and reading; other fields of a measurement are
// left out, as they are not compared. Refuses (invalid_spec): text of another form (a journal may be
// damaged), naming the first figure that is wrong.
#pragma once

#include <string>
#include <string_view>

#include "reconciler/engine/gate.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

std::string text_of(const GateMeasurement& measured);
Result<GateMeasurement> measurement_of(std::string_view text);

}  // namespace lockstep
