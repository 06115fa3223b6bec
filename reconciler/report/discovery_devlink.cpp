#include "reconciler/report/discovery_devlink.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "reconciler/report/table.hpp"
#include "specs/language/quantity.hpp"

namespace lockstep {
namespace {

using devlink::DeviceFacts;
using devlink::Rate;

void add_to(std::string& list, const std::string& one) { list += (list.empty() ? "" : ", ") + one; }

// The running versions; fixed and stored ones are only in JSON.
std::string firmware_text(const DeviceFacts& facts) {
  std::string out;
  for (const devlink::Version& one : facts.info.versions)
    if (one.kind == "running") add_to(out, one.name + " " + one.value);
  return out;
}

std::string functions_text(const DeviceFacts& facts) {
  if (!facts.functions) return {};
  const std::string count = std::to_string(*facts.functions);
  return facts.functions_max ? count + " of " + std::to_string(*facts.functions_max) : count;
}

Shown health_text(const DeviceFacts& facts, const Terminal& terminal) {
  std::string out;
  for (const devlink::Reporter& one : facts.reporters)
    if (!one.healthy) add_to(out, one.name);
  if (!out.empty()) return terminal.paint(Ink::red, out);
  return Shown(facts.reporters.empty() ? "" : "healthy");
}

std::string bits_text(std::uint64_t bytes_per_second) {
  return bytes_per_second == 0 ? "" : format(BitRate{bytes_per_second * 8});
}

std::string devices_text(const DiscoveredDevice& found, const Terminal& terminal) {
  Table table({{"device"}, {"devlink"}, {"driver"}, {"firmware"}, {"eswitch"}, {"vfs"}, {"health"}});
  for (const DeviceFacts& one : found.host.devlink)
    table.add({terminal.paint(Ink::cyan, found.device), one.device.text(), one.info.driver,
               firmware_text(one), one.eswitch ? devlink::eswitch_words(*one.eswitch) : "",
               functions_text(one), health_text(one, terminal)});
  return table.empty() ? "" : "\n" + table.render(terminal);
}

// Equal parameters of several NICs are one line.
std::string parameters_text(const DiscoveredDevice& found, const Terminal& terminal) {
  std::map<std::array<std::string, 3>, std::string> devices;
  for (const DeviceFacts& facts : found.host.devlink)
    for (const devlink::Parameter& one : facts.parameters)
      for (const auto& [cmode, value] : one.values)
        add_to(devices[{one.name, devlink::cmode_words(cmode), value}], facts.device.text());
  Table table({{"device"}, {"parameter"}, {"mode"}, {"value"}, {"devlink"}});
  for (const auto& [what, which] : devices)
    table.add({terminal.paint(Ink::cyan, found.device), what[0], what[1], what[2], which});
  return table.empty() ? "" : "\n" + table.render(terminal);
}

const Rate* rate_of(const DeviceFacts& facts, std::uint32_t port) {
  const auto rate = std::ranges::find(facts.rates, std::optional(port), &Rate::port);
  return rate == facts.rates.end() ? nullptr : &*rate;
}

// Ports for functions, and groups of them: the others are in the table of ports.
std::string functions_ports_text(const DiscoveredDevice& found, const Terminal& terminal) {
  Table table({{"device"},
               {"devlink port"},
               {"kind"},
               {"vf", true},
               {"netdev"},
               {"share", true},
               {"max", true},
               {"group"}});
  const Shown device = terminal.paint(Ink::cyan, found.device);
  for (const DeviceFacts& facts : found.host.devlink) {
    for (const devlink::Port& port : facts.ports) {
      const Rate* const rate = rate_of(facts, port.index);
      if (rate == nullptr && !port.virtual_function) continue;
      table.add({device, facts.device.text() + "/" + std::to_string(port.index),
                 port.flavour ? devlink::flavour_words(*port.flavour) : "",
                 port.virtual_function ? std::to_string(*port.virtual_function) : "", port.netdev_name,
                 rate != nullptr ? bits_text(rate->share) : "", rate != nullptr ? bits_text(rate->max) : "",
                 rate != nullptr ? rate->parent : ""});
    }
    for (const Rate& rate : facts.rates)
      if (!rate.port)
        table.add({device, facts.device.text() + "/" + rate.node, "group", "", "", bits_text(rate.share),
                   bits_text(rate.max), rate.parent});
  }
  return table.empty() ? "" : "\n" + table.render(terminal);
}

std::string buffers_text(const DiscoveredDevice& found, const Terminal& terminal) {
  Table table({{"device"},
               {"shared buffer"},
               {"of", true},
               {"pool", true},
               {"direction"},
               {"size", true},
               {"threshold"},
               {"classes of ports", true}});
  for (const DeviceFacts& facts : found.host.devlink)
    for (const devlink::Pool& pool : facts.pools) {
      const auto buffer = std::ranges::find(facts.buffers, pool.buffer, &devlink::SharedBuffer::index);
      const auto bound = std::ranges::count_if(facts.bindings, [&](const devlink::Binding& one) {
        return one.buffer == pool.buffer && one.pool == pool.index && one.egress == pool.egress;
      });
      table.add({terminal.paint(Ink::cyan, found.device),
                 facts.device.text() + " " + std::to_string(pool.buffer),
                 buffer == facts.buffers.end() ? "" : std::to_string(buffer->size),
                 std::to_string(pool.index), pool.egress ? "egress" : "ingress", std::to_string(pool.size),
                 pool.dynamic ? "dynamic" : "static", std::to_string(bound)});
    }
  return table.empty() ? "" : "\n" + table.render(terminal);
}

nlohmann::json ports_json(const DeviceFacts& facts) {
  nlohmann::json out = nlohmann::json::array();
  for (const devlink::Port& port : facts.ports) {
    nlohmann::json one{{"index", port.index}};
    if (!port.netdev_name.empty()) one["netdev"] = port.netdev_name;
    if (port.flavour) one["flavour"] = devlink::flavour_words(*port.flavour);
    if (port.virtual_function) one["virtualFunction"] = *port.virtual_function;
    out.push_back(std::move(one));
  }
  return out;
}

nlohmann::json rates_json(const DeviceFacts& facts) {
  nlohmann::json out = nlohmann::json::array();
  for (const Rate& rate : facts.rates) {
    nlohmann::json one{{"shareBytesPerSecond", rate.share}, {"maxBytesPerSecond", rate.max}};
    if (rate.port) one["port"] = *rate.port;
    if (!rate.node.empty()) one["node"] = rate.node;
    if (!rate.parent.empty()) one["parent"] = rate.parent;
    out.push_back(std::move(one));
  }
  return out;
}

nlohmann::json buffers_json(const DeviceFacts& facts) {
  nlohmann::json out = nlohmann::json::array();
  for (const devlink::SharedBuffer& buffer : facts.buffers) {
    nlohmann::json pools = nlohmann::json::array();
    for (const devlink::Pool& pool : facts.pools)
      if (pool.buffer == buffer.index)
        pools.push_back({{"index", pool.index},
                         {"direction", pool.egress ? "egress" : "ingress"},
                         {"sizeBytes", pool.size},
                         {"threshold", pool.dynamic ? "dynamic" : "static"}});
    nlohmann::json classes = nlohmann::json::array();
    for (const devlink::Binding& one : facts.bindings)
      if (one.buffer == buffer.index)
        classes.push_back({{"port", one.port},
                           {"trafficClass", one.traffic_class},
                           {"direction", one.egress ? "egress" : "ingress"},
                           {"pool", one.pool},
                           {"threshold", one.threshold}});
    out.push_back({{"index", buffer.index},
                   {"sizeBytes", buffer.size},
                   {"pools", std::move(pools)},
                   {"classes", std::move(classes)}});
  }
  return out;
}

}  // namespace

std::string devlink_text(const DiscoveredDevice& found, const Terminal& terminal) {
  return devices_text(found, terminal) + parameters_text(found, terminal) +
         functions_ports_text(found, terminal) + buffers_text(found, terminal);
}

nlohmann::json devlink_json(const DeviceFacts& facts) {
  nlohmann::json out{{"device", facts.device.text()},
                     {"ports", ports_json(facts)},
                     {"versions", nlohmann::json::array()},
                     {"parameters", nlohmann::json::object()},
                     {"health", nlohmann::json::array()}};
  if (!facts.info.driver.empty()) out["driver"] = facts.info.driver;
  if (!facts.info.serial.empty()) out["serial"] = facts.info.serial;
  if (facts.eswitch) out["eswitch"] = devlink::eswitch_words(*facts.eswitch);
  if (facts.functions) out["virtualFunctions"] = *facts.functions;
  if (facts.functions_max) out["virtualFunctionsMax"] = *facts.functions_max;
  for (const devlink::Version& one : facts.info.versions)
    out["versions"].push_back({{"name", one.name}, {"value", one.value}, {"kind", one.kind}});
  for (const devlink::Parameter& one : facts.parameters)
    for (const auto& [cmode, value] : one.values)
      out["parameters"][one.name][devlink::cmode_words(cmode)] = value;
  for (const devlink::Reporter& one : facts.reporters) {
    out["health"].push_back({{"reporter", one.name},
                             {"healthy", one.healthy},
                             {"errors", one.errors},
                             {"recoveries", one.recoveries}});
    if (one.port) out["health"].back()["port"] = *one.port;
  }
  if (!facts.rates.empty()) out["rates"] = rates_json(facts);
  if (!facts.buffers.empty()) out["sharedBuffers"] = buffers_json(facts);
  return out;
}

}  // namespace lockstep
