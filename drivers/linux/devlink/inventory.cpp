#include "drivers/linux/devlink/inventory.hpp"

#include <algorithm>

#include "drivers/linux/devlink/virtual_functions.hpp"

namespace lockstep::devlink {
namespace {

template <class T>
void deal(std::vector<T> all, std::vector<T> DeviceFacts::*to, std::vector<DeviceFacts>& out) {
  for (T& one : all) {
    const auto of = std::ranges::find(out, one.device, &DeviceFacts::device);
    if (of != out.end()) ((*of).*to).push_back(std::move(one));
  }
}

Result<Done> add_functions(const HostFiles& files, DeviceFacts& out) {
  const VirtualFunctions functions(files, out.device.bus, out.device.name);
  if (!functions.exist()) return Done{};
  TRY(out.functions, functions.count());
  TRY(out.functions_max, functions.most());
  return Done{};
}

}  // namespace

Result<std::vector<DeviceFacts>> read_inventory(const HostFiles& files, const Call& call) {
  std::vector<DeviceFacts> out;
  auto client = Client::open(call);
  if (!client && client.error().kind == ErrorKind::unsupported) return out;
  if (!client) return client.error();
  TRY(const auto devices, client->devices(call));
  for (const Handle& device : devices) {
    DeviceFacts one;
    one.device = device;
    TRY(const Eswitch eswitch, client->eswitch(device, call));
    one.eswitch = eswitch.mode;
    TRY_DONE(add_functions(files, one));
    out.push_back(std::move(one));
  }
  if (out.empty()) return out;
  TRY(auto infos, client->infos(call));
  for (Info& info : infos) {
    const auto of = std::ranges::find(out, info.device, &DeviceFacts::device);
    if (of != out.end()) of->info = std::move(info);
  }
  TRY(auto ports, client->ports(call));
  deal(std::move(ports), &DeviceFacts::ports, out);
  TRY(auto parameters, client->parameters(call));
  deal(std::move(parameters), &DeviceFacts::parameters, out);
  TRY(auto reporters, client->reporters(call));
  deal(std::move(reporters), &DeviceFacts::reporters, out);
  TRY(auto rates, client->rates(call));
  deal(std::move(rates), &DeviceFacts::rates, out);
  TRY(auto buffers, client->buffers(call));
  deal(std::move(buffers), &DeviceFacts::buffers, out);
  TRY(auto pools, client->pools(call));
  deal(std::move(pools), &DeviceFacts::pools, out);
  TRY(auto bindings, client->bindings(call));
  deal(std::move(bindings), &DeviceFacts::bindings, out);
  return out;
}

}  // namespace lockstep::devlink
