// A spike, linked by tests only: what crosses the driver seam, as JSON. Rows go by their patterns, as their
// numbers are each build's own.
//
// Reading throws nlohmann::json::exception or WrongWire for what is not of this form; whoever reads a peer's
// line makes an Error of it.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "drivers/driver.hpp"

namespace lockstep::contract::wire {

using Json = nlohmann::json;

struct WrongWire : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Json to_json(const Error& error);
Json to_json(const ChangeSet& changes);
Json to_json(const Guard& guard);
Json to_json(const Scope& scope);
Json to_json(const Traits& traits);
Json to_json(const Observation& seen);
Json to_json(const Receipt& receipt);

Error error_from(const Json& json);
ChangeSet changes_from(const Json& json);
Guard guard_from(const Json& json);
Scope scope_from(const Json& json);
Traits traits_from(const Json& json);
Observation observation_from(const Json& json);
Receipt receipt_from(const Json& json);

}  // namespace lockstep::contract::wire
