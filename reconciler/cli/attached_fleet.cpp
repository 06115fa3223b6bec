#include "reconciler/cli/attached_fleet.hpp"

#include <algorithm>

#include "drivers/frr/driver.hpp"
#include "drivers/linux/driver.hpp"
#include "reconciler/twin/twin.hpp"
#include "specs/compile/wanted_by_name.hpp"
#include "specs/fabric/capacity.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

// Where Debian's lldpd listens (lldpd(8), -u).
constexpr const char* kLldpdSocket = "/run/lldpd.socket";

class Attacher {
 public:
  // `lldp`: an lldpd runs in every device of the twin.
  Attacher(const OpenedCluster& cluster, bool lldp) : cluster_(cluster), lldp_(lldp) {}

  std::vector<Attached*> attach(DeviceIndex index, AttachedFleet& out) const {
    std::vector<Attached*> mine;
    const TopologyDevice& device = cluster_.compiled.topology.devices[index];
    for (const DriverName driver : device.drivers) {
      std::optional<Attached> attached =
          cluster_.twin ? in_twin(driver, index) : on_this_machine(driver, index);
      if (!attached) continue;
      out.drivers.push_back(std::make_unique<Attached>(*std::move(attached)));
      mine.push_back(out.drivers.back().get());
    }
    return mine;
  }

 private:
  std::optional<Attached> in_twin(DriverName driver, DeviceIndex index) const {
    const std::string& device = cluster_.compiled.topology.devices[index].name;
    const DevicePlaces at = places(cluster_.id, device);
    if (driver == DriverName::linux_kernel)
      return make_linux_driver({.device = device,
                                .netns_path = at.netns_path,
                                .software_rate = true,
                                .named = wanted_by_name(cluster_.compiled.intents[index]),
                                .ports = wanted_ports(cluster_.compiled.intents[index]),
                                .lldpd_socket = lldp_ ? at.lldpd_socket : "",
                                .restart_lldpd = [cluster = cluster_.id, device](const Call&) {
                                  return restart_daemon(cluster, device, "lldpd");
                                }});
    if (driver == DriverName::frr)
      return make_frr_driver(
          {.device = device,
           .run_dir = at.run_dir,
           .config_file = at.frr_config,
           .netns_path = at.netns_path,
           .restart = [cluster = cluster_.id, device](const std::string& daemon, const Call&) {
             return restart_daemon(cluster, device, daemon);
           }});
    return std::nullopt;
  }

  std::optional<Attached> on_this_machine(DriverName driver, DeviceIndex index) const {
    const TopologyDevice& device = cluster_.compiled.topology.devices[index];
    const DeviceSet& set = cluster_.catalog.device_sets[device.set];
    if (!set.connect.value.local.value) return std::nullopt;
    if (driver == DriverName::linux_kernel)
      return make_linux_driver({.device = device.name,
                                .netns_path = "",
                                .software_rate = false,
                                .named = wanted_by_name(cluster_.compiled.intents[index]),
                                .ports = wanted_ports(cluster_.compiled.intents[index]),
                                .lldpd_socket = kLldpdSocket});
    // Debian's FRR package keeps its sockets and its configuration there (frr.service, /etc/frr/daemons).
    if (driver == DriverName::frr)
      return make_frr_driver({.device = device.name,
                              .run_dir = "/run/frr",
                              .config_file = "/etc/frr/frr.conf",
                              .netns_path = ""});
    return std::nullopt;
  }

  const OpenedCluster& cluster_;
  bool lldp_;
};

// What an outage leaves of the worst fabric, for the worst pair or host. The topology must outlive the
// answer.
std::function<double(const Outage&)> capacity_of(const Topology& topology) {
  std::vector<FabricCapacity> fabrics;
  for (FabricIndex i = 0; i < topology.fabrics.size(); ++i) fabrics.emplace_back(topology, i);
  return [&topology, fabrics = std::move(fabrics)](const Outage& outage) {
    Down down;
    for (const std::string& name : outage.devices) down.devices.push_back(topology.find_device(name));
    down.links = outage.cables;
    double least = 1;
    for (const FabricCapacity& fabric : fabrics)
      for (const double share : fabric.without(down).smallest) least = std::min(least, share);
    return least;
  };
}

// What every device called local wants would go into one kernel: this machine's.
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

// A twin is reached by its namespaces, whatever its ports do.
std::map<std::string, std::vector<std::string>> management_ports(const OpenedCluster& cluster) {
  std::map<std::string, std::vector<std::string>> out;
  if (cluster.twin) return out;
  for (const Cluster& one : cluster.catalog.clusters)
    if (one.management.said && one.management->interface.said)
      for (const TopologyDevice& device : cluster.compiled.topology.devices)
        out[device.name] = {*one.management->interface};
  return out;
}

}  // namespace

const Policy* AttachedFleet::policy_for(const FleetDevice& device) const {
  const std::optional<std::size_t> index = fleet.find(device.name);
  if (!index || *index >= policy_of_device.size() || policy_of_device[*index] == kNone) return nullptr;
  return &policies[policy_of_device[*index]];
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

Result<AttachedFleet> attach_fleet(const OpenedCluster& cluster) {
  bool lldp = false;
  if (cluster.twin) {
    TRY(const TwinReport twin, running_twin(cluster));
    lldp = twin.record.lldp;
  } else {
    TRY_DONE(one_is_local(cluster));
  }
  AttachedFleet out;
  const Attacher attacher(cluster, lldp);
  std::vector<FleetDevice> devices;
  const Topology& topology = cluster.compiled.topology;
  for (DeviceIndex i = 0; i < topology.devices.size(); ++i) {
    FleetDevice device;
    device.name = topology.devices[i].name;
    device.role = std::string(to_string(topology.devices[i].role));
    device.intent = &cluster.compiled.intents[i];
    device.drivers = attacher.attach(i, out);
    devices.push_back(std::move(device));
  }
  Wiring wiring = wiring_of(topology);
  wiring.capacity_left = capacity_of(topology);
  wiring.management_ports = management_ports(cluster);
  for (const RolloutPolicy& policy : cluster.catalog.rollout_policies)
    out.policies.push_back(policy_of(policy));
  out.policy_of_device = cluster.compiled.rollout;
  Result<Fleet> fleet = Fleet::make(std::move(devices), std::move(wiring));
  if (!fleet) return std::move(fleet.error());
  out.fleet = *std::move(fleet);
  return out;
}

Result<std::vector<std::size_t>> chosen_devices(const Fleet& fleet, const std::string& only) {
  std::vector<std::size_t> chosen;
  if (only.empty()) return chosen;
  TRY(const std::vector<std::string> names, expand_hostlist(only));
  for (const std::string& name : names) {
    const std::optional<std::size_t> index = fleet.find(name);
    if (!index) return Error{ErrorKind::invalid_spec, "--only: no device is called '" + name + "'"};
    if (std::find(chosen.begin(), chosen.end(), *index) == chosen.end()) chosen.push_back(*index);
  }
  return chosen;
}

}  // namespace lockstep
