#include "reconciler/measure/ground.hpp"

#include "bench/ideal.hpp"
#include "bench/verbs/rounds.hpp"
#include "specs/compile/wanted_traffic_class.hpp"

namespace lockstep {
namespace {

std::uint64_t speed_of(const TopologyLink& link) {
  return link.speed_in_twin != 0 ? link.speed_in_twin : link.speed;
}

}  // namespace

Ground::Ground(const MeasureInput& input, FabricIndex index)
    : topology_(input.compiled.topology),
      intents_(input.compiled.intents),
      graph_(topology_.fabrics[index]),
      paths_(topology_, index) {
  const Fabric& fabric = input.catalog.fabrics[index];
  const bench::Framing framing = input.compiled.twin ? bench::shaped_framing : bench::wire_framing;
  probes.reserve(graph_.endpoints.size());
  for (const Endpoint& endpoint : graph_.endpoints) {
    const auto& address = input.compiled.allocation.port[endpoint.port];
    const std::string& device = topology_.devices[endpoint.device].name;
    bench::ProbeEndpoint probe;
    probe.endpoint = {device, std::string(topology_.ports[endpoint.port].name),
                      address ? address->address.text() : "", topology_.devices[endpoint.leaf].name,
                      std::to_string(endpoint.rail)};
    probe.netns = input.netns_path ? input.netns_path(device) : "";
    probe.unreachable = input.unreachable ? input.unreachable(endpoint.device) : "";
    probe.link_rate = speed_of(topology_.links[endpoint.link]);
    probe.mtu = fabric.mtu.value.host.or_else(probe.mtu);
    probe.frame_bytes = framing.bytes;
    probes.push_back(std::move(probe));
  }
  links.capacities.reserve(topology_.links.size() * 2);
  for (const TopologyLink& link : topology_.links)
    links.capacities.insert(links.capacities.end(), 2, speed_of(link));
  links.name = [this](std::uint32_t link) {
    return topology_.port_text(sending_port(topology_, link)) + " -> " +
           topology_.port_text(receiving_port(topology_, link));
  };
  links.path = [this](std::size_t from, std::size_t to) {
    ++walked_;
    std::optional<CrossedPath> path = paths_.between(graph_.endpoints[from], graph_.endpoints[to]);
    return path ? bench::FlowPath{std::move(path->fixed), std::move(path->stages)} : bench::FlowPath{};
  };
}

const std::vector<bench::verbs::RdmaEnd>& Ground::rdma_ends() {
  constexpr std::chrono::seconds kReadTime{10};  // netlink dumps and small sysfs files
  if (!rdma_ends_.empty()) return rdma_ends_;
  const Call call{.deadline = std::chrono::steady_clock::now() + kReadTime, .stop = {}};
  for (std::size_t i = 0; i < probes.size(); ++i) {
    rdma_ends_.push_back(bench::verbs::find_rdma_end(HostFiles("/"), probes[i], call));
    const Intent& intent = intents_[graph_.endpoints[i].device];
    rdma_ends_.back().traffic_class = wanted_traffic_class(intent, probes[i].endpoint.port).value_or(0);
  }
  return rdma_ends_;
}

bool Ground::touches(const bench::Pair& way, const std::vector<bool>& flagged) {
  bool touched = false;
  each_link(way, [&](std::uint32_t link) { touched = touched || flagged[link]; });
  return touched;
}

}  // namespace lockstep
