// Requests of the machine's operator to the agent: a file in the journal's folder, which only root can write.
//
// Contract: a request reaches an agent that is running, and one that is started later; the requester sees its
// effect in the journal, which is replaced as a whole.
#pragma once

#include <optional>
#include <string>

#include "reconciler/agent/journal.hpp"

namespace lockstep::agent {

struct Request {
  std::optional<std::string> hold;  // the reason; empty text: lift it
  bool acknowledge = false;         // of a failed rollback
};

// Errors: the file can't be written.
Result<Done> leave_request(const std::string& folder, const Request& request);
// Takes the request that was left, if any; a file that is no request is removed, and is an error.
Result<std::optional<Request>> take_request(const std::string& folder);

// The journal as it is now, of an agent that may be running.
Result<JournalState> read_journal(const std::string& folder);

}  // namespace lockstep::agent
