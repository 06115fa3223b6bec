// Native calls: what the drivers of a device would send, as text. Contacts no device.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reconciler/session/driver_table.hpp"
#include "reconciler/session/opened_cluster.hpp"
#include "specs/compile/explain.hpp"

namespace lockstep {

// The calls for one entry. Empty: it is read-only, or no driver in the table writes it.
std::vector<std::string> native_calls(const OpenedCluster& cluster, const Explanation& explanation,
                                      const DriverTable& table);

// The configuration of an empty device, in full.
struct NativeDevice {
  struct Group {
    std::string subject;  // "interface[rail0]": what its calls are about (subject_of)
    std::vector<std::string> calls;
  };
  struct File {
    std::string name;  // "frr.conf"
    std::string text;
  };
  std::vector<Group> groups;  // in the order of the entries
  std::vector<File> files;    // of drivers whose device reads a file, instead of calls
  // Desired entries without a call: no driver in the table sets them, or another entry's call includes them.
  // Without effects.
  std::vector<Entry> silent;
};

// The same for whole devices: each driver is created once, however many devices there are.
class NativeDevices {
 public:
  // `devices`: those that of() will be called for. Cluster and table outlive this object.
  NativeDevices(const OpenedCluster& cluster, const DriverTable& table,
                const std::vector<DeviceIndex>& devices);
  // Refused: an entry that its driver can't express.
  Result<NativeDevice> of(DeviceIndex device) const;

 private:
  struct Speaker {
    const DriverRow* row = nullptr;
    Attached attached;
    std::vector<RowId> writes;  // desired on any of the devices, sorted
  };
  void add(DriverName name, const std::vector<RowId>& wanted);
  Result<Done> say(DeviceIndex device, const Speaker& speaker, const ChangeSet& changes,
                   NativeDevice& out) const;

  const OpenedCluster& cluster_;
  const DriverTable& table_;
  std::map<DriverName, Speaker> speakers_;
};

}  // namespace lockstep
