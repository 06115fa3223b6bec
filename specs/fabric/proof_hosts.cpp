// Proofs about hosts: RDMA ports have a profile (LS128), a HostProfile's isolation settings are consistent
// (LS129). Also looks up its NIC firmware settings, for LS110.
#include <algorithm>

#include "specs/fabric/proof_context.hpp"
#include "specs/fabric/roce_classes.hpp"
#include "specs/language/hostlist.hpp"

namespace lockstep {
namespace {

bool is_for_host(const ProofContext& context, const HostProfile& profile, DeviceIndex host) {
  const TopologyDevice& device = context.topology.devices[host];
  return !device.is_switch() &&
         selects(*profile.selector, context.catalog.device_sets[device.set], device.ordinal, device.name);
}

bool is_true(const Literal& value) {
  return value.shape == Literal::Shape::boolean
             ? value.boolean
             : value.text == "1" || value.text == "True" || value.text == "true";
}

// A profile whose classes list what they carry, but none of what this Fabric's hosts send.
void prove_carried(const ProofContext& context, FabricIndex index) {
  const Fabric& fabric = context.catalog.fabrics[index];
  const RoceProfile& profile = *context.profiles[index];
  const Carried wanted = rdma_of(*fabric.role);
  const bool says =
      std::ranges::any_of(profile.classes, [](const auto& one) { return !one.carries.empty(); });
  const bool has_rdma =
      std::ranges::any_of(context.topology.fabrics[index].endpoints,
                          [&](const Endpoint& one) { return context.topology.ports[one.port].rdma; });
  if (!says || !has_rdma || class_for(profile, wanted) != nullptr) return;
  context.warning("LS128", place(profile.classes.front().at, profile.at),
                  "no class of RoceProfile/" + *profile.metadata.name + " carries " +
                      std::string(to_string(wanted)) + ", which the hosts of Fabric/" +
                      *fabric.metadata.name + " send: their NICs and NCCL are given no traffic class",
                  "carries: [" + std::string(to_string(wanted)) + "] in the class that is meant",
                  {{fabric.at, "the Fabric is here"}});
}

// A warning, not an error: lossy RoCE works without a profile, and the cost of its drops depends on the load.
void prove_profile(const ProofContext& context, FabricIndex index) {
  if (context.profiles[index] != nullptr) return prove_carried(context, index);
  const Fabric& fabric = context.catalog.fabrics[index];
  for (const Endpoint& endpoint : context.topology.fabrics[index].endpoints) {
    const TopologyPort& port = context.topology.ports[endpoint.port];
    if (!port.rdma) continue;
    const auto& interfaces =
        context.catalog.device_sets[context.topology.devices[endpoint.device].set].interfaces;
    const Position said = port.entry < interfaces.size() ? interfaces[port.entry].rdma.at : Position{};
    return context.warning("LS128", fabric.at,
                           "Fabric/" + *fabric.metadata.name + " has no roceProfile, and " +
                               context.topology.port_text(endpoint.port) +
                               " is an RDMA port: under congestion its packets are dropped like any others",
                           "add roceProfile:, or leave rdma out where the port sends none",
                           {{place(said, context.topology.links[endpoint.link].at), "RDMA is enabled here"}});
  }
}

// Whether the IOMMU is off or in passthrough (Documentation/admin-guide/kernel-parameters.txt).
bool lets_pass(const Kernel& kernel) {
  return std::any_of(kernel.parameters.begin(), kernel.parameters.end(), [](const Said<std::string>& one) {
    return *one == "iommu=pt" || *one == "iommu.passthrough=1" || *one == "iommu=off" ||
           *one == "intel_iommu=off" || *one == "amd_iommu=off";
  });
}

// The parameter that makes the IOMMU isolate devices; nullptr: not set.
const Said<std::string>* isolation_of(const Kernel& kernel) {
  const Said<std::string>* on = nullptr;
  for (const Said<std::string>& one : kernel.parameters) {
    if (one->starts_with("intel_iommu=on") || *one == "amd_iommu=force_enable" ||
        *one == "amd_iommu=force_isolation" || *one == "iommu=force" || *one == "iommu.passthrough=0")
      on = &one;
  }
  return on;
}

// The combined settings of the HostProfiles that select one host.
struct Isolation {
  const Said<OnOff>* acs = nullptr;
  const Said<std::uint32_t>* functions = nullptr;
  const Said<std::string>* iommu = nullptr;
  bool passes = false;
  bool is_broken() const { return acs != nullptr && functions != nullptr && iommu != nullptr && !passes; }

  void add(const HostProfile& profile) {
    if (profile.pcie->acs.said && *profile.pcie->acs == OnOff::off) acs = &profile.pcie->acs;
    const Said<std::uint32_t>& count = profile.nic->virtual_functions->count;
    if (count.said && *count > 0) functions = &count;
    if (const auto* const said = isolation_of(*profile.kernel)) iommu = said;
    passes = passes || lets_pass(*profile.kernel);
  }
};

void prove_isolation(const ProofContext& context) {
  Isolation any;
  for (const HostProfile& profile : context.catalog.host_profiles) any.add(profile);
  any.passes = false;
  if (!any.is_broken()) return;  // whichever hosts they select
  for (DeviceIndex host = 0; host < context.topology.devices.size(); ++host) {
    Isolation own;
    for (const HostProfile& profile : context.catalog.host_profiles)
      if (is_for_host(context, profile, host)) own.add(profile);
    if (!own.is_broken()) continue;
    return context.error(
        "LS129", own.acs->at,
        "ACS is off on " + context.topology.devices[host].name +
            ", whose IOMMU is to keep virtual functions apart: with it off, PCI devices "
            "reach each other past "
            "the IOMMU",
        "leave acs out where guests have virtual functions; where all that runs is trusted, "
        "let the IOMMU pass: "
        "iommu=pt (NVIDIA GPUDirect RDMA guide)",
        {{own.functions->at, "virtual functions are enabled here"}, {own.iommu->at, "the IOMMU is on here"}});
  }
}

}  // namespace

bool sets_firmware(const ProofContext& context, DeviceIndex host, std::string_view port,
                   std::string_view parameter) {
  return std::any_of(context.catalog.host_profiles.begin(), context.catalog.host_profiles.end(),
                     [&](const HostProfile& profile) {
                       const Nic& nic = *profile.nic;
                       const Said<Literal>* const value = find_entry(nic.settings, parameter);
                       return value != nullptr && is_true(**value) &&
                              (!nic.ports.said || index_in_hostlist(*nic.ports, port)) &&
                              is_for_host(context, profile, host);
                     });
}

void prove_hosts(const ProofContext& context) {
  for (FabricIndex i = 0; i < context.topology.fabrics.size(); ++i) prove_profile(context, i);
  prove_isolation(context);
}

}  // namespace lockstep
