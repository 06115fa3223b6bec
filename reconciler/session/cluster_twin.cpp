#include "reconciler/session/cluster_twin.hpp"

#include <algorithm>

#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

// Devices that the specs have gained since: their namespaces are not there.
Result<Done> has_all_devices(const TwinRecord& running, const OpenedCluster& cluster) {
  std::vector<std::string> lacks;
  for (const TopologyDevice& device : cluster.compiled.topology.devices) {
    const auto& there = running.layout.devices;
    if (std::none_of(there.begin(), there.end(),
                     [&](const TwinDevice& one) { return one.name == device.name; }))
      lacks.push_back(device.name);
  }
  if (lacks.empty()) return Done{};
  return Error{ErrorKind::conflict, "the twin of " + cluster.name + " is up with another layout (it lacks " +
                                        fold_hostlist(lacks) + "): take it down first, `lockstep twin down " +
                                        cluster.folder + "`"};
}

}  // namespace

TwinLayout layout_of(const OpenedCluster& cluster) {
  TwinLayout layout;
  layout.cluster = cluster.id;
  const Topology& topology = cluster.compiled.topology;
  for (const TopologyDevice& device : topology.devices)
    layout.devices.push_back({.name = device.name,
                              .role = device.is_switch() ? TwinRole::device_switch : TwinRole::host,
                              .routing = device.is_switch()});
  for (const TopologyLink& link : topology.links)
    layout.cables.push_back({.device_a = topology.device_of(link.a),
                             .port_a = std::string(topology.ports[link.a].name),
                             .device_b = topology.device_of(link.b),
                             .port_b = std::string(topology.ports[link.b].name),
                             .segmentation_offload = true});
  return layout;
}

Result<TwinReport> running_twin(const OpenedCluster& cluster) {
  Result<TwinReport> twin = status(cluster.id);
  if (!twin && twin.error().kind != ErrorKind::refused)
    return wrap("the twin of " + cluster.name + " can't be asked", twin.error());
  if (!twin || !twin->alive)
    return Error{ErrorKind::refused, "the twin of " + cluster.name + " is not up; `lockstep twin up " +
                                         cluster.folder + "` brings it up"};
  TRY_DONE(has_all_devices(twin->record, cluster));
  return twin;
}

}  // namespace lockstep
