#include "bench/verbs/rdma_end.hpp"

namespace lockstep::bench::verbs {
namespace {

std::string why_not(const ProbeEndpoint& at, const Facts& facts) {
  if (facts.netdev.empty()) return "no interface of this machine has " + at.endpoint.address;
  if (facts.netdev != at.endpoint.port) return at.endpoint.address + " is on " + facts.netdev + " here";
  if (facts.devices.empty()) return "this machine has none";
  std::string there;
  for (const RdmaDevice& device : facts.devices)
    for (const RdmaPort& port : device.ports)
      there += (there.empty() ? "there is " : ", ") + device.name +
               (port.facts.netdev.empty() ? "" : " on " + port.facts.netdev);
  return there;
}

}  // namespace

RdmaEnd rdma_end_of(const ProbeEndpoint& at, const Facts& facts) {
  RdmaEnd out;
  if (facts.netdev == at.endpoint.port)
    for (const RdmaDevice& device : facts.devices)
      for (const RdmaPort& port : device.ports)
        if (port.facts.netdev == at.endpoint.port) out.device = device.name;
  if (out.device.empty()) out.why_not = "no RDMA device on " + at.endpoint.name() + ": " + why_not(at, facts);
  return out;
}

RdmaEnd find_rdma_end(const HostFiles& files, const ProbeEndpoint& at, const Call& call) {
  if (!at.unreachable.empty()) return {"", at.endpoint.name() + ": " + at.unreachable};
  if (!at.netns.empty())
    return {"", "no RDMA device on " + at.endpoint.name() + ": a twin's ports are veth in namespaces"};
  if (at.endpoint.address.empty())
    return {"", "no RDMA device on " + at.endpoint.name() + ": it has no address"};
  return rdma_end_of(at, read_facts(files, at.endpoint.address, "", "", call));
}

}  // namespace lockstep::bench::verbs
