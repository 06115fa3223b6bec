// The Redis spike as a subject of the contract suite: a separate redis-server in its own folder, which ends
// with the subject.
#pragma once

#include <memory>

#include "tests/contract/subjects.hpp"

namespace lockstep::contract {

std::unique_ptr<Subject> make_redis_subject();

}  // namespace lockstep::contract
