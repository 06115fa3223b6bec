#include "reconciler/session/numbers.hpp"

#include <nlohmann/json.hpp>

#include "reconciler/session/identity.hpp"
#include "reconciler/store/store.hpp"

namespace lockstep {
namespace {

constexpr const char* kPlace = "numbers";

}  // namespace

Result<std::optional<AllocationLock>> numbers_of_twin(const std::string& directory) {
  TRY(const std::unique_ptr<Store> store, open_store(directory));
  TRY(const std::optional<nlohmann::json> kept, store->blobs().kept(kPlace));
  if (!kept) return std::optional<AllocationLock>();
  TRY(AllocationLock lock, parse_allocation_lock("the twin's numbers in " + directory, kept->dump(2)));
  return std::optional(std::move(lock));
}

Result<Done> keep_numbers(const OpenedCluster& cluster, Blobs& blobs) {
  if (!cluster.twin) return write_numbers(cluster);
  return blobs.keep(kPlace, nlohmann::json::parse(to_text(cluster.compiled.allocation.lock)));
}

}  // namespace lockstep
