// The proofs on random graphs, platforms and profiles: they must not crash, and every diagnostic must have a
// line.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "specs/fabric/proofs.hpp"
#include "tests/unit/fabric/small_fabric.hpp"

namespace lockstep {
namespace {

template <class T>
Said<T> written(T value, std::uint32_t line) {
  return {std::move(value), Position{1, line, 1}, true};
}

std::string_view any_platform() {
  return *rc::gen::element<std::string_view>("spectrum-4", "spectrum-3", "tomahawk-5", "connectx-7", "e810",
                                             "thor2", "linux", "no-such-platform", "");
}

RoceProfile any_profile() {
  RoceProfile out;
  out.at = {1, 50, 1};
  out.metadata.name = written<std::string>("lossless", 50);
  out.trust = written(*rc::gen::element(Trust::dscp, Trust::pcp), 51);
  if (*rc::gen::arbitrary<bool>()) {
    out.pfc.value.watchdog.said = true;
    out.pfc.value.watchdog.value.detection_time =
        written(Duration{*rc::gen::inRange<std::int64_t>(0, 400'000'000)}, 52);
  }
  out.congestion_control = written(*rc::gen::element(CongestionControl::dcqcn, CongestionControl::none), 51);
  const int classes = *rc::gen::inRange(0, 5);
  for (int i = 0; i < classes; ++i) {
    TrafficClass one;
    one.at = {1, 60, 1};
    one.name = written<std::string>(*rc::gen::element<std::string>("rdma", "cnp", "default"), 60);
    one.dscp.push_back(written(*rc::gen::inRange<std::uint8_t>(0, 64), 61));
    one.priority = written(*rc::gen::inRange<std::uint8_t>(0, 8), 62);
    one.tc = written(*rc::gen::inRange<std::uint8_t>(0, 8), 63);
    one.lossless = written(*rc::gen::arbitrary<bool>(), 64);
    one.scheduling = written(*rc::gen::element(Scheduling::dwrr, Scheduling::strict), 64);
    one.bandwidth = written(Ratio{*rc::gen::inRange<std::uint32_t>(0, 1'000'001)}, 65);
    if (*rc::gen::arbitrary<bool>()) {
      Ecn ecn;
      ecn.kmin = written(ByteCount{*rc::gen::inRange<std::uint64_t>(0, 200'000'000)}, 66);
      ecn.kmax = written(ByteCount{ecn.kmin->bytes * 2}, 67);
      one.ecn = written(ecn, 66);
    }
    out.classes.push_back(one);
  }
  return out;
}

// Either one for all, or one for each.
AsnRange any_asns(std::uint32_t first) { return {first, first + *rc::gen::element<std::uint32_t>(0, 999)}; }

Catalog any_catalog() {
  Catalog catalog;
  catalog.sources.add("any.yaml", "");
  for (const DeviceRole role :
       {DeviceRole::host, DeviceRole::leaf, DeviceRole::spine, DeviceRole::superspine}) {
    DeviceSet& set = catalog.device_sets.emplace_back();
    set.at = {1, 2 + static_cast<std::uint32_t>(role), 1};
    set.role = written(role, set.at.line);
    set.names = written<std::string>("any", set.at.line);
  }
  Fabric& fabric = catalog.fabrics.emplace_back();
  fabric.at = {1, 10, 1};
  fabric.metadata.name = written<std::string>("backend", 10);
  if (*rc::gen::inRange(0, 4) != 0) fabric.roce_profile = written<std::string>("lossless", 11);
  fabric.cabling.emplace_back().at = {1, 12, 1};
  fabric.mtu.value.host = written(*rc::gen::inRange<std::uint32_t>(0, 70'000), 13);
  fabric.mtu.value.fabric = written(*rc::gen::inRange<std::uint32_t>(0, 70'000), 14);
  fabric.routing.value.load_balancing.value.mode =
      written(*rc::gen::element(Spreading::static_hash, Spreading::flowlet, Spreading::per_packet), 15);
  fabric.routing.said = true;
  fabric.routing.at = {1, 15, 1};
  fabric.topology = written(
      *rc::gen::element(TopologyKind::leaf_spine, TopologyKind::rail_optimized, TopologyKind::rail_only), 15);
  for (const HashField field : *rc::gen::container<std::vector<HashField>>(rc::gen::element(
           HashField::src_ip, HashField::dst_ip, HashField::src_port, HashField::flow_label)))
    fabric.routing.value.load_balancing.value.hash_fields.push_back(written(field, 15));
  fabric.routing.value.protocol = written(*rc::gen::element(Protocol::bgp_unnumbered, Protocol::none), 16);
  fabric.routing.value.asn.value.leaf = written(any_asns(4'200'000'000), 17);
  fabric.routing.value.asn.value.spine = written(any_asns(4'200'100'000), 18);
  catalog.roce_profiles.push_back(any_profile());
  HostProfile& host = catalog.host_profiles.emplace_back();
  host.pcie.value.acs = written(OnOff::off, 20);
  host.nic.value.virtual_functions.value.count = written(*rc::gen::inRange<std::uint32_t>(0, 2), 21);
  host.kernel.value.parameters.push_back(
      written<std::string>(*rc::gen::element<std::string>("iommu=pt", "intel_iommu=on"), 22));
  RolloutPolicy& policy = catalog.rollout_policies.emplace_back();
  policy.min_capacity.said = true;
  policy.min_capacity.value.leaf = written(Ratio{900'000}, 30);
  policy.min_capacity.value.spine = written(Ratio{900'000}, 31);
  policy.min_capacity.value.superspine = written(Ratio{900'000}, 32);
  ValidationSuite& suite = catalog.validation_suites.emplace_back();
  suite.fabric = written<std::string>("backend", 40);
  Benchmark& benchmark = suite.benchmarks.emplace_back();
  benchmark.workload = written(
      *rc::gen::element(Workload::stream, Workload::all_to_all, Workload::ring_allreduce, Workload::incast),
      41);
  Slo& slo = benchmark.slo.emplace_back();
  slo.metric = written(*rc::gen::element(Metric::bandwidth, Metric::busbw, Metric::latency), 42);
  Bound bound;
  bound.of = Bound::Of::nominal;
  bound.ratio = Ratio{900'000};
  slo.at_least = written(bound, 43);
  return catalog;
}

TEST(Proofs, HoldOnAnyTopology) {
  EXPECT_TRUE(rc::check("any", [] {
    const Catalog catalog = any_catalog();
    SmallFabric fabric;
    const int size = *rc::gen::inRange(0, 12);
    for (int i = 0; i < size; ++i) {
      const DeviceRole role =
          *rc::gen::element(DeviceRole::host, DeviceRole::leaf, DeviceRole::spine, DeviceRole::superspine);
      TopologyDevice& device = fabric.topology.devices[fabric.add(role)];
      device.set = static_cast<std::uint32_t>(role);
      device.platform = any_platform();
    }
    const int links = size < 2 ? 0 : *rc::gen::inRange(0, 30);
    constexpr std::uint64_t kGbps = 1'000'000'000;
    for (int i = 0; i < links; ++i) {
      const auto a = static_cast<DeviceIndex>(*rc::gen::inRange(0, size));
      const auto b = static_cast<DeviceIndex>(*rc::gen::inRange(0, size));
      if (a == b) continue;
      const LinkIndex link =
          fabric.link(a, b, *rc::gen::element<std::uint64_t>(0, 7, 100 * kGbps, 800 * kGbps));
      TopologyLink& made = fabric.topology.links[link];
      made.at = {1, 12, 1};
      made.cable_length = *rc::gen::element<std::uint64_t>(0, 5'000, 5'000'000'000);
      if (fabric.topology.devices[fabric.topology.ports[made.a].device].is_switch()) made.rail = kNone;
      for (const PortIndex port : {made.a, made.b})
        fabric.topology.ports[port].rdma = *rc::gen::arbitrary<bool>();
      for (const PortIndex port : {made.a, made.b})
        fabric.topology.ports[port].platform =
            fabric.topology.devices[fabric.topology.ports[port].device].platform;
    }
    fabric.settle();
    for (const Diagnostic& one : prove(catalog, fabric.topology)) {
      RC_ASSERT(std::ranges::any_of(proof_rules(), [&](const CodeRow& row) { return row.code == one.code; }));
      RC_ASSERT(one.at.file == 1U);
    }
  }));
}

}  // namespace
}  // namespace lockstep
