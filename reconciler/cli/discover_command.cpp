#include <unistd.h>

#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "drivers/runtime/pump.hpp"
#include "reconciler/cli/command_session.hpp"
#include "reconciler/cli/commands.hpp"
#include "reconciler/cli/program_drivers.hpp"
#include "reconciler/local/local_drivers.hpp"
#include "reconciler/report/discovery.hpp"
#include "reconciler/session/attached_fleet.hpp"
#include "reconciler/session/cluster_twin.hpp"

namespace lockstep {
namespace {

constexpr std::chrono::seconds kDiscoveryTime{10};  // of a device: files, netlink, NVML and 2 s for lldpd

std::string host_name() {
  std::array<char, 256> name{};  // HOST_NAME_MAX is 64 (limits.h); DNS names are at most 253
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

struct Discovery {
  std::vector<DiscoveredDevice> devices;
  std::vector<NotObserved> missing;
};

Result<Discovery> discover_this_machine(const Console& console) {
  Call call;
  call.deadline = std::chrono::steady_clock::now() + kDiscoveryTime;
  call.stop = console.stop;
  call.wake_fd = console.stop_fd;
  TRY(DiscoveredHost host, discover_local(std::nullopt, call));
  Discovery out;
  out.devices.push_back({host_name(), "host", std::move(host)});
  return out;
}

// The `connect` of a device that was discovered, for a draft of specs; empty: of this machine, or of a twin.
std::string connect_text(const DriverTarget& target) {
  if (target.twin || !target.connect.agent.said) return "";
  return "{agent: " + nlohmann::json(*target.connect.agent).dump() + "}";
}

// All devices at once: one that does not answer delays no other, and is reported.
class DiscoverRound {
 public:
  using Answer = Discovery;
  DiscoverRound(Executor& executor, const OpenedCluster& cluster, bool agents, bool lldp)
      : executor_(executor), cluster_(cluster) {
    const auto discover = device_discovery();
    std::optional<DriverTarget::Twin> twin;
    if (cluster.twin) twin = {cluster.id, lldp, agents};
    for (DeviceIndex i = 0; i < cluster.compiled.topology.devices.size(); ++i) {
      const TopologyDevice& device = cluster.compiled.topology.devices[i];
      const DriverTarget target{device.name, cluster.name,
                                cluster.catalog.device_sets[device.set].connect.value,
                                cluster.compiled.intents[i], twin};
      one_.push_back(
          {connect_text(target), [discover, target](const Call& call) { return discover(target, call); }});
    }
  }

  void start(std::function<void(Answer)> done) {
    done_ = std::move(done);
    open_ = one_.size();
    for (std::size_t i = 0; i < one_.size(); ++i) {
      // A body that is abandoned writes when nobody reads any more.
      const auto found = std::make_shared<std::optional<Found>>();
      jobs_.push_back(
          executor_.start({.key = device(i).name,
                           .lane = Lane::remote,
                           .timeout = kDiscoveryTime,
                           .run = [found, ask = one_[i].ask](const Call& call) { found->emplace(ask(call)); },
                           .done = [this, i, found](const Outcome& outcome) { take(i, outcome, *found); }}));
    }
  }
  void stop() {
    for (const std::uint64_t job : jobs_) executor_.cancel(job);
  }

 private:
  using Found = Result<std::optional<DiscoveredHost>>;
  struct One {
    std::string connect;
    std::function<Found(const Call&)> ask;
    std::optional<DiscoveredHost> host{};
    std::string why{};  // it has no host
  };

  const TopologyDevice& device(std::size_t i) const { return cluster_.compiled.topology.devices[i]; }

  void take(std::size_t i, const Outcome& outcome, std::optional<Found>& found) {
    One& one = one_[i];
    if (outcome.end != Outcome::returned)
      one.why = outcome.reason_or("no answer within " + std::to_string(kDiscoveryTime.count()) + " s");
    else if (!*found)
      one.why = found->error().text();
    else if (!**found)
      one.why = kWhyUnreached;
    else
      one.host = *std::move(**found);
    if (--open_ == 0) done_(answer());
  }

  Discovery answer() {
    Discovery out;
    std::map<std::string, std::vector<std::string>> missing;
    for (std::size_t i = 0; i < one_.size(); ++i)
      if (one_[i].host)
        out.devices.push_back({device(i).name, std::string(to_string(device(i).role)),
                               *std::move(one_[i].host), one_[i].connect});
      else
        missing[one_[i].why].push_back(device(i).name);
    for (auto& [why, devices] : missing) out.missing.push_back({why, std::move(devices)});
    return out;
  }

  Executor& executor_;
  const OpenedCluster& cluster_;
  std::vector<One> one_;  // by device
  std::vector<std::uint64_t> jobs_;
  std::size_t open_ = 0;
  std::function<void(Answer)> done_;
};

Result<Discovery> discover_devices(const OpenedCluster& cluster, const Console& console) {
  TRY_DONE(has_devices(cluster));
  bool agents = false;
  bool lldp = false;
  if (cluster.twin) {
    TRY(const TwinReport twin, running_twin(cluster));
    agents = twin.record.agents;
    lldp = twin.record.lldp;
  }
  RealExecutor executor;
  if (console.stop_fd >= 0)
    TRY_DONE(executor.watch(console.stop_fd, [&] { executor.forget(console.stop_fd); }));
  DiscoverRound round(executor, cluster, agents, lldp);
  return pump(executor, round, console.stop);
}

nlohmann::json discovery_document(const Discovery& found, const std::optional<OpenedCluster>& cluster) {
  nlohmann::json out = discovery_json(found.devices);
  if (!cluster) return out;
  out["unobserved"] = nlohmann::json::array();
  for (const NotObserved& some : found.missing)
    for (const std::string& device : some.devices)
      out["unobserved"].push_back({{"device", device}, {"why", some.why}});
  return of_cluster(*cluster, std::move(out));
}

}  // namespace

int run_discover(const DiscoverOptions& options, const Console& console) {
  if (options.draft && console.output == OutputFormat::json)
    return console.fail_usage("--draft writes specs, which are YAML: it has no -o json");
  std::optional<OpenedCluster> cluster;
  if (options.of_specs) {
    cluster = open_cluster(options.source, console);
    if (!cluster) return kExitError;
  }
  const Result<Discovery> found =
      cluster ? discover_devices(*cluster, console) : discover_this_machine(console);
  if (!found) return console.fail(found.error());
  if (options.draft)
    console.print(discovery_draft(found->devices, options.source.twin));
  else if (console.is_text())
    console.print(discovery_text(found->devices, console.out()));
  else
    console.print_document(discovery_document(*found, cluster));
  return tell_not_observed(found->missing, console);
}

}  // namespace lockstep
