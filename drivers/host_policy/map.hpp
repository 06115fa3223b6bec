// What of a machine a change touches, in a host policy's words: the one place of this folder that names rows.
//
// Promises: what was there counts as what is wanted does: an address that is taken away is touched too.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "drivers/host_policy/policy.hpp"

namespace lockstep {

struct Touched {
  std::vector<std::pair<PolicySubject, std::string>> names;
  std::vector<IpPrefix> prefixes;
  std::vector<std::int64_t> asns;
  bool acs = false;
  bool every_interface = false;
  bool ruled = false;  // there is a rule that could allow the setting
};

Touched touched_by(const Change& change);

}  // namespace lockstep
