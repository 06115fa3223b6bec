// Which parts of a machine a change touches, in a host policy's terms: the only file of this folder that
// names rows.
//
// Promises: the actual value counts like the desired one: an address that is removed is touched too.
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
  bool ruled = false;  // a rule exists that could allow the setting
};

Touched touched_by(const Change& change);

}  // namespace lockstep
