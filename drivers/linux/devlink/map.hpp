// The map between entries and a port's devlink device: the only file of this part that names rows.
//
// A device's settings are reported at each of its own ports, physical or virtual; a port that represents a
// virtual function has none. Of a parameter's values, the one that takes effect soonest is reported: runtime,
// else driverinit, else permanent. An unlimited virtual function has no max-rate. Firmware settings are those
// that devlink has as parameters (specs/platforms/devlink_settings.hpp), by their permanent values; the
// others are read by NVIDIA's tool (stored_settings.hpp), and setting them requires manual action.
//
// Promises: pure except for write(). Refuses to write read-only rows; gives the reason if a port does not
// support a row.
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

// Rows implemented by devlink; the number of virtual functions is read from sysfs.
std::vector<RowId> devlink_rows();
std::vector<RowId> written_devlink_rows();

// What was read of a namespace's devlink devices.
struct Devices {
  std::vector<devlink::Port> ports;
  std::vector<devlink::Parameter> parameters;
  std::vector<devlink::Reporter> reporters;
  std::vector<devlink::Rate> rates;
  std::map<devlink::Handle, devlink::Eswitch> eswitches;
};
Result<Done> read_row(RowId row, devlink::Client& client, Devices& devices, const Call& call);

// The devlink_rows() that `read` fails for; `out`: the reason, for those that a machine will never support
// (rates: a kernel before Linux 5.14).
std::set<RowId> unreadable(const std::function<Result<Done>(RowId)>& read, std::vector<Incapable>& out);

// Null: the port has no device of its own; why_no_device() returns the reason.
const devlink::Port* port_of(const Devices& devices, const Link& link);
std::string why_no_device(const Devices& devices, const Link& link);
// Why the port's device does not support the row; for parameters, that it has none at all. Empty: it does.
std::string lacking(RowId row, const Devices& devices, const devlink::Port& port);
// Empty: the device has the parameter.
std::string why_no_parameter(const Devices& devices, const devlink::Handle& device, std::string_view name);
// The same for a firmware setting, by the vendor's name.
std::string why_no_setting(const Devices& devices, const devlink::Handle& device, std::string_view name);
std::vector<Entry> entries(RowId row, const std::string& port, const Devices& devices,
                           const devlink::Port& at);

// Changes of one row of devlink_rows() and one port; one outcome each.
Answers write(DeviceChange& device, std::span<const Change> changes);

const devlink::Parameter* find(const std::vector<devlink::Parameter>& all, const devlink::Handle& device,
                               std::string_view name);
// The mode in which the parameter is changed.
std::uint8_t cmode_of(const devlink::Parameter& parameter);
// The reporters in error of a port's device and of the port itself.
std::vector<devlink::Reporter> in_error(const std::vector<devlink::Reporter>& all, const devlink::Port& port);

// As commands of devlink(8) and the shell. `device`: null if unknown.
std::string native(const Change& change, const devlink::Handle* device, const devlink::Parameter* parameter);

}  // namespace lockstep::devlink_map
