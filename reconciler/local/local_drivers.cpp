#include "reconciler/local/local_drivers.hpp"

#include <cstdlib>
#include <filesystem>

#include "drivers/frr/driver.hpp"
#include "drivers/host_policy/policed.hpp"
#include "drivers/linux/driver.hpp"
#include "drivers/posix/machine_id.hpp"
#include "drivers/sonic/driver.hpp"
#include "drivers/sonic/saved_config.hpp"
#include "drivers/sonic/yang_models.hpp"
#include "reconciler/twin/places.hpp"
#include "reconciler/twin/twin.hpp"

namespace lockstep {
namespace {

// Where Debian's lldpd listens (lldpd(8), -u).
constexpr const char* kLldpdSocket = "/run/lldpd.socket";

Attached linux_of(const LocalDevice& target) {
  LinuxTarget out{
      .device = target.device, .netns_path = "", .software_rate = false, .lldpd_socket = kLldpdSocket};
  if (target.twin) {
    const DevicePlaces at = places(target.twin->id, target.device);
    out.netns_path = at.netns_path;
    out.software_rate = true;
    out.lldpd_socket = target.twin->lldp ? at.lldpd_socket : "";
    out.restart_lldpd = [id = target.twin->id, device = target.device](const Call&) {
      return restart_daemon(id, device, "lldpd");
    };
  }
  return make_linux_driver(std::move(out));
}

Attached frr_of(const LocalDevice& target) {
  // Debian's FRR package keeps its sockets and its configuration there (frr.service, /etc/frr/daemons).
  FrrTarget out{
      .device = target.device, .run_dir = "/run/frr", .config_file = "/etc/frr/frr.conf", .netns_path = ""};
  if (target.twin) {
    const DevicePlaces at = places(target.twin->id, target.device);
    out.run_dir = at.run_dir;
    out.config_file = at.frr_config;
    out.netns_path = at.netns_path;
    out.restart = [id = target.twin->id, device = target.device](const std::string& daemon, const Call&) {
      return restart_daemon(id, device, daemon);
    };
  }
  return make_frr_driver(std::move(out));
}

Attached sonic_of(const LocalDevice& target) {
  const LocalDevice::SonicFiles& said = target.sonic;
  const auto place = [](const std::string& of_config, std::string_view usual) {
    return of_config.empty() ? std::string(usual) : of_config;
  };
  return make_sonic_driver({.device = target.device,
                            .databases = {},
                            .models = said.models.empty() ? sonic_models() : said.models,
                            .database_file = place(said.databases, sonic::kDatabaseConfigFile),
                            .saved_file = place(said.config, sonic::kSavedConfigFile),
                            .checkpoints = place(said.checkpoints, sonic::kCheckpointFolder)});
}

}  // namespace

std::string sonic_models() {
  constexpr const char* kOnSwitch = "/usr/local/yang-models";
  if (const char* const named = std::getenv("LOCKSTEP_SONIC_YANG")) return named;
  std::error_code unknown;
  return std::filesystem::is_directory(kOnSwitch, unknown) && sonic::why_no_libyang().empty() ? kOnSwitch
                                                                                              : "";
}

std::string this_machine() { return "machine-" + machine_id(); }

// Changes to this machine are subject to its policy; a twin consists of its own namespaces.
Attached attach_local(DriverName driver, const LocalDevice& target) {
  Attached attached = driver == DriverName::frr     ? frr_of(target)
                      : driver == DriverName::sonic ? sonic_of(target)
                                                    : linux_of(target);
  attached.machine = target.twin ? "twin-" + target.twin->id : this_machine();
  if (target.twin) return attached;
  return under_host_policy(std::move(attached), {target.device, target.cluster, driver},
                           [] { return HostPolicy::read(kHostPolicyFile, this_host()); });
}

Result<DiscoveredHost> discover_local(const std::optional<LocalDevice>& in_twin, const Call& call) {
  if (!in_twin) return discover_host({.netns_path = "", .lldpd_socket = kLldpdSocket}, call);
  const DevicePlaces at = places(in_twin->twin->id, in_twin->device);
  return discover_host({.netns_path = at.netns_path, .lldpd_socket = at.lldpd_socket}, call);
}

}  // namespace lockstep
