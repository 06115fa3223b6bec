// The spike on Redis as a subject of the contract suite: a redis-server of its own, in a folder of its own,
// that ends with it.
#pragma once

#include <memory>

#include "tests/contract/subjects.hpp"

namespace lockstep::contract {

std::unique_ptr<Subject> make_redis_subject();

}  // namespace lockstep::contract
