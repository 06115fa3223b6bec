// The OpenAPI 3.1 document of the API, made from the tables of kinds.hpp and routes.hpp.
//
// Promises: pure. Every path that is served is in it, with its methods, its parameters and the role that it
// needs, and no other. The schema of a kind accepts each object of that kind (tests/api checks both).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "reconciler/api/kinds.hpp"

namespace lockstep::api {

nlohmann::json openapi_document();

// JSON Schema of an object of the kind (kind_schemas.cpp).
nlohmann::json schema_of(Kind kind);

}  // namespace lockstep::api
