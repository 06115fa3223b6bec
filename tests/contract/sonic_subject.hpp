// The subjects of the sonic driver: a real redis-server with a CONFIG_DB, and a stand-in behind ssh.
#pragma once

#include <memory>
#include <string>

#include "tests/contract/subjects.hpp"

namespace lockstep::contract {

std::unique_ptr<Subject> make_sonic_subject();
std::unique_ptr<Subject> make_sonic_patch_subject();
// Why the first cannot be created here; empty: it can.
std::string sonic_impossible();

}  // namespace lockstep::contract
