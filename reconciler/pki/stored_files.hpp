// Several files that belong together: all are stored, or none is changed. Part of lockstep_pki.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep {

inline constexpr mode_t kPublicMode = 0644;
inline constexpr mode_t kPrivateMode = 0600;

struct StoredFile {
  std::string path;
  std::string text;
  mode_t mode = kPublicMode;  // of a new one
};

// In this order. Where one can't be written, those before it are again as they were.
Result<Done> store_files(const std::vector<StoredFile>& files);

// Anything of this name, also a link that leads nowhere.
bool file_is_there(const std::string& path);

}  // namespace lockstep
