#include "reconciler/session/cluster_twin.hpp"

#include <algorithm>

#include "specs/language/hostlist.hpp"
#include "specs/language/quantity.hpp"

namespace lockstep {
namespace {

// Whether the specs have gained devices or cables since.
Result<Done> has_all(const TwinRecord& running, const OpenedCluster& cluster) {
  const TwinLayout& has = running.layout;
  const TwinChange change = change_between(has, has, layout_of(cluster));
  std::vector<std::string> devices;
  for (const TwinDevice& one : change.devices_made) devices.push_back(one.name);
  std::string lacks = devices.empty() ? "" : fold_hostlist(devices);
  const std::size_t cables = change.cables_made.size();
  if (cables == 1)
    lacks += (lacks.empty() ? "" : " and ") + piece_text(change.cables_made.front());
  else if (cables > 1)
    lacks += (lacks.empty() ? "" : " and ") + std::to_string(cables) + " cables, such as " +
             piece_text(change.cables_made.front());
  if (lacks.empty()) return Done{};
  return Error{ErrorKind::conflict, "the twin of " + cluster.name + " lacks what its specs have (" + lacks +
                                        "): `lockstep twin up " + cluster.folder + "` makes it"};
}

Result<Done> has_link_rate(const TwinRecord& running, const OpenedCluster& cluster) {
  if (running.link_rate == cluster.link_rate) return Done{};
  const std::string given = format(BitRate{cluster.link_rate});
  return Error{ErrorKind::conflict,
               "the twin of " + cluster.name + " has links of " + format(BitRate{running.link_rate}) +
                   ", and --link-rate says " + given +
                   ": leave it out, or change the twin by `lockstep twin up --link-rate " + given + " " +
                   cluster.folder + "`"};
}

// The types of devices that SONiC knows (sonic-device_metadata.yang); empty: the device runs no SONiC.
std::string sonic_type_of(const TopologyDevice& device) {
  if (!device.is_switch() || std::ranges::find(device.drivers, DriverName::sonic) == device.drivers.end())
    return "";
  if (device.role == DeviceRole::superspine) return "UpperSpineRouter";
  return device.role == DeviceRole::leaf ? "LeafRouter" : "SpineRouter";
}

}  // namespace

TwinLayout layout_of(const OpenedCluster& cluster) {
  TwinLayout layout;
  layout.cluster = cluster.id;
  const Topology& topology = cluster.compiled.topology;
  for (const TopologyDevice& device : topology.devices)
    layout.devices.push_back({.name = device.name,
                              .role = device.is_switch() ? TwinRole::device_switch : TwinRole::host,
                              .routing = device.is_switch(),
                              .sonic_type = sonic_type_of(device)});
  for (const TopologyLink& link : topology.links)
    layout.cables.push_back({.device_a = topology.device_of(link.a),
                             .port_a = std::string(topology.ports[link.a].name),
                             .device_b = topology.device_of(link.b),
                             .port_b = std::string(topology.ports[link.b].name),
                             .segmentation_offload = true});
  return layout;
}

Result<std::vector<FileLock>> lock_out_others(const std::string& directory, const std::string& command) {
  std::vector<FileLock> out;
  TRY(FileLock writing, lock_for_writing(directory, command));
  out.push_back(std::move(writing));
  TRY(FileLock measuring, lock_for_measuring(directory, command));
  out.push_back(std::move(measuring));
  return out;
}

Result<TwinReport> running_twin(const OpenedCluster& cluster) {
  Result<TwinReport> twin = status(cluster.id);
  if (!twin && twin.error().kind != ErrorKind::refused)
    return wrap("the twin of " + cluster.name + " can't be asked", twin.error());
  if (!twin || !twin->alive)
    return Error{ErrorKind::refused, "the twin of " + cluster.name + " is not up; `lockstep twin up " +
                                         cluster.folder + "` brings it up"};
  TRY_DONE(has_all(twin->record, cluster));
  TRY_DONE(has_link_rate(twin->record, cluster));
  return twin;
}

}  // namespace lockstep
