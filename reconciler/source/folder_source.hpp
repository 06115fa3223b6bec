// FolderSource: specs in a folder of this machine, of which each revision is a copy.
//
// Promises: a revision is what was in the folder at one moment: it is read twice, and only what was the same
// both times (names, sizes, times and contents) is returned; a folder that keeps changing is `unreachable`
// until it is quiet. Names that begin with '.' are left out, as where specs are loaded. A symbolic link to a
// file in the folder becomes that file, one to a folder in it stays a link; symbolic links that lead out of
// the folder are refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "reconciler/source/source.hpp"

namespace lockstep {

struct FolderSettings {
  std::string folder;                  // absolute
  std::string cache;                   // a folder of this user alone, for the copies, and not in `folder`
  std::uint64_t max_bytes = 64 << 20;  // of all files together
  std::uint32_t max_files = 20'000;    // and folders
};

// Invalid spec: settings that contradict each other.
Result<std::unique_ptr<Source>> make_folder_source(FolderSettings settings);

}  // namespace lockstep
