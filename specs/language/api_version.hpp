// The API version of specs, of other files in their form, and of documents that Lockstep prints.
#pragma once

#include <string_view>

namespace lockstep {

constexpr std::string_view api_version = "lockstep.dev/v1alpha1";

}  // namespace lockstep
