// What was measured before a change, as text: the journal keeps it for whoever has to judge that change
// later.
//
// Promises: figures and controls that are written and read again are the same; what else a measurement has is
// left out, as nobody compares it. Refuses (invalid_spec): text that is not of this form (a journal may be
// damaged), with the first figure that is wrong.
#pragma once

#include <string>
#include <string_view>

#include "reconciler/engine/gate.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

std::string text_of(const GateMeasurement& measured);
Result<GateMeasurement> measurement_of(std::string_view text);

}  // namespace lockstep
