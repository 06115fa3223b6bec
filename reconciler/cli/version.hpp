// The version of lockstep: the project version, and the commit that it was built from.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// "3670c56a1b2c", with "-dirty" if files of the tree differed from it; empty: the sources were in no git
// checkout. cmake/BuildCommit.cmake regenerates it on each build.
std::string_view build_commit();

// "0.2.0 (commit 3670c56a1b2c)"
std::string version_text();

}  // namespace lockstep
