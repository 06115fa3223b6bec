// Applied specs: the specs that an apply last brought each device to, so that a watch heals towards those and
// no others.
//
// Promises: stored with what was accepted, under the cluster's lock. An apply that begins to write other
// specs to a device takes the device from all watches. When the apply is over, the device belongs to the
// watches of its specs if all differences there were corrected; to its previous watches if it was not to be
// changed (`mode`, maintenance), nothing was written or everything was rolled back; and otherwise to none
// until an apply brings it to its specs. A device that was removed from the specs belongs to no watch, and a
// device without a recorded apply to every watch but those that ask for one (WatchRequest::only_applied).
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "reconciler/engine/apply.hpp"
#include "reconciler/session/cluster_session.hpp"
#include "reconciler/store/store.hpp"

namespace lockstep {

// One apply, from before its first write until its end.
class AppliedSpecs {
 public:
  explicit AppliedSpecs(const Plan& plan);
  // Before the first write to any of the plan's devices.
  Result<Done> begin(const ClusterSession& session, Blobs& blobs);
  // Without begin(): there was nothing to write. `left_out`: devices that may differ by more than the plan's
  // steps.
  Result<Done> end(const ClusterSession& session, const Plan& plan, const ApplyReport& report,
                   const std::set<std::string>& left_out, Blobs& blobs);

 private:
  std::set<std::string> written_;  // devices
  nlohmann::json before_;          // as it was before the first write; null: nothing was written
};

// Those of `devices` (indices into the fleet) that were last brought to other specs than this fleet's;
// `only_applied`: those that were never brought to any as well.
Result<std::vector<std::size_t>> applied_otherwise(const Fleet& fleet, const Origins& origins,
                                                   const std::vector<std::size_t>& devices, bool only_applied,
                                                   const Blobs& blobs);

}  // namespace lockstep
