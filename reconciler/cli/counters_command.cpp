// `lockstep get counters`: what a switch or a host counts, read from the device itself.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "reconciler/cli/client_commands.hpp"
#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/program_drivers.hpp"
#include "reconciler/report/table.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kReadingTime{30};  // of a switch: some 200 ms of 512 ports

Result<CounterReading> read_device(const OpenedCluster& cluster, const std::string& name, const Call& call) {
  const auto& devices = cluster.compiled.topology.devices;
  const auto found = std::ranges::find(devices, name, &TopologyDevice::name);
  if (found == devices.end())
    return Error{ErrorKind::invalid_spec, "the specs have no device '" + name + "'"};
  const auto index = static_cast<std::size_t>(found - devices.begin());
  const DriverTarget target{name, cluster.name, cluster.catalog.device_sets[found->set].connect.value,
                            cluster.compiled.intents[index], std::nullopt};
  return device_counters(target, found->drivers, call);
}

Json value_json(const ReadCounter& counter) {
  return std::visit([](const auto& value) { return Json(value); }, counter.value);
}

Json counters_json(const std::string& device, const CounterReading& reading) {
  Json counters = Json::array();
  for (const auto& [id, counter] : reading.counters)
    counters.push_back({{"port", id.port},
                        {"name", id.name},
                        {"value", value_json(counter)},
                        {"unit", to_string(counter.row->unit)},
                        {"kind", to_string(counter.row->kind)},
                        {"native", counter.native}});
  Json groups = Json::array();
  for (const CounterGroup& group : reading.groups)
    groups.push_back({{"name", group.name}, {"state", to_string(group.state)}, {"why", group.why}});
  Json unreadable = Json::array();
  for (const UnreadableCounter& one : reading.unreadable)
    unreadable.push_back({{"port", one.id.port}, {"name", one.id.name}, {"why", one.why}});
  return {{"kind", "Counters"},
          {"device", device},
          {"counters", std::move(counters)},
          {"groups", std::move(groups)},
          {"unreadable", std::move(unreadable)}};
}

std::string counters_text(const CounterReading& reading, const Terminal& terminal) {
  Table table({{"PORT"}, {"COUNTER"}, {"VALUE", true}, {"UNIT"}});
  for (const auto& [id, counter] : reading.counters)
    table.add({id.port.empty() ? "-" : id.port, id.name, value_json(counter).dump(),
               std::string(to_string(counter.row->unit))});
  std::string out = table.empty() ? "" : table.render(terminal);
  for (const CounterGroup& group : reading.groups)
    if (group.state != CounterGroup::State::read)
      out += "not counted: " + printable(group.name) + ": " + printable(group.why) + "\n";
  for (const UnreadableCounter& one : reading.unreadable)
    out += "not readable: " + printable(one.id.port + " " + one.id.name) + ": " + printable(one.why) + "\n";
  return out + counted(reading.counters.size(), "counter") + "\n";
}

}  // namespace

int run_get_counters(const GetOptions& options, const Console& console) {
  if (options.words.size() > 2) return console.fail_usage("counters are of one device");
  if (options.form != "text" && options.form != "json" && options.form != "yaml")
    return console.fail_usage("counters are printed as text, json or yaml");
  Call call{.deadline = std::chrono::steady_clock::now() + kReadingTime, .stop = console.stop};
  call.wake_fd = console.stop_fd;
  const std::string device = options.words.size() == 2 ? options.words[1] : "";
  std::optional<OpenedCluster> cluster;
  if (!device.empty()) {
    ClusterSource source;
    source.specs = {options.specs};
    cluster = open_cluster(source, console);
    if (!cluster) return kExitError;
  }
  const Result<CounterReading> reading = cluster ? read_device(*cluster, device, call) : counters_here(call);
  if (!reading) return console.fail(reading.error());
  if (console.is_text())
    console.print(counters_text(*reading, console.out()));
  else
    console.print_document(counters_json(device, *reading));
  return reading->unreadable.empty() ? kExitInSync : kExitIncomplete;
}

}  // namespace lockstep
