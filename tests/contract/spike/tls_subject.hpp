// The spike over TLS as a subject of the contract suite: a device in memory that can undo by itself, behind a
// server of its own.
#pragma once

#include <memory>

#include "tests/contract/subjects.hpp"

namespace lockstep::contract {

std::unique_ptr<Subject> make_tls_subject();

}  // namespace lockstep::contract
