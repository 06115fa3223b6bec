// The files of one revision, kept in a folder for a restart: one file, that of the revision kept last.
//
// Promises: written whole or not at all (replace_file.hpp). What is read is the same names and contents,
// links between them included; a damaged file is an error.
#pragma once

#include <optional>
#include <string>

#include "reconciler/source/source.hpp"

namespace lockstep {

// `folder`: of this user alone; created.
Result<Done> keep_revision(const Revision& revision, const std::string& folder);
// None: no revision was kept there. Its files are a new folder, removed with the last owner of the revision.
Result<std::optional<Revision>> kept_revision(const std::string& folder);

}  // namespace lockstep
