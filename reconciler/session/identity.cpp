#include "reconciler/session/identity.hpp"

#include <algorithm>
#include <filesystem>

#include "drivers/posix/random_uuid.hpp"
#include "specs/files/file_error.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

Error changed_meanwhile(const OpenedCluster& cluster, const std::string& what) {
  return Error{ErrorKind::conflict, cluster.folder + "/" + std::string(kAllocationLockFile) + " " + what +
                                        " than when the specs were read: run the command again"};
}

// The current content of the file.
Result<AllocationLock> lock_now(const OpenedCluster& cluster) {
  TRY(std::optional<AllocationLock> read, read_allocation_lock(cluster.folder));
  AllocationLock now = read ? *std::move(read) : AllocationLock{};
  const std::string uuid = now.cluster ? now.cluster->uuid : "";
  if (!cluster.uuid().empty() && uuid != cluster.uuid())
    return changed_meanwhile(cluster, "is of another cluster now");
  return now;
}

bool is_there(const std::string& directory) {
  std::error_code unseen;
  return fs::exists(directory, unseen);
}

Result<Done> move_state(const std::string& from, const std::string& to) {
  std::error_code why;
  fs::rename(from, to, why);
  return why ? Result<Done>(file_error("rename " + from + " to " + to, why.value())) : Done{};
}

bool has_all(const AllocationLock& there, const AllocationLock& numbers) {
  return std::ranges::all_of(numbers.pools, [&there](const auto& pool) {
    const auto found = there.pools.find(pool.first);
    return std::ranges::all_of(pool.second, [&](const auto& number) {
      if (found == there.pools.end()) return false;
      const auto kept = found->second.find(number.first);
      return kept != found->second.end() && kept->second == number.second;
    });
  });
}

}  // namespace

Result<Done> settle_identity(OpenedCluster& cluster, const std::string& command, WallTime now) {
  if (cluster.twin) return Done{};
  const std::string of_folder = state_directory(cluster.id, false);
  const auto is_settled = [&] {
    return !cluster.uuid().empty() && (is_there(identity_directory(cluster)) || !is_there(of_folder));
  };
  TRY(AllocationLock lock, lock_now(cluster));
  cluster.lock.cluster = lock.cluster;
  if (is_settled()) return Done{};
  // Also held by a process that assigns this folder's first UUID at this moment, and by an apply of a
  // lockstep before UUIDs.
  TRY(const FileLock held, lock_for_writing(of_folder, command, now));
  TRY(lock, lock_now(cluster));
  if (!lock.cluster) {
    TRY(std::string uuid, random_uuid("the cluster's UUID"));
    lock.cluster = ClusterIdentity{identity_name(cluster.name), std::move(uuid)};
    TRY_DONE(write_allocation_lock(cluster.folder, lock));
  }
  cluster.lock.cluster = lock.cluster;
  return is_settled() ? Result<Done>(Done{}) : move_state(of_folder, identity_directory(cluster));
}

Result<Done> write_numbers(const OpenedCluster& cluster) {
  if (cluster.twin) return Done{};
  TRY(const AllocationLock there, lock_now(cluster));
  AllocationLock wanted = cluster.compiled.allocation.lock;
  wanted.cluster = there.cluster;
  if (wanted.cluster) wanted.cluster->name = identity_name(cluster.name);
  if (wanted == there) return Done{};
  if (there.pools == cluster.lock.pools) return write_allocation_lock(cluster.folder, wanted);
  if (has_all(there, wanted)) return Done{};
  return changed_meanwhile(cluster, "gives other numbers now");
}

}  // namespace lockstep
