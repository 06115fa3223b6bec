// `lockstep get counters`: what a switch or a host counts, read from the device itself.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "drivers/linux/rdma/named_counters.hpp"
#include "drivers/sonic/driver.hpp"
#include "drivers/sonic/redis_address.hpp"
#include "drivers/sonic/sonic_counters.hpp"
#include "reconciler/cli/client_commands.hpp"
#include "reconciler/cli/command_session.hpp"
#include "reconciler/report/table.hpp"
#include "reconciler/session/driver_table.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kReadingTime{30};  // of a switch: some 200 ms of 512 ports

// This host's ports, with the RDMA device of each that has one.
Result<CounterReading> read_host(const std::vector<std::string>& wanted, const Call& call) {
  namespace fs = std::filesystem;
  CounterReading out;
  const HostFiles files("/");
  std::error_code failed;
  for (const fs::directory_entry& port : fs::directory_iterator("/sys/class/net", failed)) {
    const std::string name = port.path().filename().string();
    const bool is_wanted = wanted.empty() ? name != "lo" : std::ranges::find(wanted, name) != wanted.end();
    if (!is_wanted) continue;
    rdma::CountingPort counting{.netdev = name};
    std::error_code none;
    for (const fs::directory_entry& device : fs::directory_iterator(port.path() / "device/infiniband", none))
      counting.device = device.path().filename().string();
    const Result<Done> read = rdma::read_named_counters(files, counting, call, out);
    if (!read && read.error().kind != ErrorKind::unsupported) return read.error();
    if (!read) out.unreadable.push_back({{name, ""}, read.error().text()});
  }
  if (failed) return Error{ErrorKind::refused, "/sys/class/net: " + failed.message()};
  return out;
}

Result<CounterReading> read_device(const OpenedCluster& cluster, const std::string& name, const Call& call) {
  const auto& devices = cluster.compiled.topology.devices;
  const auto found = std::ranges::find(devices, name, &TopologyDevice::name);
  if (found == devices.end())
    return Error{ErrorKind::invalid_spec, "the specs have no device '" + name + "'"};
  const Connect& connect = cluster.catalog.device_sets[found->set].connect.value;
  const auto index = static_cast<std::size_t>(found - devices.begin());
  const DriverTarget target{name, cluster.name, connect, cluster.compiled.intents[index], std::nullopt};
  const bool is_sonic = std::ranges::find(found->drivers, DriverName::sonic) != found->drivers.end();
  if (is_sonic && connect.redis.said) {
    TRY(const sonic::RedisServer server, sonic::parse_redis_server(target.named(*connect.redis)));
    TRY(sonic::SonicCounters counters, sonic::SonicCounters::of(usual_databases(server)));
    return counters.read(call);
  }
  if (connect.local.said && *connect.local) return read_host({}, call);
  return Error{ErrorKind::unsupported,
               name + ": counters are read of this machine and of SONiC switches with connect: {redis: ...}"};
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
  const Result<CounterReading> reading = cluster ? read_device(*cluster, device, call) : read_host({}, call);
  if (!reading) return console.fail(reading.error());
  if (console.is_text())
    console.print(counters_text(*reading, console.out()));
  else
    console.print_document(counters_json(device, *reading));
  return reading->unreadable.empty() ? kExitInSync : kExitIncomplete;
}

}  // namespace lockstep
