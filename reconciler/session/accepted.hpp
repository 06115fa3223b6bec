// What an accepted change leaves in the store for the next run: who was there, and what each device was to
// be.
//
// Promises: a change that takes away more than its share of what was accepted last needs a person's word, and
// any is refused where the store can't say what that was; a difference that waits for a window is told apart
// from drift: where the specs have not changed since they were applied to a device, what differs there has
// drifted, window or not.
#pragma once

#include "reconciler/engine/apply.hpp"
#include "reconciler/session/cluster_session.hpp"
#include "reconciler/store/store.hpp"

namespace lockstep {

// What is gone from the specs since a change was last accepted. A partial checkout must not dismantle a
// cluster.
Result<Deletion> deletion_by(const OpenedCluster& cluster, const Plan& plan, const Blobs& blobs);

// Who is there, and which numbers were given out. A twin never writes beside the specs.
Result<Done> remember(const OpenedCluster& cluster, Blobs& blobs);
// Who is there, where nobody is known yet: an apply that has nothing to do accepts them too.
Result<Done> remember_first(const OpenedCluster& cluster, Blobs& blobs);

// What the devices were to be of which nothing was left undone.
Result<Done> remember_intents(const ClusterSession& session, const Plan& plan, const ApplyReport& report,
                              Blobs& blobs);

// Of a device whose specs have changed since they were applied: why it has to wait; empty: it has not.
Result<std::function<std::string(const FleetDevice&)>> waits_for_window(const ClusterSession& session,
                                                                        const Blobs& blobs);

}  // namespace lockstep
