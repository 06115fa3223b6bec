// The files of some revisions, kept in a folder for a restart: one file, of those that were kept last.
//
// Promises: written whole or not at all (replace_file.hpp). What is read is the same revisions in the same
// order, with the same names and contents, links between them included; a damaged file is an error. Reading
// removes what killed processes left in the folder.
#pragma once

#include <string>
#include <vector>

#include "reconciler/source/source.hpp"

namespace lockstep {

// `folder`: of this user alone; created.
Result<Done> keep_revisions(const std::vector<Revision>& revisions, const std::string& folder);
// The files of each are a new folder, removed with the last owner of the revision.
Result<std::vector<Revision>> kept_revisions(const std::string& folder);

}  // namespace lockstep
