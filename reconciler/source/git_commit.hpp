// What a revision says of a git commit: who made it, when, and whose signature it has.
#pragma once

#include <string>

#include "reconciler/source/git_program.hpp"

namespace lockstep {

// The hash, author, subject and time of the commit that a reference names. Not found: it names none.
Fetched<Revision> describe_git_commit(const GitProgram& git, const std::string& reference, const Call& call);

// The principal of GitSecrets::allowed_signers who signed it, whose key was valid at the commit's time.
Fetched<std::string> verify_git_commit(const GitProgram& git, const std::string& commit,
                                       const std::string& signers_file, const Call& call);

}  // namespace lockstep
