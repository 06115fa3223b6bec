// Part of wire_discovery.cpp: the names on the wire of all fields that discovery finds, one list for both
// directions. `at(NAME, FIELD)` writes the field, or reads it.
#pragma once

#include <concepts>
#include <type_traits>

#include "drivers/linux/discover.hpp"

namespace lockstep::wire {

// A T, or a const T, where it is only written.
template <class T, class Of>
concept Facts = std::same_as<std::remove_const_t<T>, Of>;

template <class At, Facts<PcieLink> T>
void discovered(At& at, T& one) {
  at("speed", one.speed);
  at("maxSpeed", one.max_speed);
  at("width", one.width);
  at("maxWidth", one.max_width);
}

template <class At, Facts<PciFunction> T>
void discovered(At& at, T& one) {
  at("address", one.address);
  at("class", one.device_class);
  at("vendor", one.vendor);
  at("device", one.device);
  at("driver", one.driver);
  at("numaNode", one.numa_node);
  at("virtual", one.is_virtual);
  at("hostBridge", one.host_bridge);
  at("upstream", one.upstream);
  at("link", one.link);
  at("rdmaDevices", one.rdma_devices);
}

template <class At, Facts<ethtool::Amount> T>
void discovered(At& at, T& one) {
  at("now", one.now);
  at("max", one.max);
}

template <class At, Facts<ethtool::ModuleFacts> T>
void discovered(At& at, T& one) {
  at("kind", one.kind);
  at("vendor", one.vendor);
  at("part", one.part);
  at("revision", one.revision);
  at("serial", one.serial);
  at("medium", one.medium);
  at("decimetres", one.decimetres);
}

template <class At, Facts<ethtool::NicFacts> T>
void discovered(At& at, T& one) {
  at("speedMbps", one.speed);
  at("speedsMbps", one.speeds);
  at("autoneg", one.autoneg);
  at("fec", one.fec);
  at("fecActive", one.fec_active);
  at("rings", one.rings);
  at("channels", one.channels);
  at("module", one.module);
}

template <class At, Facts<DiscoveredPort> T>
void discovered(At& at, T& one) {
  at("name", one.name);
  at("kind", one.kind);
  at("driver", one.driver);
  at("mac", one.hardware_address);
  at("mtu", one.mtu);
  at("adminUp", one.admin_up);
  at("carrier", one.carrier);
  at("loopback", one.loopback);
  at("nic", one.nic);
  at("pci", one.pci);
  at("rdmaDevices", one.rdma_devices);
  at("addresses", one.addresses);
  at("neighbor", one.peer);
}

template <class At, Facts<NvmlGpu> T>
void discovered(At& at, T& one) {
  at("pci", one.pci);
  at("name", one.name);
  at("lost", one.lost);
  at("vbios", one.vbios);
  at("persistence", one.persistence);
  at("ecc", one.ecc);
  at("eccAfterReset", one.ecc_after_reset);
  at("clockLimits", one.clock_limits);
  at("computeProcesses", one.compute_processes);
  at("rowsFailed", one.rows_failed);
  at("resetWanted", one.reset_wanted);
}

template <class At, Facts<HostGpu> T>
void discovered(At& at, T& one) {
  at("pci", one.pci);
  at("nvml", one.nvml);
  at("amdEcc", one.amd_ecc);
  at("near", one.near);
}

template <class At, Facts<DiscoveredGpu> T>
void discovered(At& at, T& one) {
  at("gpu", one.gpu);
  at("nics", one.nics);
}

template <class At, Facts<rdma::Gid> T>
void discovered(At& at, T& one) {
  at("index", one.index);
  at("gid", one.text);
  at("type", one.type);
  at("netdev", one.netdev);
  at("v4", one.v4);
  at("linkLocal", one.link_local);
}

template <class At, Facts<rdma::PortFacts> T>
void discovered(At& at, T& one) {
  at("number", one.number);
  at("state", one.state);
  at("physicalState", one.physical_state);
  at("linkLayer", one.link_layer);
  at("netdev", one.netdev);
}

template <class At, Facts<DiscoveredRdma::Port> T>
void discovered(At& at, T& one) {
  at("gids", one.gids);
  at("pathMtu", one.path_mtu);
}

template <class At, Facts<rdma::DeviceFacts> T>
void discovered(At& at, T& one) {
  at("name", one.name);
  at("driver", one.driver);
  at("pci", one.pci);
  at("firmware", one.firmware);
  at("ports", one.ports);
}

template <class At, Facts<DiscoveredRdma> T>
void discovered(At& at, T& one) {
  at("device", one.facts);
  at("ports", one.ports);
}

template <class At, Facts<devlink::Handle> T>
void discovered(At& at, T& one) {
  at("bus", one.bus);
  at("name", one.name);
}

template <class At, Facts<devlink::Version> T>
void discovered(At& at, T& one) {
  at("name", one.name);
  at("value", one.value);
  at("kind", one.kind);
}

template <class At, Facts<devlink::Info> T>
void discovered(At& at, T& one) {
  at("device", one.device);
  at("driver", one.driver);
  at("serial", one.serial);
  at("versions", one.versions);
}

template <class At, Facts<devlink::Port> T>
void discovered(At& at, T& one) {
  at("device", one.device);
  at("index", one.index);
  at("netdevIndex", one.netdev);
  at("netdev", one.netdev_name);
  at("flavour", one.flavour);
  at("virtualFunction", one.virtual_function);
}

template <class At, Facts<devlink::Parameter> T>
void discovered(At& at, T& one) {
  at("device", one.device);
  at("name", one.name);
  at("type", one.type);
  at("values", one.values);
}

template <class At, Facts<devlink::Reporter> T>
void discovered(At& at, T& one) {
  at("device", one.device);
  at("port", one.port);
  at("name", one.name);
  at("healthy", one.healthy);
  at("errors", one.errors);
  at("recoveries", one.recoveries);
}

template <class At, Facts<devlink::Rate> T>
void discovered(At& at, T& one) {
  at("device", one.device);
  at("port", one.port);
  at("node", one.node);
  at("parent", one.parent);
  at("share", one.share);
  at("max", one.max);
}

template <class At, Facts<devlink::SharedBuffer> T>
void discovered(At& at, T& one) {
  at("device", one.device);
  at("index", one.index);
  at("size", one.size);
  at("ingressPools", one.ingress_pools);
  at("egressPools", one.egress_pools);
}

template <class At, Facts<devlink::Pool> T>
void discovered(At& at, T& one) {
  at("device", one.device);
  at("buffer", one.buffer);
  at("index", one.index);
  at("egress", one.egress);
  at("size", one.size);
  at("dynamic", one.dynamic);
}

template <class At, Facts<devlink::Binding> T>
void discovered(At& at, T& one) {
  at("device", one.device);
  at("port", one.port);
  at("buffer", one.buffer);
  at("class", one.traffic_class);
  at("egress", one.egress);
  at("pool", one.pool);
  at("threshold", one.threshold);
}

template <class At, Facts<devlink::DeviceFacts> T>
void discovered(At& at, T& one) {
  at("device", one.device);
  at("info", one.info);
  at("eswitch", one.eswitch);
  at("functions", one.functions);
  at("functionsMax", one.functions_max);
  at("ports", one.ports);
  at("parameters", one.parameters);
  at("reporters", one.reporters);
  at("rates", one.rates);
  at("buffers", one.buffers);
  at("pools", one.pools);
  at("bindings", one.bindings);
}

template <class At, Facts<HostFact> T>
void discovered(At& at, T& one) {
  at("what", one.what);
  at("value", one.value);
  at("missing", one.missing);
}

template <class At, Facts<DiscoveredHost> T>
void discovered(At& at, T& one) {
  at("ports", one.ports);
  at("gpus", one.gpus);
  at("rdma", one.rdma);
  at("devlink", one.devlink);
  at("settings", one.settings);
  at("notes", one.notes);
}

}  // namespace lockstep::wire
