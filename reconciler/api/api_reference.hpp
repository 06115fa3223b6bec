// The reference of the API as Markdown (docs/api.md), from its OpenAPI document.
//
// Promises: pure. Each path of the document is in it with its methods and role, each parameter, each field of
// an action's body, and each field of each kind by its path ("status.drift[].path").
#pragma once

#include <string>

namespace lockstep::api {

std::string api_reference();

}  // namespace lockstep::api
