// What an accepted change stores for the next run: which devices the specs had, and the desired state of
// each.
//
// Promises: a change that removes more than its share of what was accepted last needs approval, and any
// change is refused if the store can't provide that record; a difference that waits for a window is
// distinguished from drift: if the specs have not changed since they were applied to a device, a difference
// there is drift, window or not.
#pragma once

#include "reconciler/engine/apply.hpp"
#include "reconciler/session/cluster_session.hpp"
#include "reconciler/store/store.hpp"

namespace lockstep {

// What was removed from the specs since a change was last accepted. A partial checkout must not dismantle a
// cluster.
Result<Deletion> deletion_by(const OpenedCluster& cluster, const Plan& plan, const Blobs& blobs);

// Stores the set of devices and the allocated numbers. A twin never writes beside the specs.
Result<Done> remember(const OpenedCluster& cluster, Blobs& blobs);
// Stores the set of devices if none is stored yet: an apply that has nothing to do accepts them too.
Result<Done> remember_first(const OpenedCluster& cluster, Blobs& blobs);

// Stores the desired state of the devices on which everything was done.
Result<Done> remember_intents(const ClusterSession& session, const Plan& plan, const ApplyReport& report,
                              Blobs& blobs);

// Why a device whose specs have changed since they were applied must wait; empty: it need not.
Result<std::function<std::string(const FleetDevice&)>> waits_for_window(const ClusterSession& session,
                                                                        const Blobs& blobs);

}  // namespace lockstep
