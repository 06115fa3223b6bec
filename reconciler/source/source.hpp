// Source: where a service's specs come from: a folder of this machine, or a git repository.
//
// Promises: fetch() returns a revision whose folder has exactly the spec files of that revision, whole; or an
// error whose reason says what is wrong, and the revisions that were returned before stay as they are. It
// blocks, on a thread that is not the engine's, no longer than its call may. It runs nothing that the source
// contains.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "drivers/posix/call.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// Why there is no new revision; in conditions and metrics, and stable.
enum class SourceTrouble : std::uint8_t {
  unreachable,   // no connection, no answer in time, the server's own error: to be tried again
  denied,        // credentials, host key or certificate
  not_found,     // the repository, branch, tag, commit or folder does not exist
  too_large,     // more bytes, files or depth than the limits
  not_allowed,   // symbolic links out of the tree, submodules where specs should be, conflict markers
  not_verified,  // no signature, or one that the keyring does not trust
  broken,        // objects that fsck refuses, or a repository that can't be read
  local,         // this machine: no git, no space, no permission
};
// "Unreachable": CamelCase, as reasons of conditions are (kstatus).
std::string_view to_string(SourceTrouble trouble);

struct SourceError {
  SourceTrouble trouble;
  Error error;
};

// A revision's files on this machine; removed with the last of its owners, of which the source is one until
// it returns another revision.
class SourceFolder {
 public:
  virtual ~SourceFolder() = default;
  virtual const std::string& path() const = 0;  // absolute
};

struct Revision {
  std::string id;         // a commit's full hash; of a folder, "sha256:" and the hash of names and contents
  std::string author{};   // "Ada <ada@example.org>"; empty: not known, as below
  std::string subject{};  // the first line of the commit's message
  std::string made{};     // the commit's time (RFC 3339, UTC)
  std::string signer{};   // the key or principal whose signature was verified; empty: none was asked for
  std::shared_ptr<const SourceFolder> folder{};
};

// One call at a time.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::variant<Revision, SourceError> fetch(const Call& call) = 0;
  // "https://git.example.org/fabric.git branch main": without credentials.
  virtual std::string title() const = 0;
};

}  // namespace lockstep
