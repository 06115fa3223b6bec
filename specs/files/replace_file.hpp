// replace_file: atomically replaces a file.
//
// Promises: whoever opens the file, at any time and after any crash, reads the old text or the new one, never
// a part; once it returns without an error, the new text survives a power loss. The text is written beside
// the file under a unique name, synced, renamed over it (rename(2)), and the folder is synced. A regular file
// that is replaced keeps its mode and its owner; other attributes and hard links are not kept. On failure the
// old file is unchanged (or the new one is there, if only the folder could not be synced) and nothing is left
// beside it; only a killed process leaves its `.lockstep-*` there. If several processes replace one file at
// once, the last one wins. The umask has no effect. Refuses to replace anything but a regular file; a
// symbolic link is not followed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "specs/model/result.hpp"

namespace lockstep {

struct Replacement {
  enum class Owner : std::uint8_t { self, folder };

  // Mode of a new file, whatever the umask. 0644: others can read it (a plan, numbers).
  mode_t mode = 0644;
  // Owner of a new file: this process, or the owner of the folder.
  Owner owner = Owner::self;
  // An existing pipe or terminal is written to and not replaced; so are the descriptors of this process
  // (/dev/stdout, /dev/stderr, /dev/fd/N). Other links are refused: whoever may put a link into a folder of
  // specs could otherwise choose a file to be emptied.
  bool write_through = false;
};

// "FILE: the reason". Denied if permission is missing, else refused.
Result<Done> replace_file(const std::string& file, std::string_view text, const Replacement& how = {});

// What replace_file() would refuse now, for a text that takes long to produce. Leaves nothing behind, and
// guarantees nothing about a later call.
Result<Done> check_replaceable(const std::string& file, const Replacement& how = {});

// The same for files that only another library can write: `write` gets the path of the empty file beside the
// target. Its error is returned unchanged; it must remove any other files that it creates.
using FileWriter = std::function<Result<Done>(const std::string& beside)>;
Result<Done> replace_file_by(const std::string& file, const FileWriter& write, const Replacement& how = {});

// The path of a file of this name in the folder. Refuses a name that leads elsewhere (`../x`) or is hidden.
// For names from specs, which are untrusted.
Result<std::string> file_in(const std::string& folder, const std::string& name);

}  // namespace lockstep
