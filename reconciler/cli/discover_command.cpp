#include <unistd.h>

#include <array>

#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/local/local_drivers.hpp"
#include "reconciler/report/discovery.hpp"
#include "reconciler/session/cluster_twin.hpp"

namespace lockstep {
namespace {

Call discovery_call(const Console& console) {
  Call call;
  call.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  call.stop = console.stop;
  call.wake_fd = console.stop_fd;
  return call;
}

std::string host_name() {
  std::array<char, 256> name{};  // HOST_NAME_MAX is 64 (limits.h); DNS names are at most 253
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

Result<std::vector<DiscoveredDevice>> discover_all(const Console& console,
                                                   const std::optional<OpenedCluster>& cluster) {
  std::vector<DiscoveredDevice> all;
  if (!cluster) {
    TRY(DiscoveredHost host, discover_local(std::nullopt, discovery_call(console)));
    all.push_back({host_name(), "host", std::move(host)});
    return all;
  }
  for (const TopologyDevice& device : cluster->compiled.topology.devices) {
    Result<DiscoveredHost> host = discover_local(
        LocalDevice{device.name, cluster->name, LocalDevice::InTwin{cluster->id}}, discovery_call(console));
    if (!host) return wrap(device.name, std::move(host.error()));
    // GPUs and RDMA devices belong to this machine, not to a namespace.
    all.push_back({device.name, std::string(to_string(device.role)), *std::move(host)});
  }
  return all;
}

}  // namespace

int run_discover(const DiscoverOptions& options, const Console& console) {
  if (options.draft && console.output == OutputFormat::json)
    return console.fail_usage("--draft writes specs, which are YAML: it has no -o json");
  std::optional<OpenedCluster> cluster;
  if (options.source.twin) {
    cluster = open_cluster(options.source, console);
    if (!cluster) return kExitError;
    if (Result<Done> any = has_devices(*cluster); !any) return console.fail(any.error());
    if (Result<TwinReport> twin = running_twin(*cluster); !twin) return console.fail(twin.error());
  }
  const Result<std::vector<DiscoveredDevice>> all = discover_all(console, cluster);
  if (!all) return console.fail(all.error());
  if (options.draft)
    console.print(discovery_draft(*all, options.source.twin));
  else if (console.is_text())
    console.print(discovery_text(*all, console.out()));
  else
    console.print_document(cluster ? of_cluster(*cluster, discovery_json(*all)) : discovery_json(*all));
  return kExitInSync;
}

}  // namespace lockstep
