// The kernel parameters that an intent names: what a driver must read beyond those that it always reads,
// since the set of all kernel parameters is too large to dump.
#pragma once

#include <string>
#include <vector>

#include "specs/model/intent.hpp"

namespace lockstep {

std::vector<std::string> wanted_sysctls(const Intent& intent);

}  // namespace lockstep
