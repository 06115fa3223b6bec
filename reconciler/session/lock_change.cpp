#include "reconciler/session/lock_change.hpp"

#include <map>
#include <set>

#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

using Numbers = std::map<std::string, std::uint64_t>;

const Numbers& of_pool(const AllocationLock& lock, const std::string& pool) {
  static const Numbers none;
  const auto found = lock.pools.find(pool);
  return found == lock.pools.end() ? none : found->second;
}

// Names of `left` that `right` lacks or, with `changed`, has with another number.
void add(std::vector<std::string>& out, const std::string& pool, const Numbers& left, const Numbers& right,
         bool changed) {
  std::vector<std::string> names;
  for (const auto& [name, number] : left) {
    const auto other = right.find(name);
    if (changed ? other != right.end() && other->second != number : other == right.end())
      names.push_back(name);
  }
  sort_names(names);
  for (const std::string& name : names) out.push_back(pool + " " + name);
}

}  // namespace

LockChange lock_change(const OpenedCluster& cluster) {
  const AllocationLock& was = cluster.lock;
  const AllocationLock& now = cluster.compiled.allocation.lock;
  LockChange out;
  out.identifies = !was.cluster || was.cluster->name != identity_name(cluster.name);
  std::set<std::string> pools;
  for (const AllocationLock* const lock : {&was, &now})
    for (const auto& [pool, numbers] : lock->pools) pools.insert(pool);
  for (const std::string& pool : pools) {
    add(out.given, pool, of_pool(now, pool), of_pool(was, pool), false);
    add(out.changed, pool, of_pool(now, pool), of_pool(was, pool), true);
    add(out.freed, pool, of_pool(was, pool), of_pool(now, pool), false);
  }
  return out;
}

}  // namespace lockstep
