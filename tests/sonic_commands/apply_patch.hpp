// What `config apply-patch` makes of a patch, for the stand-in: the checks of generic_updater.py and
// gu_common.py in their order, with their words, and the states through which it would lead CONFIG_DB.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep::stand_in {

using Json = nlohmann::json;

// An exception of SONiC's tool, with its text.
struct Refused {
  explicit Refused(std::string words) : text(std::move(words)) {}
  std::string text;
};

// The states of CONFIG_DB after each change. Throws Refused. `state`: STATE_DB.
std::vector<Json> changes_of(const Json& patch, const std::string& file, const Json& now, const Json& state);

}  // namespace lockstep::stand_in
