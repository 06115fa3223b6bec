// Atoms of a pool: one address for each way in which tables and rules can tell the pool's addresses apart, so
// that a lookup of each answers for the whole pool.
//
// Promises: pure; each address of the pool is covered by the same prefixes of `cuts` as one of the answers. A
// prefix that is covered wholly by longer ones has no answer of its own. Refuses nothing; prefixes of another
// family or outside the pool don't count.
#pragma once

#include <vector>

#include "specs/model/ip.hpp"

namespace lockstep::diversion {

std::vector<IpAddress> atoms_of(const IpPrefix& pool, std::vector<IpPrefix> cuts);

}  // namespace lockstep::diversion
