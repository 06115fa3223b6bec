#include "reconciler/cli/program_drivers.hpp"

#include <algorithm>
#include <filesystem>

#include "drivers/frr/config_text.hpp"
#include "drivers/frr/driver.hpp"
#include "drivers/linux/driver.hpp"
#include "drivers/linux/first_hops.hpp"
#include "drivers/linux/host/jobs.hpp"
#include "drivers/linux/rdma/named_counters.hpp"
#include "drivers/sonic/config_text.hpp"
#include "drivers/sonic/driver.hpp"
#include "drivers/sonic/patch_driver.hpp"
#include "drivers/sonic/redis_address.hpp"
#include "drivers/sonic/sonic_counters.hpp"
#include "reconciler/cli/agent_networks.hpp"
#include "reconciler/local/local_drivers.hpp"
#include "reconciler/twin/places.hpp"
#include "reconciler/twin/sonic_device.hpp"

namespace lockstep {
namespace {

// None: the device is not on this machine, or is reached through its agent all the same.
std::optional<LocalDevice> local_device(const DriverTarget& target) {
  if (target.twin ? target.twin->agents : !target.connect.local.value) return std::nullopt;
  LocalDevice out{.device = target.device, .cluster = target.cluster};
  if (target.twin) out.twin = LocalDevice::InTwin{target.twin->cluster, target.twin->lldp};
  return out;
}

Attached unattached_linux(const std::string& device, bool twin) {
  LinuxTarget target;
  target.device = device;
  target.software_rate = twin;
  return make_linux_driver(std::move(target));
}

Attached unattached_frr(const std::string& device, [[maybe_unused]] bool twin) {
  FrrTarget target;
  target.device = device;
  return make_frr_driver(std::move(target));
}

using Attach = std::function<Result<std::optional<Attached>>(const DriverTarget&)>;

Attach attach(DriverName driver, Attached (*unattached)(const std::string&, bool),
              const std::shared_ptr<AgentNetworks>& agents) {
  return [driver, unattached, agents](const DriverTarget& target) -> Result<std::optional<Attached>> {
    if (const std::optional<LocalDevice> device = local_device(target))
      return std::optional<Attached>(attach_local(driver, *device));
    return agents->attach(target, to_string(driver), unattached(target.device, target.twin.has_value()));
  };
}

// A twin's switch, through the socket of its Redis, whether the twin has agents or not.
Attached sonic_in_twin(const std::string& device, const std::string& twin) {
  const std::string socket = sonic_redis_socket(places(twin, device).run_dir);
  Attached attached = make_sonic_driver(
      {.device = device, .databases = usual_databases({.socket_path = socket}), .models = sonic_models()});
  attached.machine = "twin-" + twin;
  return attached;
}

Result<Attached> sonic_by_ssh(const DriverTarget& target) {
  TRY(sonic::SshServer server, sonic::parse_ssh_server(target.named(*target.connect.ssh)));
  return make_sonic_patch_driver(
      {.device = target.device, .server = std::move(server), .models = sonic_models()});
}

Result<Attached> sonic_by_redis(const DriverTarget& target) {
  TRY(const sonic::RedisServer server, sonic::parse_redis_server(target.named(*target.connect.redis)));
  Attached attached = make_sonic_driver(
      {.device = target.device, .databases = usual_databases(server), .models = sonic_models()});
  if (!server.host.empty()) attached.address = IpAddress::parse(server.host);
  return attached;
}

Attached unattached_sonic(const std::string& device, [[maybe_unused]] bool twin) {
  return make_sonic_driver({.device = device, .databases = usual_databases({})});
}

Attach attach_sonic(const std::shared_ptr<AgentNetworks>& agents) {
  const Attach on_switch = attach(DriverName::sonic, unattached_sonic, agents);
  return [on_switch](const DriverTarget& target) -> Result<std::optional<Attached>> {
    if (target.twin) return std::optional(sonic_in_twin(target.device, target.twin->cluster));
    // Its Redis takes whole transactions, and shows changes as they happen.
    const bool by_redis = target.connect.redis.said;
    if (target.connect.agent.said || target.connect.local.value || (!by_redis && !target.connect.ssh.said))
      return on_switch(target);
    TRY(Attached attached, by_redis ? sonic_by_redis(target) : sonic_by_ssh(target));
    return std::optional(std::move(attached));
  };
}

// One NVML session serves all its queries.
std::function<std::string(const std::string&, const Call&)> jobs_here() {
  const auto nvml = std::make_shared<Nvml>("/", LinuxTarget{}.nvml_library);
  return [nvml](const std::string&, const Call& call) { return running_jobs(HostFiles("/"), *nvml, call); };
}

}  // namespace

DriverTable driver_table() {
  const auto agents = std::make_shared<AgentNetworks>();
  DriverTable table;
  table[DriverName::linux_kernel] = {.attach = attach(DriverName::linux_kernel, unattached_linux, agents),
                                     .unattached = unattached_linux,
                                     .previews_after_observing = true,
                                     .jobs = jobs_here()};
  table[DriverName::frr] = {.attach = attach(DriverName::frr, unattached_frr, agents),
                            .unattached = unattached_frr,
                            .config_file = "frr.conf",
                            .config_text = frr_config_of,
                            .previews_collections = true};
  table[DriverName::sonic] = {.attach = attach_sonic(agents),
                              .unattached = unattached_sonic,
                              .config_file = "config_db.json",
                              .config_text = sonic_config_of};
  return table;
}

std::function<Result<std::optional<DiscoveredHost>>(const DriverTarget& target, const Call& call)>
device_discovery() {
  return [agents = std::make_shared<AgentNetworks>()](
             const DriverTarget& target, const Call& call) -> Result<std::optional<DiscoveredHost>> {
    std::optional<LocalDevice> device = local_device(target);
    if (!device) return agents->discover(target, call);
    if (!device->twin) device.reset();
    TRY(DiscoveredHost found, discover_local(device, call));
    return std::optional<DiscoveredHost>(std::move(found));
  };
}

FirstHops first_hops_here() {
  return [](const std::vector<IpAddress>& addresses) {
    constexpr std::chrono::seconds kTime{10};  // two requests and one query per device, of a local kernel
    return first_hops(addresses, {.deadline = std::chrono::steady_clock::now() + kTime, .stop = {}});
  };
}

// Ports with the RDMA device of each that has one.
Result<CounterReading> counters_here(const Call& call) {
  namespace fs = std::filesystem;
  CounterReading out;
  const HostFiles files("/");
  std::error_code failed;
  for (const fs::directory_entry& port : fs::directory_iterator("/sys/class/net", failed)) {
    const std::string name = port.path().filename().string();
    if (name == "lo") continue;
    rdma::CountingPort counting{.netdev = name};
    std::error_code none;
    for (const fs::directory_entry& device : fs::directory_iterator(port.path() / "device/infiniband", none))
      counting.device = device.path().filename().string();
    const Result<Done> read = rdma::read_named_counters(files, counting, call, out);
    if (!read && read.error().kind != ErrorKind::unsupported) return read.error();
    if (!read) out.unreadable.push_back({{name, ""}, read.error().text()});
  }
  if (failed) return Error{ErrorKind::refused, "/sys/class/net: " + failed.message()};
  return out;
}

Result<CounterReading> device_counters(const DriverTarget& target, std::span<const DriverName> drivers,
                                       const Call& call) {
  if (std::ranges::find(drivers, DriverName::sonic) != drivers.end() && target.connect.redis.said) {
    TRY(const sonic::RedisServer server, sonic::parse_redis_server(target.named(*target.connect.redis)));
    TRY(sonic::SonicCounters counters, sonic::SonicCounters::of(usual_databases(server)));
    return counters.read(call);
  }
  if (target.connect.local.value) return counters_here(call);
  return Error{ErrorKind::unsupported, target.device +
                                           ": counters are read of this machine and of SONiC switches "
                                           "with connect: {redis: ...}"};
}

}  // namespace lockstep
