#include "drivers/linux/devlink/map.hpp"

#include <linux/devlink.h>

#include <algorithm>

#include "drivers/linux/bit_rate.hpp"
#include "specs/model/near_miss.hpp"

namespace lockstep::devlink_map {
namespace {

using devlink::Client;
using devlink::Parameter;
using devlink::Port;
using devlink::Rate;
using devlink::Reporter;

// Old drivers do not tell a flavour; they have no ports but physical ones.
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

std::string health_of(const Devices& devices, const Port& port) {
  std::string out;
  for (const Reporter& one : in_error(devices.reporters, port)) out += (out.empty() ? "" : " ") + one.name;
  return out.empty() ? "healthy" : out;
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

std::vector<Entry> parameter_entries(const std::string& name, const Devices& devices, const Port& at) {
  std::vector<Entry> out;
  for (const Parameter& one : devices.parameters)
    if (one.device == at.device && !one.values.empty())
      out.push_back({Path(kParameter, {name, one.name}), 0, Value::text(one.values.at(cmode_of(one)))});
  return out;
}

}  // namespace

Result<Done> read_row(RowId row, Client& client, Devices& devices, const Call& call) {
  if (row == kParameter) {
    TRY(devices.parameters, client.parameters(call));
  } else if (row == kHealth) {
    TRY(devices.reporters, client.reporters(call));
  } else if (row == kMaxRate) {
    TRY(devices.rates, client.rates(call));
  } else if (row == kEswitch) {
    for (const Port& port : devices.ports)
      if (!devices.eswitches.contains(port.device)) {
        TRY(devices.eswitches[port.device], client.eswitch(port.device, call));
      }
  }
  return Done{};
}

std::set<RowId> unreadable(const std::function<Result<Done>(RowId)>& read, std::vector<Incapable>& out) {
  std::set<RowId> rows;
  for (const RowId row : kDevlinkRows) {
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
  const auto of_device = [&](const auto& one) { return one.device == port.device; };
  if (row == kParameter)
    return std::ranges::any_of(devices.parameters, of_device) ? ""
                                                              : port.device.text() + " has no parameters";
  if (row == kHealth)
    return std::ranges::any_of(devices.reporters, [&](const auto& one) { return is_reporter_of(one, port); })
               ? ""
               : port.device.text() + " has no health reporters";
  const auto eswitch = devices.eswitches.find(port.device);
  return eswitch == devices.eswitches.end() ? "" : eswitch->second.why_none;
}

std::string why_no_parameter(const Devices& devices, const devlink::Handle& device, std::string_view name) {
  const Parameter* const found = find(devices.parameters, device, name);
  if (found != nullptr)
    return found->values.empty() ? std::string(name) + " is not told, or of a type (" +
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

std::vector<Entry> entries(RowId row, const std::string& port, const Devices& devices, const Port& at) {
  if (row == kParameter) return parameter_entries(port, devices, at);
  if (row == kMaxRate) return rate_entries(port, devices, at);
  if (row == kHealth) {
    if (!lacking(row, devices, at).empty()) return {};
    return {{Path(row, {port}), 0, Value::text(health_of(devices, at))}};
  }
  const auto eswitch = devices.eswitches.find(at.device);
  if (eswitch == devices.eswitches.end() || !eswitch->second.mode) return {};
  return {{Path(row, {port}), 0, Value::text(devlink::eswitch_words(*eswitch->second.mode))}};
}

const Parameter* find(const std::vector<Parameter>& all, const devlink::Handle& device,
                      std::string_view name) {
  const auto found = std::ranges::find_if(
      all, [&](const Parameter& one) { return one.device == device && one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

// They are in this order in linux/devlink.h.
std::uint8_t cmode_of(const Parameter& parameter) { return parameter.values.begin()->first; }

std::vector<Reporter> in_error(const std::vector<Reporter>& all, const Port& port) {
  std::vector<Reporter> out;
  for (const Reporter& one : all)
    if (!one.healthy && is_reporter_of(one, port)) out.push_back(one);
  std::ranges::sort(out, {}, &Reporter::name);
  return out;
}

std::string native(const Change& change, const devlink::Handle* device, const Parameter* parameter) {
  const std::string port(change.path.key(0));
  const std::string want = change.want.to_string();
  const std::string at = device == nullptr ? "DEVICE_OF_" + port : device->text();
  const RowId row = change.path.row();
  if (row == kEswitch) return "devlink dev eswitch set " + at + " mode " + want;
  if (row == kMaxRate)
    return "devlink port function rate set " + at + "/PORT_OF_VF_" + std::string(change.path.key(1)) +
           " tx_max " + (change.want == Value{} ? "0" : want + "bit");
  if (row == kVirtualFunctions) {
    const std::string file = " > /sys/class/net/" + port + "/device/sriov_numvfs";
    const bool by_none =
        change.was != Value{} && change.was != Value::integer(0) && change.want != Value::integer(0);
    return (by_none ? "echo 0" + file + "; " : "") + "echo " + want + file;
  }
  std::string out =
      "devlink dev param set " + at + " name " + std::string(change.path.key(1)) + " value " + want;
  if (parameter == nullptr || parameter->values.empty()) return out;
  const std::uint8_t cmode = cmode_of(*parameter);
  out += " cmode " + devlink::cmode_words(cmode);
  if (cmode == DEVLINK_PARAM_CMODE_DRIVERINIT) out += "; devlink dev reload " + at;
  if (cmode == DEVLINK_PARAM_CMODE_PERMANENT) out += "  # holds from the next boot on";
  return out;
}

}  // namespace lockstep::devlink_map
