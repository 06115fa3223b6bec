// StoredState: the content of a cluster's state directory, for users.
//
// Promises: read-only, needs no lock, and creates no file: a directory that does not exist holds nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reconciler/session/owed.hpp"
#include "reconciler/store/backup.hpp"

namespace lockstep {

struct StoredState {
  StoreFile file;
  std::optional<std::string> leader;  // "process 7 since 2026-11-21T10:05:26Z (lockstep apply)"
  HistoryTotals totals;
  std::vector<ChangeRecord> newest;  // newest first
  std::vector<std::uint64_t> in_flight;
  std::vector<OwedChange> owed;
  std::vector<BlobEntry> blobs;
};

Result<StoredState> stored_state(const std::string& directory);

}  // namespace lockstep
