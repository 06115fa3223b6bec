#include "drivers/linux/devlink/map.hpp"

#include <linux/devlink.h>

#include <algorithm>

#include "drivers/linux/bit_rate.hpp"
#include "drivers/linux/devlink/device_change.hpp"
#include "drivers/mapped/map_table.hpp"
#include "specs/model/near_miss.hpp"
#include "specs/platforms/devlink_settings.hpp"

namespace lockstep::devlink_map {
namespace {

using devlink::Client;
using devlink::Parameter;
using devlink::Port;
using devlink::Rate;
using devlink::Reporter;

// Old drivers do not report a flavour; they have only physical ports.
bool is_own(const Port& port) {
  return !port.flavour || *port.flavour == DEVLINK_PORT_FLAVOUR_PHYSICAL ||
         *port.flavour == DEVLINK_PORT_FLAVOUR_VIRTUAL;
}

const Port* find_port(const Devices& devices, const Link& link) {
  const auto found = std::ranges::find(devices.ports, link.index, &Port::netdev);
  return found == devices.ports.end() || link.index == 0 ? nullptr : &*found;
}

bool is_reporter_of(const Reporter& one, const Port& port) {
  return one.device == port.device && (!one.port || *one.port == port.index);
}

Result<Done> fetch_eswitches(Client& client, Devices& devices, const Call& call) {
  for (const Port& port : devices.ports)
    if (!devices.eswitches.contains(port.device)) {
      TRY(devices.eswitches[port.device], client.eswitch(port.device, call));
    }
  return Done{};
}

std::vector<Entry> eswitch_entries(const std::string& name, const Devices& devices, const Port& at) {
  const auto eswitch = devices.eswitches.find(at.device);
  if (eswitch == devices.eswitches.end() || !eswitch->second.mode) return {};
  return {{Path(kEswitch, {name}), 0, Value::text(devlink::eswitch_words(*eswitch->second.mode))}};
}

std::string no_eswitch(const Devices& devices, const Port& port) {
  const auto eswitch = devices.eswitches.find(port.device);
  return eswitch == devices.eswitches.end() ? "" : eswitch->second.why_none;
}

std::string eswitch_words(const Change& change, const std::string& device, const Parameter*) {
  return "devlink dev eswitch set " + device + " mode " + change.want.to_string();
}

Result<Done> fetch_reporters(Client& client, Devices& devices, const Call& call) {
  TRY(devices.reporters, client.reporters(call));
  return Done{};
}

std::string no_reporters(const Devices& devices, const Port& port) {
  const auto is_its = [&](const Reporter& one) { return is_reporter_of(one, port); };
  return std::ranges::any_of(devices.reporters, is_its) ? ""
                                                        : port.device.text() + " has no health reporters";
}

std::vector<Entry> health_entries(const std::string& name, const Devices& devices, const Port& port) {
  if (!no_reporters(devices, port).empty()) return {};
  std::string out;
  for (const Reporter& one : in_error(devices.reporters, port)) out += (out.empty() ? "" : " ") + one.name;
  return {{Path(kHealth, {name}), 0, Value::text(out.empty() ? "healthy" : out)}};
}

Result<Done> fetch_parameters(Client& client, Devices& devices, const Call& call) {
  TRY(devices.parameters, client.parameters(call));
  return Done{};
}

std::string no_parameters(const Devices& devices, const Port& port) {
  const auto is_its = [&](const Parameter& one) { return one.device == port.device; };
  return std::ranges::any_of(devices.parameters, is_its) ? "" : port.device.text() + " has no parameters";
}

std::vector<Entry> parameter_entries(const std::string& name, const Devices& devices, const Port& at) {
  std::vector<Entry> out;
  for (const Parameter& one : devices.parameters)
    if (one.device == at.device && !one.values.empty())
      out.push_back({Path(kParameter, {name, one.name}), 0, Value::text(one.values.at(cmode_of(one)))});
  return out;
}

std::string parameter_words(const Change& change, const std::string& device, const Parameter* parameter) {
  std::string out = "devlink dev param set " + device + " name " + std::string(change.path.key(1)) +
                    " value " + change.want.to_string();
  if (parameter == nullptr || parameter->values.empty()) return out;
  const std::uint8_t cmode = cmode_of(*parameter);
  out += " cmode " + devlink::cmode_words(cmode);
  if (cmode == DEVLINK_PARAM_CMODE_DRIVERINIT) out += "; devlink dev reload " + device;
  if (cmode == DEVLINK_PARAM_CMODE_PERMANENT) out += "  # holds from the next boot on";
  return out;
}

// Null: the device does not have it.
const std::string* permanent_value(const Devices& devices, const devlink::Handle& device,
                                   const DevlinkSetting& setting) {
  const Parameter* const found = find(devices.parameters, device, setting.parameter);
  if (found == nullptr) return nullptr;
  const auto value = found->values.find(DEVLINK_PARAM_CMODE_PERMANENT);
  return value == found->values.end() ? nullptr : &value->second;
}

std::vector<Entry> setting_entries(const std::string& name, const Devices& devices, const Port& at) {
  std::vector<Entry> out;
  for (const DevlinkSetting& one : kDevlinkSettings)
    if (const std::string* const value = permanent_value(devices, at.device, one))
      out.push_back({Path(kSetting, {name, one.name}), 0, Value::text(from_devlink(one, *value))});
  return out;
}

// why_no_setting() reports, by name, which settings devlink lacks.
std::string nothing_lacking(const Devices&, const Port&) { return {}; }

Change as_parameter(const Change& change, const DevlinkSetting& setting) {
  const auto in_devlink = [&setting](Value value) {
    return value.kind() == Value::Kind::text ? Value::text(to_devlink(setting, value.as_text())) : value;
  };
  return {Path(kParameter, {change.path.key(0), setting.parameter}), in_devlink(change.was),
          in_devlink(change.want), change.origin};
}

std::string setting_words(const Change& change, const std::string& device, const Parameter*) {
  const DevlinkSetting* const setting = find_devlink_setting(change.path.key(1));
  if (setting == nullptr) return {};
  return "devlink dev param set " + device + " name " + std::string(setting->parameter) + " value " +
         to_devlink(*setting, change.want.to_string()) + " cmode permanent  # " + std::string(setting->name) +
         ", in force from the next reset or boot on";
}

Result<Done> fetch_rates(Client& client, Devices& devices, const Call& call) {
  TRY(devices.rates, client.rates(call));
  return Done{};
}

std::vector<Entry> rate_entries(const std::string& name, const Devices& devices, const Port& at) {
  std::vector<Entry> out;
  for (const Rate& rate : devices.rates) {
    if (rate.device != at.device || !rate.port || rate.max == 0) continue;
    for (const Port& port : devices.ports)
      if (port.device == rate.device && port.index == *rate.port && port.virtual_function)
        out.push_back({Path(kMaxRate, {name, std::to_string(*port.virtual_function)}), 0,
                       Value::integer(bit_rate(rate.max, kBitsPerByte))});
  }
  return out;
}

std::string rate_words(const Change& change, const std::string& device, const Parameter*) {
  return "devlink port function rate set " + device + "/PORT_OF_VF_" + std::string(change.path.key(1)) +
         " tx_max " + (change.want == Value{} ? "0" : change.want.to_string() + "bit");
}

// Makes each change separately.
template <Result<Done> (DeviceChange::*set)(const Change&)>
Answers each(DeviceChange& device, std::span<const Change> changes) {
  Answers out;
  for (const Change& change : changes) {
    auto result = (device.*set)(change);
    out.push_back(result ? std::optional<Error>() : std::move(result.error()));
  }
  return out;
}

// Sets all of them with one reload.
Answers set_parameters(DeviceChange& device, std::span<const Change> changes) {
  return device.set_parameters(changes);
}

Answers set_settings(DeviceChange& device, std::span<const Change> changes) {
  Answers out;
  for (const Change& change : changes) {
    const DevlinkSetting* const setting = find_devlink_setting(change.path.key(1));
    if (setting == nullptr) {
      out.push_back(Error{ErrorKind::unsupported, change.path.text() + ": devlink has no such setting"});
      continue;
    }
    const Change as_devlink = as_parameter(change, *setting);
    out.push_back(std::move(device.set_parameters({&as_devlink, 1}).front()));
  }
  return out;
}

struct MapRow {
  RowId row;
  Result<Done> (*fetch)(Client&, Devices&, const Call&);
  std::vector<Entry> (*read)(const std::string& port, const Devices&, const Port&);
  std::string (*lacking)(const Devices&, const Port&);
  Answers (*write)(DeviceChange&, std::span<const Change>) = nullptr;
  std::string (*native)(const Change&, const std::string& device, const Parameter*) = nullptr;
};
// In fetch order: whether rates are supported depends on the eswitch.
constexpr MapRow kRows[] = {
    {kEswitch, fetch_eswitches, eswitch_entries, no_eswitch, each<&DeviceChange::set_eswitch>, eswitch_words},
    {kHealth, fetch_reporters, health_entries, no_reporters},
    {kParameter, fetch_parameters, parameter_entries, no_parameters, set_parameters, parameter_words},
    {kSetting, fetch_parameters, setting_entries, nothing_lacking, set_settings, setting_words},
    {kMaxRate, fetch_rates, rate_entries, no_eswitch, each<&DeviceChange::set_max_rate>, rate_words},
};
static_assert(has_each_row_once(kRows));

std::string functions_words(const Change& change) {
  const std::string file = " > /sys/class/net/" + std::string(change.path.key(0)) + "/device/sriov_numvfs";
  const bool by_none =
      change.was != Value{} && change.was != Value::integer(0) && change.want != Value::integer(0);
  return (by_none ? "echo 0" + file + "; " : "") + "echo " + change.want.to_string() + file;
}

}  // namespace

std::vector<RowId> devlink_rows() { return rows_of(kRows); }
std::vector<RowId> written_devlink_rows() { return written_rows_of(kRows); }

Result<Done> read_row(RowId row, Client& client, Devices& devices, const Call& call) {
  return find_row(kRows, row)->fetch(client, devices, call);
}

std::set<RowId> unreadable(const std::function<Result<Done>(RowId)>& read, std::vector<Incapable>& out) {
  std::set<RowId> rows;
  for (const RowId row : devlink_rows()) {
    const auto done = read(row);
    if (done) continue;
    rows.insert(row);
    if (done.error().kind == ErrorKind::unsupported || done.error().kind == ErrorKind::denied)
      out.push_back({row, {}, done.error().text()});
  }
  return rows;
}

const Port* port_of(const Devices& devices, const Link& link) {
  const Port* const found = find_port(devices, link);
  return found == nullptr || !is_own(*found) ? nullptr : found;
}

std::string why_no_device(const Devices& devices, const Link& link) {
  const Port* const found = find_port(devices, link);
  if (found == nullptr) return "no devlink device here has this port";
  const std::string flavour = devlink::flavour_words(found->flavour.value_or(0));
  return "it is a port of " + found->device.text() + " that stands for another (" + flavour + ")";
}

std::string lacking(RowId row, const Devices& devices, const Port& port) {
  return find_row(kRows, row)->lacking(devices, port);
}

std::string why_no_parameter(const Devices& devices, const devlink::Handle& device, std::string_view name) {
  const Parameter* const found = find(devices.parameters, device, name);
  if (found != nullptr)
    return found->values.empty() ? std::string(name) + " is not reported, or of a type (" +
                                       std::to_string(found->type) + ") that is not known here"
                                 : "";
  std::vector<std::string_view> names;
  std::string all;
  for (const Parameter& one : devices.parameters)
    if (one.device == device) {
      names.push_back(one.name);
      all += (all.empty() ? "" : ", ") + one.name;
    }
  const std::string_view meant = nearest(name, names);
  return device.text() + " has no parameter '" + std::string(name) + "'" +
         (meant.empty() ? "" : "; did you mean " + std::string(meant) + "?") + " (it has: " + all + ")";
}

std::string why_no_setting(const Devices& devices, const devlink::Handle& device, std::string_view name) {
  const DevlinkSetting* const setting = find_devlink_setting(name);
  if (setting == nullptr) return "the kernel has no parameter for " + std::string(name);
  if (permanent_value(devices, device, *setting) != nullptr) return {};
  return device.text() + " has no parameter " + std::string(setting->parameter) + " for " +
         std::string(name) + " (mlx5 has it from Linux 6.18 on)";
}

std::vector<Entry> entries(RowId row, const std::string& port, const Devices& devices, const Port& at) {
  return find_row(kRows, row)->read(port, devices, at);
}

Answers write(DeviceChange& device, std::span<const Change> changes) {
  const MapRow* const one = find_row(kRows, changes.front().path.row());
  if (one != nullptr && one->write != nullptr) return one->write(device, changes);
  return Answers(changes.size(),
                 Error{ErrorKind::unsupported, changes.front().path.text() + " is read only"});
}

const Parameter* find(const std::vector<Parameter>& all, const devlink::Handle& device,
                      std::string_view name) {
  const auto found = std::ranges::find_if(
      all, [&](const Parameter& one) { return one.device == device && one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// Ordered as in linux/devlink.h.
std::uint8_t cmode_of(const Parameter& parameter) { return parameter.values.begin()->first; }

std::vector<Reporter> in_error(const std::vector<Reporter>& all, const Port& port) {
  std::vector<Reporter> out;
  for (const Reporter& one : all)
    if (!one.healthy && is_reporter_of(one, port)) out.push_back(one);
  std::ranges::sort(out, {}, &Reporter::name);
  return out;
}

std::string native(const Change& change, const devlink::Handle* device, const Parameter* parameter) {
  if (change.path.row() == kVirtualFunctions) return functions_words(change);
  const MapRow* const one = find_row(kRows, change.path.row());
  if (one == nullptr || one->native == nullptr) return {};
  const std::string port(change.path.key(0));
  return one->native(change, device == nullptr ? "DEVICE_OF_" + port : device->text(), parameter);
}

}  // namespace lockstep::devlink_map
