// The git commit of loaded specs.
#pragma once

#include <string>

#include "specs/model/diagnostic.hpp"

namespace lockstep {

// "3f2a…" (40 digits), followed by "-dirty" if a loaded file is not in that commit as it was loaded, or a
// file of that commit (*.yaml, *.yml) is gone; empty: the folder is not in a commit, or git is not installed,
// does not answer, or does not trust the folder's owner (safe.directory, git-config(1)). Only names and
// hashes are read from the repository: no index, no working tree, no filter, no hook, and nothing over a
// network.
std::string specs_commit(const std::string& folder, const Sources& sources);

}  // namespace lockstep
