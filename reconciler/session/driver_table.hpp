// DriverTable: for each driver that specs can name, the factory that attaches it to a device; FirstHops: by
// which ports this machine reaches what is attached over the network. The program fills both
// (cli/program_drivers.hpp); tests fill them with simulated devices and routes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/driver.hpp"
#include "specs/language/device_set.hpp"

namespace lockstep {

struct DriverTarget {
  struct Twin {
    std::string cluster;  // OpenedCluster::id
    bool lldp = false;    // an lldpd runs in every device
  };
  std::string device;
  std::string cluster;       // the name that the specs give it
  const Connect& connect;    // of the device's set
  const Intent& intent;      // names the sysctls, packages and ports to read
  std::optional<Twin> twin;  // the device in that twin, whatever `connect` says; none: the real device
};

struct DriverRow {
  // No value: the device is unreachable from this machine. An error concerns this device only.
  std::function<Result<std::optional<Attached>>(const DriverTarget& target)> attach;
  // A driver without a device, for its Preview; null: it has none.
  std::function<Attached(const std::string& device)> unattached{};
  // One native line carries several entries of a collection: the preview of an entry needs the others as
  // well.
  bool previews_collections = false;
  // Its native lines depend on this machine's kernel, which a twin shares: what they are about is observed
  // first.
  bool previews_after_observing = false;
  // What runs on a real device that a measurement's traffic would disturb: "Slurm job 42"; empty text:
  // nothing. Null: nobody can tell. Called by a thread that measures.
  std::function<std::string(const std::string& device, const Call& call)> jobs{};
};

using DriverTable = std::map<DriverName, DriverRow>;

// By which ports the kernel sends to each of these addresses, in order.
using FirstHops =
    std::function<Result<std::vector<std::set<std::string>>>(const std::vector<IpAddress>& addresses)>;

}  // namespace lockstep
