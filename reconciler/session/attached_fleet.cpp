#include "reconciler/session/attached_fleet.hpp"

#include <algorithm>

#include "reconciler/session/cluster_twin.hpp"
#include "reconciler/twin/management.hpp"
#include "specs/fabric/capacity.hpp"

namespace lockstep {
namespace {

// All of a device's drivers or none: a partly reached device would seem to lack the rest.
Result<std::vector<Attached>> drivers_of(const OpenedCluster& cluster, DeviceIndex index,
                                         const DriverTable& table,
                                         const std::optional<DriverTarget::Twin>& twin,
                                         const std::shared_ptr<CurrentEpoch>& epoch) {
  const TopologyDevice& device = cluster.compiled.topology.devices[index];
  const DriverTarget target{device.name,
                            cluster.name,
                            cluster.catalog.device_sets[device.set].connect.value,
                            cluster.compiled.intents[index],
                            twin,
                            epoch};
  std::vector<Attached> all;
  for (const DriverName driver : device.drivers) {
    const auto row = table.find(driver);
    if (row == table.end()) continue;
    TRY(std::optional<Attached> attached, row->second.attach(target));
    if (attached) all.push_back(*std::move(attached));
  }
  return all;
}

// The capacity that an outage leaves in the worst fabric, for the worst pair or host. The topology must
// outlive the result.
std::function<double(const Outage&)> capacity_of(const Topology& topology) {
  std::vector<FabricCapacity> fabrics;
  for (FabricIndex i = 0; i < topology.fabrics.size(); ++i) fabrics.emplace_back(topology, i);
  return [&topology, fabrics = std::move(fabrics)](const Outage& outage) {
    Down down;
    for (const std::string& name : outage.devices) down.devices.push_back(topology.find_device(name));
    for (const std::string& name : outage.returning) down.returning.push_back(topology.find_device(name));
    down.links = outage.cables;
    double least = 1;
    for (const FabricCapacity& fabric : fabrics)
      for (const double share : fabric.without(down).smallest) least = std::min(least, share);
    return least;
  };
}

// If several devices are local, the settings of all of them would go into this machine's kernel.
Result<Done> one_is_local(const OpenedCluster& cluster) {
  std::string local;
  for (const TopologyDevice& device : cluster.compiled.topology.devices) {
    if (!cluster.catalog.device_sets[device.set].connect.value.local.value) continue;
    if (!local.empty())
      return Error{ErrorKind::refused,
                   local + " and " + device.name +
                       " are both `connect: {local: true}`: only one device is this machine"};
    local = device.name;
  }
  return Done{};
}

// A twin without agents is reached by its namespaces, whatever happens to its ports.
std::map<std::string, std::vector<std::string>> management_ports(const OpenedCluster& cluster, bool agents) {
  std::map<std::string, std::vector<std::string>> out;
  if (cluster.twin) {
    if (agents)
      for (const TopologyDevice& device : cluster.compiled.topology.devices)
        out[device.name] = {std::string(kManagementPort)};
    return out;
  }
  for (const Cluster& one : cluster.catalog.clusters)
    if (one.management.said && one.management->interface.said)
      for (const TopologyDevice& device : cluster.compiled.topology.devices)
        out[device.name] = {*one.management->interface};
  return out;
}

// The device that is this machine.
std::optional<DeviceIndex> own_device(const OpenedCluster& cluster) {
  const std::vector<TopologyDevice>& devices = cluster.compiled.topology.devices;
  for (DeviceIndex i = 0; i < devices.size() && !cluster.twin; ++i)
    if (cluster.catalog.device_sets[devices[i].set].connect.value.local.value) return i;
  return std::nullopt;
}

// A switch answers at all ports for all its addresses, a host at the rail that has the address.
std::optional<PortIndex> port_with(const OpenedCluster& cluster, DeviceIndex device,
                                   const IpAddress& address) {
  const TopologyDevice& one = cluster.compiled.topology.devices[device];
  const auto& addresses = cluster.compiled.allocation.port;
  if (one.is_switch()) return std::nullopt;
  for (PortIndex port = one.first_port; port < one.first_port + one.port_count; ++port)
    if (port < addresses.size() && addresses[port] && addresses[port]->address == address) return port;
  return std::nullopt;
}

Result<OwnPath> found_path(const OpenedCluster& cluster, const std::vector<FleetDevice>& devices,
                           const FirstHops& first_hops) {
  std::vector<ReachedDevice> reached;
  std::vector<IpAddress> addresses;
  for (DeviceIndex i = 0; i < devices.size(); ++i)
    for (const Attached* const one : devices[i].drivers) {
      if (!one->address) continue;
      reached.push_back({.device = i, .by = {}, .at = port_with(cluster, i, *one->address)});
      addresses.push_back(*one->address);
    }
  if (reached.empty() || !first_hops) return OwnPath{};
  const Topology& topology = cluster.compiled.topology;
  const std::optional<DeviceIndex> self = own_device(cluster);
  TRY(const auto ports, first_hops(addresses));
  for (std::size_t i = 0; self && i < reached.size(); ++i)
    for (const std::string& name : ports[i])
      if (const PortIndex port = topology.find_port(*self, name);
          port != kNone && topology.ports[port].link != kNone)
        reached[i].by.push_back(port);
  return own_path(topology, self, reached);
}

}  // namespace

const Policy* AttachedFleet::policy_for(const FleetDevice& device) const {
  const std::optional<std::size_t> index = fleet.find(device.name);
  if (!index || *index >= policy_of_device.size() || policy_of_device[*index] == kNone) return nullptr;
  return &policies[policy_of_device[*index]];
}

std::string AttachedFleet::jobs_at(DeviceIndex device) const {
  constexpr std::chrono::seconds kJobsTime{5};  // reading folders of sysfs, and NVML for 8 GPUs
  const auto found = jobs.find(device);
  if (found == jobs.end()) return {};
  const std::string& name = fleet[device].name;
  for (const Jobs& asked : found->second)
    if (std::string said =
            asked(name, {.deadline = std::chrono::steady_clock::now() + kJobsTime, .stop = {}});
        !said.empty())
      return said;
  return {};
}

Result<AttachedFleet> attach_fleet(const OpenedCluster& cluster, const DriverTable& table,
                                   const FirstHops& first_hops, std::shared_ptr<CurrentEpoch> epoch) {
  std::optional<DriverTarget::Twin> twin;
  if (cluster.twin) {
    TRY(const TwinReport running, running_twin(cluster));
    twin = {cluster.id, running.record.lldp, running.record.agents};
  } else {
    TRY_DONE(one_is_local(cluster));
  }
  AttachedFleet out;
  if (epoch) out.epoch = std::move(epoch);
  std::vector<FleetDevice> devices;
  const Topology& topology = cluster.compiled.topology;
  for (DeviceIndex i = 0; i < topology.devices.size(); ++i) {
    FleetDevice device;
    device.name = topology.devices[i].name;
    device.role = std::string(to_string(topology.devices[i].role));
    const DeviceSet& set = cluster.catalog.device_sets[topology.devices[i].set];
    device.set = *set.metadata.name;
    device.platform = topology.devices[i].platform;
    device.labels = labels_of(set, topology.devices[i].ordinal);
    device.intent = &cluster.compiled.intents[i];
    if (const auto entry = cluster.maintenance.find(device.name); entry != cluster.maintenance.end())
      device.maintenance = entry->second;
    if (Result<std::vector<Attached>> attached = drivers_of(cluster, i, table, twin, out.epoch); !attached) {
      device.unattached = std::move(attached.error());
    } else if (attached->empty()) {
      device.unattached = Error{ErrorKind::refused, kWhyUnreached};
    } else {
      for (Attached& one : *attached) {
        out.drivers.push_back(std::make_unique<Attached>(std::move(one)));
        device.drivers.push_back(out.drivers.back().get());
      }
    }
    if (!twin && !device.drivers.empty())
      for (const DriverName driver : topology.devices[i].drivers)
        if (const auto row = table.find(driver); row != table.end() && row->second.jobs)
          out.jobs[i].push_back(row->second.jobs);
    devices.push_back(std::move(device));
  }
  Wiring wiring = wiring_of(topology);
  wiring.capacity_left = capacity_of(topology);
  wiring.management_ports = management_ports(cluster, twin && twin->agents);
  TRY(wiring.own_path, found_path(cluster, devices, first_hops));
  for (const RolloutPolicy& policy : cluster.catalog.rollout_policies)
    out.policies.push_back(policy_of(policy));
  out.policy_of_device = cluster.compiled.rollout;
  Result<Fleet> fleet = Fleet::make(std::move(devices), std::move(wiring));
  if (!fleet) return std::move(fleet.error());
  out.fleet = *std::move(fleet);
  return out;
}

Result<std::vector<std::size_t>> chosen_devices(const Fleet& fleet, const std::vector<std::string>& names) {
  std::vector<std::size_t> chosen;
  for (const std::string& name : names) {
    const std::optional<std::size_t> index = fleet.find(name);
    if (!index) return Error{ErrorKind::invalid_spec, "no device is called '" + name + "'"};
    if (std::find(chosen.begin(), chosen.end(), *index) == chosen.end()) chosen.push_back(*index);
  }
  return chosen;
}

}  // namespace lockstep
