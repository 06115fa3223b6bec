// GitSource: specs in a git repository, fetched by the system's git(1).
//
// Promises: git runs as a child process of its own group that ends with the call, under a configuration of
// its own: no hooks, no submodules, no file system monitor, no prompts, no credential helpers, no filters or
// attributes of the repository, nothing of the user's and the machine's configuration; only the protocol of
// the configured address, no proxy, and no redirect. What is received is checked (fsck) before anything
// of it is read. Only the objects of one commit are fetched (depth 1), within the limits. Files are written
// to a new folder, by git's own object reader and not by a checkout: regular files alone; a symbolic link or
// a submodule among the specs, a path that leaves the folder, and a file with conflict markers refuse the
// commit. A commit that was returned last is not fetched again, unless the allowed signers have changed. A
// branch that was forced to another commit is that commit; one that was deleted is `not_found`, and what was
// returned before stays. Credentials are files that only this user may read, and appear in no argument, no
// environment of other processes, no message and no title.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reconciler/source/source.hpp"

namespace lockstep {

struct GitReference {
  enum class Kind : std::uint8_t { branch, tag, commit };
  Kind kind = Kind::branch;
  std::string name = "main";
};

// Local configuration of the service, never read from the repository.
struct GitSettings {
  std::string address;  // https://, http:// to loopback only, ssh://, or an absolute path
  GitReference reference{};
  std::string path{};                  // the folder of the specs in the repository; empty: its top
  std::string cache;                   // a folder of this user alone: the repository and the revisions
  std::string username{};              // with `password_file`, over https (and http)
  std::string password_file{};         // a password or token: its first line
  std::string ca_file{};               // instead of the system's authorities
  std::string ssh_key_file{};          // required with ssh://, as no agent and no key of the user is used
  std::string ssh_known_hosts_file{};  // required with ssh://
  // ssh-keygen(1), ALLOWED SIGNERS: a commit that none of them signed is refused. A key counts if it was
  // valid at the commit's time.
  std::string allowed_signers_file{};
  std::uint64_t max_bytes = 64 << 20;  // of what is received, and of the files of the specs together
  std::uint64_t max_file_bytes = 8 << 20;
  std::uint32_t max_files = 20'000;
};

// Invalid spec: settings that contradict each other, an address of another kind, a name that git reads as an
// option.
Result<std::unique_ptr<Source>> make_git_source(GitSettings settings);

}  // namespace lockstep
