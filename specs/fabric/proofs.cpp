#include "specs/fabric/proofs.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "specs/fabric/proof_context.hpp"

namespace lockstep {
namespace {

constexpr CodeRow kRules[] = {
    {"LS101", "both ends of a link have the same PFC and DSCP maps",
     "a peer that pauses another priority, or none, makes a lossless class drop packets",
     "apply one RoceProfile to both ends; remove the override or raw setting that changes one of them"},
    {"LS102", "the headroom of all lossless classes fits the switch's buffer",
     "packets that arrive after XOFF was sent need space, or they are dropped",
     "use a shorter cable (cableLength), fewer lossless classes, a smaller MTU or xonOffset, or a platform "
     "with more buffer"},
    {"LS103", "ECN marks before PFC fires",
     "senders must slow down before links stop: a pause hits flows that do not cause the congestion",
     "lower kmin and kmax, or write ecn: auto"},
    {"LS104", "DCQCN has a CNP class, strict and lossy",
     "a congestion notification that queues or is paused arrives too late",
     "add {name: cnp, carries: [cnp], dscp: [48], priority: 6, tc: 6, scheduling: strict}"},
    {"LS105", "the MTU does not shrink along a path",
     "packets that a port does not take are dropped: RoCE's always, others where no ICMP message gets back",
     "raise mtu.fabric to at least mtu.host; override the MTU of a cable at both ends alike, or at neither; "
     "hosts with an MTU of their own get a Fabric of their own"},
    {"LS106", "address pools and AS ranges of different fabrics do not overlap",
     "two devices would get one address", "give each Fabric pools of its own"},
    {"LS107", "a port has one cable (reported as LS1205)", "a port takes one cable", "see LS1205"},
    {"LS108", "the routed paths of lossless classes form no cycle, with one or two links down either",
     "buffers that wait for each other in a cycle deadlock under PFC until a watchdog drops their packets",
     "give the upper tier one AS number, so that every path goes up and then down (RFC 7938 5.2.1), or make "
     "the class lossy"},
    {"LS109", "tiers that hash have different ECMP seeds",
     "a tier with the seed of the one before repeats its choices, and links stay empty (polarisation)",
     "set loadBalancing.seeds to a different number for each tier"},
    {"LS110", "packets are sprayed only to NICs that accept them out of order, and are configured to",
     "other NICs treat reordering as loss and send again from the gap (go-back-N)",
     "write mode: flowlet or static, or use NICs that support it, with the firmware setting that the message "
     "names"},
    {"LS111", "each SLO can be met by the declared links",
     "a gate that nothing can pass rolls back every change",
     "lower the bound, or add the links that it needs"},
    {"LS112", "a platform is asked only for what it supports",
     "the device would refuse, or silently do something else",
     "choose a value that the platform supports; the message cites its limit and the source"},
    {"LS113", "a device of a lossless or sprayed fabric has a platform",
     "headroom, thresholds and limits follow from its constants",
     "write platform: NAME in the DeviceSet or interface; specs/platforms lists those that are built in"},
    {"LS114", "the bandwidth shares of a profile are at most 100%",
     "a device refuses an ETS table that does not add up (IEEE 802.1Qaz 37.3)", "lower the shares"},
    {"LS115", "a DSCP, a priority and a traffic class belong to one class",
     "a packet is put into exactly one queue", "give each value to one class"},
    {"LS116", "a profile with a lossless class has a PFC watchdog",
     "one faulty NIC that pauses forever stops the whole fabric (Guo et al., SIGCOMM 2016, 4.3)",
     "add pfc: {watchdog: {detectionTime: 200ms, restorationTime: 400ms, action: drop}}"},
    {"LS117", "lossless links declare their cable length", "headroom follows from it: 300 m is assumed",
     "write cableLength in the cabling rule"},
    {"LS118", "a lossless class under DCQCN has ECN",
     "without marks senders never slow down, and only PFC is left", "add ecn: auto to the class"},
    {"LS119", "minCapacity leaves room for one device to go down",
     "no change that interrupts traffic could ever be rolled out",
     "lower minCapacity, or add switches to the tier"},
    {"LS120", "a platform that is named is known, and one that the specs describe can be read",
     "its constants would be missing silently",
     "correct the name, or describe the platform in a folder `platforms` beside the specs"},
    {"LS121", "the headroom of a lossless class can be computed",
     "a platform whose constants are not public cannot be checked",
     "add the constant with its source to a platform file in a folder `platforms` beside the specs, or "
     "choose another platform"},
    {"LS122", "no route passes two switches of one AS number",
     "BGP drops a route that has its own AS number in its path (RFC 4271 9.1.2): the leaf switch behind is "
     "unreachable",
     "give each switch of the tier that the message names a number of its own: asn takes a range"},
    {"LS123", "a maximum rate is below the speed of some link that has the class",
     "a bound that no link can reach bounds nothing: the unit may be wrong",
     "correct the unit, or write a share (5%)"},
    {"LS124", "trust: pcp is for tagged links",
     "a frame's priority is in its VLAN tag (802.1Q 9.6); routed links have none", "write trust: dscp"},
    {"LS125", "a strict class that carries RDMA has a bound",
     "a strict queue is served before all others as long as it has packets (802.1Q 8.6.8.1)",
     "give the class a share (scheduling: dwrr, bandwidth: 50%), or a maxRate below 100%"},
    {"LS126", "a path joins the leaf switches of a rail, and of a leaf-spine fabric all of them",
     "hosts that have to reach each other would not",
     "cable both to a spine switch, or their spine switches to a superspine; declare separate networks as "
     "Fabrics of their own"},
    {"LS127", "what is hashed differs between RDMA flows",
     "flows of one hash share one path; of RoCEv2 the source port differs (InfiniBand annex A17.9.2)",
     "write hashFields: [src-ip, dst-ip, src-port, dst-port, protocol]"},
    {"LS128", "an RDMA port is in a fabric with a RoceProfile",
     "its packets would be dropped like any others where links fill up, and sent again from the gap",
     "name a RoceProfile in the Fabric (roceProfile), or leave rdma out where the port sends none"},
    {"LS129", "ACS stays on where the IOMMU keeps virtual functions apart",
     "without it devices reach each other past the IOMMU (kernel-parameters.txt, pci=disable_acs_redir)",
     "leave acs out where guests have virtual functions; on a trusted host let the IOMMU pass through: "
     "iommu=pt"},
    {"LS130", "ECN marks some packets, and none on an empty link",
     "thresholds below one packet slow senders down where nothing waits; a probability of 0 signals nothing",
     "write kmin: 5KB or more and a pmax above 0%, or ecn: auto"},
};

}  // namespace

std::span<const CodeRow> proof_rules() { return kRules; }

ProofContext::ProofContext(const Catalog& all, const Topology& graph, Diagnostics& diagnostics)
    : catalog(all), topology(graph), out(diagnostics) {
  for (FabricIndex fabric = 0; fabric < topology.fabrics.size(); ++fabric) {
    profiles.push_back(profile_of(catalog, catalog.fabrics[fabric]));
    lossless.push_back(profiles.back() == nullptr ? 0 : lossless_classes(*profiles.back()));
  }
  std::set<decltype(PortClass{}.key())> seen;
  decltype(PortClass{}.key()) last{kNone, kNone, kNone, {}};
  for (PortIndex index = 0; index < topology.ports.size(); ++index) {
    const TopologyPort& port = topology.ports[index];
    if (port.link == kNone) continue;
    const PortClass one{topology.devices[port.device].set, port.entry, topology.links[port.link].fabric,
                        port.platform, index};
    if (one.key() == last) continue;
    last = one.key();
    if (seen.insert(last).second) ports.push_back(one);
  }
}

const Platform* ProofContext::platform(std::string_view name) const {
  if (name.empty()) return nullptr;
  const auto [at, fresh] = known_.try_emplace(name, nullptr);
  if (!fresh) return at->second;
  if (const Result<const Platform*> found = find_platform(catalog, name)) at->second = *found;
  return at->second;
}

DeviceIndex ProofContext::other_end(PortIndex port) const {
  const TopologyLink& link = topology.links[topology.ports[port].link];
  return topology.ports[link.a == port ? link.b : link.a].device;
}

Position ProofContext::ports_at(const PortClass& one) const {
  const DeviceSet& set = catalog.device_sets[one.set];
  if (one.entry != kNone && one.entry < set.interfaces.size()) return set.interfaces[one.entry].name.at;
  if (one.entry != kNone && set.interfaces.empty() && one.entry < set.ports.size())
    return set.ports[one.entry].name.at;
  return place(name_at(set, topology.devices[topology.ports[one.example].device].ordinal), set.at);
}

Position ProofContext::platform_at(const PortClass& one) const {
  const DeviceSet& set = catalog.device_sets[one.set];
  if (one.entry != kNone && one.entry < set.interfaces.size() && set.interfaces[one.entry].platform.said)
    return set.interfaces[one.entry].platform.at;
  return place(platform_said(set, topology.devices[topology.ports[one.example].device].ordinal),
               ports_at(one));
}

Position ProofContext::platform_at(DeviceIndex index) const {
  const TopologyDevice& device = topology.devices[index];
  const DeviceSet& set = catalog.device_sets[device.set];
  return place(platform_said(set, device.ordinal), place(name_at(set, device.ordinal), set.at));
}

void ProofContext::error(std::string_view code, Position at, std::string message, std::string hint,
                         std::vector<Related> related) const {
  out.push_back(Diagnostic{.code = std::string(code),
                           .at = at,
                           .message = std::move(message),
                           .hint = std::move(hint),
                           .related = std::move(related)});
}

void ProofContext::warning(std::string_view code, Position at, std::string message, std::string hint,
                           std::vector<Related> related) const {
  error(code, at, std::move(message), std::move(hint), std::move(related));
  out.back().severity = Severity::warning;
}

Diagnostics prove(const Catalog& catalog, const Topology& topology) {
  Diagnostics out = check_platforms(catalog);
  const ProofContext context(catalog, topology, out);
  prove_profiles(context);
  prove_platforms(context);
  prove_port_counts(context);
  prove_link_ends(context);
  prove_buffers(context);
  prove_ecn(context);
  prove_paths(context);
  prove_circles(context);
  prove_spreading(context);
  prove_hosts(context);
  prove_as_paths(context);
  prove_goals(context);
  std::stable_sort(out.begin(), out.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.at < b.at; });
  return out;
}

}  // namespace lockstep
