// Atoms of a pool: one address for each way in which tables and rules can distinguish the pool's addresses,
// so that one lookup per atom covers the whole pool.
//
// Promises: pure; each address of the pool is covered by the same prefixes of `cuts` as one of the results. A
// prefix that is completely covered by longer ones yields no result of its own. Refuses nothing; prefixes of
// another family or outside the pool are ignored.
#pragma once

#include <vector>

#include "specs/model/ip.hpp"

namespace lockstep::diversion {

std::vector<IpAddress> atoms_of(const IpPrefix& pool, std::vector<IpPrefix> cuts);

}  // namespace lockstep::diversion
