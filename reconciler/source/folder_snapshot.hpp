// What is in a folder at one moment: its files with their contents, and its links to folders.
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <string>

#include "reconciler/source/fetched.hpp"
#include "reconciler/source/folder_source.hpp"

namespace lockstep {

struct SnapshotEntry {
  enum class Kind : std::uint8_t { file, folder, link };
  Kind kind = Kind::file;
  std::string content{};  // of a file, also one that a link leads to; of another link, where it leads
  // lstat(2): shows a change that put the same content back.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // ns
  std::int64_t changed = 0;   // ns
  bool operator==(const SnapshotEntry&) const = default;
};

// By path from the folder, "" is the folder itself; without names that begin with '.'.
using FolderSnapshot = std::map<std::string, SnapshotEntry>;

// Unreachable: files come and go meanwhile. Reads nothing outside of the folder.
Fetched<FolderSnapshot> read_folder(const FolderSettings& settings, const Call& call);

// "sha256:" and the hash of names and contents.
std::string snapshot_id(const FolderSnapshot& snapshot);

}  // namespace lockstep
