// What a failed git command means: the trouble, and one sentence with git's own complaint.
//
// Promises: what a server says (lines that begin with "remote:") and how things are named decide nothing. No
// secret that it is given occurs in the result.
#pragma once

#include <string>
#include <vector>

#include "drivers/posix/program.hpp"
#include "reconciler/source/source.hpp"

namespace lockstep {

// What was being done ("https://git.example.org/fabric.git branch main"), and what must not be repeated.
struct GitContext {
  std::string title;
  std::vector<std::string> secrets{};
};

// Of a command that talks to the repository.
SourceError fetch_trouble(const Ended& ended, const GitContext& context);
// More is received than the limit.
SourceError received_too_much(const GitContext& context);
// Of a command on what was fetched.
SourceError object_trouble(const Ended& ended, const GitContext& context);
// Of a command that did not end by itself, or could not be started.
SourceError run_trouble(Error error, const GitContext& context);

// Git's complaint, in one line.
std::string complaint_of(const Ended& ended, const GitContext& context);

}  // namespace lockstep
