#include <utility>

#include "drivers/agent/wire.hpp"
#include "reconciler/agent/server.hpp"

namespace lockstep::agent {
namespace {

// RFC 9110 15.
int status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_spec: return 400;
    case ErrorKind::denied: return 403;
    case ErrorKind::conflict: return 409;
    case ErrorKind::refused:
    case ErrorKind::unsupported: return 422;
    case ErrorKind::transient:
    case ErrorKind::cancelled: return 503;
    case ErrorKind::unknown_outcome: break;
  }
  return 500;
}

}  // namespace

Reply error_reply(const Error& error) { return Reply{status_of(error.kind), wire::encode(error)}; }

}  // namespace lockstep::agent
