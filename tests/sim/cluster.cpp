#include "cluster.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "specs/model/schema_rows.hpp"
#include "tests/said.hpp"

namespace lockstep::simulation {
namespace {

// Hosts on one pair of leaf switches: with few devices so few that most clusters have two or three pairs.
constexpr std::size_t kFew = 24;
constexpr std::size_t hosts_per_pair(std::size_t devices) { return devices <= kFew ? 4 : 16; }
constexpr std::uint64_t kSpeed = 400'000'000'000;
constexpr std::uint32_t kPerMillion = 1'000'000;

Path path(const std::string& text) { return *Path::parse(text); }

CountOrRatio share(std::uint32_t per_million) { return {true, 0, Ratio{per_million}}; }

class Builder {
 public:
  OpenedCluster build(std::size_t devices) {
    hosts_per_pair_ = hosts_per_pair(devices);
    std::vector<DeviceIndex> spines;
    for (std::size_t s = 0; s < kSpines; ++s)
      spines.push_back(add("spine" + std::to_string(s), DeviceRole::spine));
    const std::size_t pairs = std::max<std::size_t>(1, (devices - kSpines) / (hosts_per_pair_ + 2));
    std::size_t left = devices - kSpines;
    for (std::size_t p = 0; p < pairs; ++p) {
      left -= 2;
      const std::size_t hosts = p + 1 == pairs ? left : hosts_per_pair_;
      add_pair(p, spines, hosts);
      left -= hosts;
    }
    for (std::size_t device = 0; device < cluster_.compiled.intents.size(); ++device) {
      std::vector<Claim>& claims = cluster_.compiled.intents[device].claims;
      claims.push_back({row("rule[*]"), {}, 0});
      if (cluster_.compiled.topology.devices[device].role == DeviceRole::host)
        claims.push_back({row("route-mtu[*]"), {"10.0.0.0/8"}, 0});
    }
    finish_topology();
    return std::move(cluster_);
  }

 private:
  struct Draft {  // a port before ports have indices
    std::string name;
    LinkIndex link;
    bool near;  // the end nearer to the hosts
  };

  DeviceIndex add(const std::string& name, DeviceRole role) {
    Topology& topology = cluster_.compiled.topology;
    TopologyDevice device;
    device.name = name;
    device.role = role;
    device.set = role == DeviceRole::host ? 0 : role == DeviceRole::leaf ? 1 : 2;
    device.drivers = {DriverName::sim};
    topology.devices.push_back(std::move(device));
    ports_.emplace_back();
    Intent& intent = cluster_.compiled.intents.emplace_back();
    intent.device = name;
    intent.conduct = Conduct::converge;
    if (role == DeviceRole::host) {
      intent.want.set(path("sysctl[net.ipv4.conf.all.arp_ignore]"), Value::text("1"));
    } else {
      intent.want.set(path("bgp"), Value::present());
      intent.want.set(path("bgp/router-id"), Value::text("10.255.0.1"));
      intent.want.set(path("bgp/max-paths"), Value::integer(64));
    }
    return static_cast<DeviceIndex>(topology.devices.size() - 1);
  }

  void add_pair(std::size_t pair, const std::vector<DeviceIndex>& spines, std::size_t hosts) {
    std::vector<DeviceIndex> leaves;
    for (std::size_t i = 2 * pair; i < 2 * pair + 2; ++i) {
      leaves.push_back(add("leaf" + std::to_string(i), DeviceRole::leaf));
      for (std::size_t s = 0; s < spines.size(); ++s)
        join(leaves.back(), "up" + std::to_string(s), spines[s], "down" + std::to_string(i));
    }
    for (std::size_t h = 0; h < hosts; ++h) {
      const DeviceIndex host = add("gpu" + std::to_string(pair * hosts_per_pair_ + h), DeviceRole::host);
      for (std::size_t rail = 0; rail < leaves.size(); ++rail)
        join(host, "rail" + std::to_string(rail), leaves[rail], "swp" + std::to_string(h));
    }
  }

  // `a` is the end nearer to the hosts.
  void join(DeviceIndex a, const std::string& a_port, DeviceIndex b, const std::string& b_port) {
    Topology& topology = cluster_.compiled.topology;
    const auto link = static_cast<LinkIndex>(topology.links.size());
    topology.links.push_back({.speed = kSpeed});
    ports_[a].push_back({a_port, link, true});
    ports_[b].push_back({b_port, link, false});
    const bool to_host = topology.devices[a].role == DeviceRole::host;
    want_port(a, a_port, to_host, to_host);
    want_port(b, b_port, to_host, false);
  }

  void want_port(DeviceIndex device, const std::string& port, bool to_host, bool host) {
    Tree& want = cluster_.compiled.intents[device].want;
    want.set(path("interface[" + port + "]/mtu"), Value::integer(host ? 9000 : 9216));
    want.set(path("interface[" + port + "]/admin"), Value::boolean(true));
    want.set(path("interface[" + port + "]/pfc"), Value::set({"3"}));
    if (host) {
      want.set(path("interface[" + port + "]/address[10.0.0.1/31]"), Value::present());
      want.set(path("route[" + port + ":10.0.0.0/8]"), Value::set({"via 10.0.0.0 dev " + port}));
    } else if (!to_host) {
      want.set(path("bgp/neighbor[" + port + "]"), Value::present());
      want.set(path("bgp/neighbor[" + port + "]/session"), Value::text("Established"));
    }
  }

  void finish_topology() {
    Topology& topology = cluster_.compiled.topology;
    std::map<std::string, std::uint32_t> names;
    for (DeviceIndex device = 0; device < topology.devices.size(); ++device) {
      topology.devices[device].first_port = static_cast<PortIndex>(topology.ports.size());
      topology.devices[device].port_count = static_cast<std::uint32_t>(ports_[device].size());
      for (const Draft& draft : ports_[device]) {
        const auto name = names.emplace(draft.name, names.size()).first;
        const auto index = static_cast<PortIndex>(topology.ports.size());
        TopologyPort port;
        port.name = interned_text(intern(draft.name));
        port.name_id = name->second;
        port.device = device;
        port.link = draft.link;
        port.speed = kSpeed;
        topology.ports.push_back(port);
        (draft.near ? topology.links[draft.link].a : topology.links[draft.link].b) = index;
      }
    }
    topology.port_names = static_cast<std::uint32_t>(names.size());
    topology.by_name.resize(topology.devices.size());
    std::iota(topology.by_name.begin(), topology.by_name.end(), DeviceIndex{0});
    std::ranges::sort(topology.by_name, {}, [&](DeviceIndex i) { return topology.devices[i].name; });
    finish_fabric();
  }

  void finish_fabric() {
    Topology& topology = cluster_.compiled.topology;
    FabricGraph& graph = topology.fabrics.emplace_back();
    graph.rails = 2;
    for (DeviceIndex device = 0; device < topology.devices.size(); ++device) {
      const DeviceRole role = topology.devices[device].role;
      (role == DeviceRole::host   ? graph.hosts
       : role == DeviceRole::leaf ? graph.leaves
                                  : graph.spines)
          .push_back(device);
    }
    for (LinkIndex link = 0; link < topology.links.size(); ++link) {
      graph.links.push_back(link);
      const TopologyLink& one = topology.links[link];
      const DeviceIndex host = topology.ports[one.a].device;
      if (topology.devices[host].role != DeviceRole::host) continue;
      const std::uint32_t rail = one.a - topology.devices[host].first_port;
      topology.links[link].rail = rail;
      graph.endpoints.push_back({host, one.a, topology.ports[one.b].device, one.b, link, rail, 0});
    }
  }

  OpenedCluster cluster_;
  std::size_t hosts_per_pair_ = 0;
  std::vector<std::vector<Draft>> ports_;  // by device
};

RolloutPolicy policy_within(const std::optional<Window>& window) {
  RolloutPolicy policy;
  policy.metadata.name = said<std::string>("default");
  policy.unit = said(RolloutUnit::redundancy_group);
  policy.waves = {said(CountOrRatio{false, 1, {}}), said(share(kPerMillion / 10)), said(share(kPerMillion))};
  MinCapacity least;
  least.leaf = least.spine = said(Ratio{kPerMillion / 2});
  policy.min_capacity = said(least);
  if (window) policy.windows = {*window};
  return policy;
}

}  // namespace

OpenedCluster make_cluster(std::size_t devices, const std::optional<Window>& window,
                           const std::string& folder) {
  OpenedCluster cluster = Builder().build(devices);
  cluster.name = cluster.id = "simulated";
  cluster.folder = folder;
  for (const char* const name : {"hosts", "leaves", "spines"})
    cluster.catalog.device_sets.emplace_back().metadata.name = said<std::string>(name);
  cluster.catalog.rollout_policies = {policy_within(window)};
  cluster.compiled.rollout.assign(cluster.compiled.topology.devices.size(), 0);
  ValidationSuite& suite = cluster.catalog.validation_suites.emplace_back();
  suite.metadata.name = said<std::string>("paths");
  suite.on_change.value.on_violation = said(OnViolation::rollback);
  return cluster;
}

}  // namespace lockstep::simulation
