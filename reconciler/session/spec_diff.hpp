// SpecDiff: how the desired states of two versions of a cluster's specs differ, device by device.
//
// Promises: reads no device; the entries listed for a device turn its tree of the older specs into that of
// the newer ones. Compares entries only: not policies, suites, modes and claims.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "reconciler/engine/plan.hpp"
#include "reconciler/session/opened_cluster.hpp"
#include "specs/model/schema.hpp"

namespace lockstep {

struct EntryDiff {
  Change change;  // its origin: into SpecDiff::origins
  // Of the row, as in a plan. None for an entry that no spec sets any more and none owns completely: it stays
  // as it is.
  Disruption disruption = Disruption::none;
};

struct DeviceDiff {
  enum class Kind : std::uint8_t { added, removed, changed };
  std::string device;
  Kind kind = Kind::changed;
  std::vector<EntryDiff> entries;
  // The disruptions of its entries for which its RolloutPolicy, in the newer specs, requires approval (for
  // traffic: where there is some). Only of devices in both versions.
  std::set<Disruption> approvals{};
};

struct SpecDiff {
  std::string was;  // the clusters' names
  std::string now;
  std::size_t devices = 0;  // of the newer specs
  std::vector<PlanOrigin> origins;
  std::vector<DeviceDiff> differ;  // in the order of the newer specs; the removed ones last
};

SpecDiff compare_specs(const OpenedCluster& was, const OpenedCluster& now);

}  // namespace lockstep
