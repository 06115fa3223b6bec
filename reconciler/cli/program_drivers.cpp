#include "reconciler/cli/program_drivers.hpp"

#include "drivers/frr/driver.hpp"
#include "drivers/host_policy/policed.hpp"
#include "drivers/linux/driver.hpp"
#include "drivers/linux/first_hops.hpp"
#include "drivers/linux/host/jobs.hpp"
#include "drivers/posix/machine_id.hpp"
#include "reconciler/twin/places.hpp"
#include "reconciler/twin/twin.hpp"

namespace lockstep {
namespace {

// Where Debian's lldpd listens (lldpd(8), -u).
constexpr const char* kLldpdSocket = "/run/lldpd.socket";

// What changes this machine itself is under its policy; a twin is namespaces of its own.
Attached as_policed(Attached attached, const DriverTarget& target, DriverName driver) {
  attached.machine = target.twin ? "twin-" + target.twin->cluster : this_machine();
  if (target.twin) return attached;
  return under_host_policy(std::move(attached), {target.device, target.cluster, driver},
                           [] { return HostPolicy::read(kHostPolicyFile, this_host()); });
}

Result<std::optional<Attached>> attach_linux(const DriverTarget& target) {
  LinuxTarget out{
      .device = target.device, .netns_path = "", .software_rate = false, .lldpd_socket = kLldpdSocket};
  if (target.twin) {
    const DevicePlaces at = places(target.twin->cluster, target.device);
    out.netns_path = at.netns_path;
    out.software_rate = true;
    out.lldpd_socket = target.twin->lldp ? at.lldpd_socket : "";
    out.restart_lldpd = [cluster = target.twin->cluster, device = target.device](const Call&) {
      return restart_daemon(cluster, device, "lldpd");
    };
  } else if (!target.connect.local.value) {
    return std::optional<Attached>{};
  }
  return std::optional<Attached>{
      as_policed(make_linux_driver(std::move(out)), target, DriverName::linux_kernel)};
}

Result<std::optional<Attached>> attach_frr(const DriverTarget& target) {
  // Debian's FRR package keeps its sockets and its configuration there (frr.service, /etc/frr/daemons).
  FrrTarget out{
      .device = target.device, .run_dir = "/run/frr", .config_file = "/etc/frr/frr.conf", .netns_path = ""};
  if (target.twin) {
    const DevicePlaces at = places(target.twin->cluster, target.device);
    out.run_dir = at.run_dir;
    out.config_file = at.frr_config;
    out.netns_path = at.netns_path;
    out.restart = [cluster = target.twin->cluster, device = target.device](const std::string& daemon,
                                                                           const Call&) {
      return restart_daemon(cluster, device, daemon);
    };
  } else if (!target.connect.local.value) {
    return std::optional<Attached>{};
  }
  return std::optional<Attached>{as_policed(make_frr_driver(std::move(out)), target, DriverName::frr)};
}

Attached unattached_linux(const std::string& device) {
  LinuxTarget target;
  target.device = device;
  return make_linux_driver(std::move(target));
}

Attached unattached_frr(const std::string& device) {
  FrrTarget target;
  target.device = device;
  return make_frr_driver(std::move(target));
}

// A session of NVML is for all its questions.
std::function<std::string(const std::string&, const Call&)> jobs_here() {
  const auto nvml = std::make_shared<Nvml>("/", LinuxTarget{}.nvml_library);
  return [nvml](const std::string&, const Call& call) { return running_jobs(HostFiles("/"), *nvml, call); };
}

}  // namespace

std::string this_machine() { return "machine-" + machine_id(); }

DriverTable driver_table() {
  DriverTable table;
  table[DriverName::linux_kernel] = {.attach = attach_linux,
                                     .unattached = unattached_linux,
                                     .previews_after_observing = true,
                                     .jobs = jobs_here()};
  table[DriverName::frr] = {.attach = attach_frr, .unattached = unattached_frr, .previews_collections = true};
  return table;
}

FirstHops first_hops_here() {
  return [](const std::vector<IpAddress>& addresses) {
    constexpr std::chrono::seconds kTime{10};  // two requests and a question a device, of a local kernel
    return first_hops(addresses, {.deadline = std::chrono::steady_clock::now() + kTime, .stop = {}});
  };
}

Result<DiscoveredHost> discover_here(const Call& call) {
  return discover_host({.netns_path = "", .lldpd_socket = kLldpdSocket}, call);
}

Result<DiscoveredHost> discover_in_twin(const std::string& cluster, const std::string& device,
                                        const Call& call) {
  const DevicePlaces at = places(cluster, device);
  return discover_host({.netns_path = at.netns_path, .lldpd_socket = at.lldpd_socket}, call);
}

}  // namespace lockstep
