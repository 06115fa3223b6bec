// Folders for records, sockets, locks and logs: this user's own, and closed to others.
//
// Promises: a folder that is made is closed from its first moment, and one that is found is closed, whatever
// the umask: what is in it is out of reach for other users, whatever its own mode (FRR gives bfdd's socket to
// everybody). Refuses, and leaves as it is: a symbolic link, and what belongs to another user.
#pragma once

#include <sys/types.h>

#include <string>

#include "specs/model/result.hpp"

namespace lockstep {

// Of a folder when it is done; until then it is this process's user's. Its group is this process's:
// lldpcli(8), which becomes lldpd's user where it is installed so (set-user-id), keeps the group of whoever
// called it.
struct FolderFor {
  uid_t owner = 0;
  mode_t mode = 0700;
};

// False: the folder above is gone, as when another command takes an empty one away.
Result<bool> make_folder(const std::string& path, const FolderFor& whom);

// With the folders above it, of mode 0755; this user's alone (0700).
Result<Done> make_private_folder(const std::string& path);

// Nothing there is this user's as well as anybody's. Refuses what make_folder() refuses.
Result<Done> check_own_folder(const std::string& path);

}  // namespace lockstep
