// The conditions of a change, by its outcome and by what its gate measured.
//
// Promises: pure. Ready: it was carried out, it is kept, and no gate is to judge it still. Reconciling: it is
// under way. Stalled: it ended otherwise, and somebody or a later run has to do something about what it left;
// a change that was rolled back whole left nothing. Validated: whether what was measured after it holds, by
// the run that decided; Unknown, with the reason, where nothing was measured or the benchmarks could not
// judge. The times are those of the store: a change that ended does not change any more.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "reconciler/session/change_history.hpp"

namespace lockstep::api {

nlohmann::json change_conditions(const HistoryChange& change, std::uint64_t generation);

}  // namespace lockstep::api
