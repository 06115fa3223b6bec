// Folders for records, sockets, locks and logs: owned by this user and closed to others.
//
// Promises: a folder is created closed, and an existing one is closed, whatever the umask: other users can't
// access its contents, whatever their own modes (FRR makes bfdd's socket world-accessible). Refuses, without
// changing them: symbolic links and folders of other users.
#pragma once

#include <sys/types.h>

#include <string>

#include "specs/model/result.hpp"

namespace lockstep {

// The final owner of a folder; until it is complete it belongs to this process's user. Its group is this
// process's: lldpcli(8), which becomes lldpd's user if installed set-user-id, keeps the group of its caller.
struct FolderFor {
  uid_t owner = 0;
  mode_t mode = 0700;
};

// False: the parent folder is gone, for example because another command removed it while it was empty.
Result<bool> make_folder(const std::string& path, const FolderFor& whom);

// Creates parent folders as well, of mode 0755; this one is 0700.
Result<Done> make_private_folder(const std::string& path);

// A folder that does not exist passes. Refuses what make_folder() refuses.
Result<Done> check_own_folder(const std::string& path);

}  // namespace lockstep
