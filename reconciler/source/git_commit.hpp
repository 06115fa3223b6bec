// What a revision says of a git commit: who made it, when, and whose signature it has.
#pragma once

#include <string>

#include "reconciler/source/git_program.hpp"

namespace lockstep {

// Fills in author, subject and time.
Fetched<Revision> describe_git_commit(const GitProgram& git, const std::string& commit, const Call& call);

// The principal of GitSecrets::allowed_signers who signed it, whose key was valid at the commit's time.
Fetched<std::string> verify_git_commit(const GitProgram& git, const std::string& commit,
                                       const std::string& signers_file, const Call& call);

}  // namespace lockstep
