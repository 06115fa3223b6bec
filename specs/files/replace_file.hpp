// replace_file: puts a whole new file in place of an old one.
//
// Promises: whoever opens the file, at any time and after any crash, reads the old text or the new one, never
// a part; once it returns without an error the new one lasts through a loss of power. The text is written
// beside the file under a name that nobody else has, synced, renamed over it (rename(2)), and the folder is
// synced. A regular file that is replaced keeps its mode and its owner; other attributes and hard links to it
// do not follow. Where it fails, the old file is as it was (or the new one is there, if only the folder could
// not be synced) and nothing is left beside it; only a killed process leaves its `.lockstep-*` there. Of
// several that replace one file at once, the last one stays. The umask decides nothing. Refuses what is there
// and is not a regular file; a symbolic link is not followed.
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

  // Of a file that was not there: its mode, whatever the umask. 0644: others read it (a plan, numbers).
  mode_t mode = 0644;
  // Of a file that was not there: this process, or whoever owns the folder.
  Owner owner = Owner::self;
  // A pipe or a terminal that is there is written to, and stays what it is; so is what this process was given
  // open (/dev/stdout, /dev/stderr, /dev/fd/N). Other links are refused: whoever may put one into a folder of
  // specs would choose the file that is emptied.
  bool write_through = false;
};

// "FILE: the reason". Denied where permission is missing, else refused.
Result<Done> replace_file(const std::string& file, std::string_view text, const Replacement& how = {});

// The same for what only another library can write: `write` is given the path of the empty file beside. Its
// error is returned as it is; what it made under longer names is its own.
using FileWriter = std::function<Result<Done>(const std::string& beside)>;
Result<Done> replace_file_by(const std::string& file, const FileWriter& write, const Replacement& how = {});

}  // namespace lockstep
