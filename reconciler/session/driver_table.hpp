// DriverTable: for each driver that specs can name, the factory that attaches it to a device; FirstHops: the
// ports through which this machine reaches devices over the network. The program fills both
// (cli/program_drivers.hpp); tests fill them with simulated devices and routes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/runtime/current_epoch.hpp"
#include "specs/language/device_set.hpp"

namespace lockstep {

struct DriverTarget {
  struct Twin {
    std::string cluster;  // OpenedCluster::id
    bool lldp = false;    // an lldpd runs in every device
    bool agents = false;  // each device runs lockstep-agent, and is reached through it
  };
  std::string device;
  std::string cluster;       // its name in the specs
  const Connect& connect;    // of the device's set
  const Intent& intent;      // names the sysctls, packages and ports to read
  std::optional<Twin> twin;  // the device in that twin, whatever `connect` says; none: the real device
  // Of the leadership that the session holds. For devices that refuse earlier leaders.
  std::shared_ptr<CurrentEpoch> epoch{};

  // A text of `connect` with the device's name in place of {name}.
  std::string named(std::string text) const {
    constexpr std::string_view kPlace = "{name}";
    for (std::size_t at = text.find(kPlace); at != text.npos; at = text.find(kPlace, at + device.size()))
      text.replace(at, kPlace.size(), device);
    return text;
  }
};

struct DriverRow {
  // No value: the device is unreachable from this machine. An error concerns this device only.
  std::function<Result<std::optional<Attached>>(const DriverTarget& target)> attach;
  // A driver without a device, for its Preview; `twin`: for a device's namespace in a twin, where software
  // sets port speeds. Null: it has none.
  std::function<Attached(const std::string& device, bool twin)> unattached{};
  // The text of the configuration file that contains all of these changes, and the name of the file. Null:
  // none does.
  std::string_view config_file = "";
  std::function<Result<std::string>(const std::string& device, const ChangeSet& changes)> config_text{};
  // One native line contains several entries of a collection: the preview of an entry needs the others too.
  bool previews_collections = false;
  // Its native lines depend on this machine's kernel, which a twin shares: the entries in question are
  // observed first.
  bool previews_after_observing = false;
  // What runs on a real device that measurement traffic would disturb: "Slurm job 42"; empty text: nothing.
  // Null: unknown. Called by a thread that measures.
  std::function<std::string(const std::string& device, const Call& call)> jobs{};
};

using DriverTable = std::map<DriverName, DriverRow>;

// The ports through which the kernel sends to each of these addresses, in order.
using FirstHops =
    std::function<Result<std::vector<std::set<std::string>>>(const std::vector<IpAddress>& addresses)>;

}  // namespace lockstep
