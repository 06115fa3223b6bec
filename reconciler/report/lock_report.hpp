// The output of `lockstep lock`, and why `validate --locked` refuses.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reconciler/session/lock_change.hpp"

namespace lockstep {

// `change`: as it was before the file was written.
std::string lock_text(const LockChange& change);
nlohmann::json lock_json(const LockChange& change);

// Without `renumber`, so that nothing changes and nothing is freed:
// "allocations.lock lacks 2 numbers (Fabric/backend asn/leaf leaf2, ...): run `lockstep lock`, and commit the
// file"; empty: it is as the specs need it.
std::string why_stale(const LockChange& change);

}  // namespace lockstep
