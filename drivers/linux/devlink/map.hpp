// The map between entries and a port's devlink device: the only place of this part that names rows.
//
// A device's settings are told at each port that it has of its own, physical or virtual; a port that stands
// for a virtual function has none. Of a parameter's values the one is told that holds soonest: runtime, else
// driverinit, else permanent. A virtual function without a bound has no max-rate. Settings of the firmware
// are those that devlink has as parameters (specs/platforms/devlink_settings.hpp): their permanent values.
// The others are not read: mlxconfig asks the firmware itself, and no program is run here for what a spec
// names.
//
// Promises: pure but for write(). Refuses to write what is only read; why a port can't carry a row is said in
// words.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "drivers/driver.hpp"
#include "drivers/linux/devlink/client.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "specs/model/diff.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::devlink_map {

inline constexpr RowId kEswitch = row("interface[*]/eswitch");
inline constexpr RowId kHealth = row("interface[*]/health");
inline constexpr RowId kParameter = row("interface[*]/parameter[*]");
inline constexpr RowId kSetting = row("interface[*]/setting[*]");
inline constexpr RowId kMaxRate = row("interface[*]/virtual-function[*]/max-rate");
inline constexpr RowId kVirtualFunctions = row("interface[*]/virtual-functions");

class DeviceChange;
using Answers = std::vector<std::optional<Error>>;

// Those that devlink carries; how many virtual functions there are is sysfs's.
std::vector<RowId> devlink_rows();
std::vector<RowId> written_devlink_rows();

// What a namespace's devlink devices are, as far as it was read.
struct Devices {
  std::vector<devlink::Port> ports;
  std::vector<devlink::Parameter> parameters;
  std::vector<devlink::Reporter> reporters;
  std::vector<devlink::Rate> rates;
  std::map<devlink::Handle, devlink::Eswitch> eswitches;
};
Result<Done> read_row(RowId row, devlink::Client& client, Devices& devices, const Call& call);

// Those of devlink_rows() that `read` fails for; `out`: why, of those that a machine lacks for good (rates: a
// kernel before Linux 5.14).
std::set<RowId> unreadable(const std::function<Result<Done>(RowId)>& read, std::vector<Incapable>& out);

// Null: the port has no device of its own; why_no_device() says why.
const devlink::Port* port_of(const Devices& devices, const Link& link);
std::string why_no_device(const Devices& devices, const Link& link);
// Why the port's device can't carry the row; of parameters, that it has none at all. Empty: it can.
std::string lacking(RowId row, const Devices& devices, const devlink::Port& port);
// Empty: the device has it.
std::string why_no_parameter(const Devices& devices, const devlink::Handle& device, std::string_view name);
// So of a setting of the firmware, by the vendor's name.
std::string why_no_setting(const Devices& devices, const devlink::Handle& device, std::string_view name);
std::vector<Entry> entries(RowId row, const std::string& port, const Devices& devices,
                           const devlink::Port& at);

// Changes of one row and port, of devlink_rows(), one answer each.
Answers write(DeviceChange& device, std::span<const Change> changes);

const devlink::Parameter* find(const std::vector<devlink::Parameter>& all, const devlink::Handle& device,
                               std::string_view name);
// The mode that a change of it is made in.
std::uint8_t cmode_of(const devlink::Parameter& parameter);
// Of a device and of one of its ports.
std::vector<devlink::Reporter> in_error(const std::vector<devlink::Reporter>& all, const devlink::Port& port);

// In words of devlink(8) and of the shell. `device`: null where it is not known.
std::string native(const Change& change, const devlink::Handle* device, const devlink::Parameter* parameter);

}  // namespace lockstep::devlink_map
