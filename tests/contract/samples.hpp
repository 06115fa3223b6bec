// What the contract suite knows about a row: the path of one entry, two valid values, and its prerequisites.
// A row that some driver writes and that is missing here fails the suite.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "specs/model/value.hpp"

namespace lockstep::contract {

struct Sample {
  std::string entry;
  Value first;
  Value second = {};  // none: a row that is only present or absent
  std::vector<std::pair<std::string, Value>> before = {};
  // The rest of the commit unit: in the same change set, with the first and with the second value.
  std::vector<std::pair<std::string, Value>> together = {};
  std::vector<std::pair<std::string, Value>> with_second = {};
};

// A row of the schema that no driver of a real device supports.
struct NoDriverYet {
  std::string_view pattern;  // a whole pattern, or its start when it ends in '/' or '['
  std::string_view why;
};

inline constexpr std::string_view kAppliance = "a switch operating system's own; no driver of one is here";
inline constexpr std::string_view kHardware =
    "needs a NIC or switch port that has it; the linux driver tells";
inline constexpr std::string_view kByHand =
    "read and compared; installed by hand, and the linux driver says what is there";
inline constexpr NoDriverYet kNoDriverYet[] = {
    {"bond[", kAppliance},
    {"firmware[", kByHand},
    {"gpu/driver", kByHand},
    {"interface[*]/autoneg", kHardware},
    {"interface[*]/breakout", kAppliance},
    {"buffer-headroom", kAppliance},
    {"counter-group[", kAppliance},
    {"buffer-pool[", kAppliance},
    {"interface[*]/buffer[", kHardware},
    {"interface[*]/setting[", kHardware},
    {"interface[*]/cable-length", kHardware},
    {"interface[*]/channels[", kHardware},
    {"interface[*]/class[*]/ecn-", "needs RED; the linux driver tells where the kernel has none"},
    {"interface[*]/class[*]/priority", "needs ETS, or a port that has it; the linux driver tells"},
    {"interface[*]/coalescing/", kHardware},
    {"interface[*]/dcbx", kHardware},
    {"interface[*]/ecn-threshold", "for kernels without RED; the linux driver tells where there is one"},
    {"interface[*]/eswitch", kHardware},
    {"interface[*]/fec", kHardware},
    {"interface[*]/health", kHardware},
    {"interface[*]/parameter[", kHardware},
    {"interface[*]/pause", kHardware},
    {"interface[*]/pfc", kHardware},
    {"interface[*]/ring[", kHardware},
    {"interface[*]/speed", kHardware},
    {"interface[*]/trust", kHardware},
    {"interface[*]/virtual-function", kHardware},
    {"interface[*]/vlans", kAppliance},
    {"interface[*]/vrf", kAppliance},
    {"kernel/parameter[", kByHand},
    {"kernel/version", kByHand},
    {"load-balancing/", kAppliance},
    {"pfc-watchdog/", kAppliance},
    {"package[", kByHand},
    {"raw[", "what the language can't say: each driver would have its own"},
    {"service[", "where there is no bus to have a systemd on: a machine without dbus-daemon"},
    {"vlan[", kAppliance},
    {"vrf[", kAppliance},
};

inline std::vector<Sample> samples() {
  const auto text = [](std::string_view one) { return Value::text(one); };
  const auto number = [](std::int64_t one) { return Value::integer(one); };
  const auto set = [](std::vector<std::string> some) { return Value::set(std::move(some)); };
  const Value yes = Value::boolean(true);
  const Value no = Value::boolean(false);
  const Value there = Value::present();
  const std::vector<std::pair<std::string, Value>> profile = {{"bfd-profile[fast]", there}};
  const std::vector<std::pair<std::string, Value>> speaker = {{"bgp", there}, {"bgp/asn", number(65001)}};
  std::vector<std::pair<std::string, Value>> neighbor = speaker;
  neighbor.insert(neighbor.end(),
                  {{"bgp/neighbor[up0]", there}, {"bgp/neighbor[up0]/remote-as", text("external")}});
  // A keepalive of at most a third of each hold time: FRR lowers a larger one (bgpd, RFC 4271 section 10).
  auto timed = neighbor;
  timed.push_back({"bgp/neighbor[up0]/keepalive", number(3)});
  const std::vector<std::pair<std::string, Value>> up = {{"interface[rail0]/address[10.64.0.1/31]", there},
                                                         {"interface[rail0]/admin", yes}};
  std::vector<std::pair<std::string, Value>> pool_route = up;
  pool_route.emplace_back("route[main:10.64.0.0/16]", set({"via 10.64.0.0 dev rail0"}));
  const std::vector<std::pair<std::string, Value>> rate = {{"interface[rail0]/rate", number(1'000'000'000)}};
  std::vector<std::pair<std::string, Value>> one_class = rate;
  // 802.1Qaz: shares add up to 100 %, so the share of one class changes that of another.
  one_class.insert(one_class.end(), {{"interface[rail0]/class[0]", there},
                                     {"interface[rail0]/class[0]/share", number(500)},
                                     {"interface[rail0]/class[0]/strict", no},
                                     {"interface[rail0]/class[3]", there},
                                     {"interface[rail0]/class[3]/share", number(500)},
                                     {"interface[rail0]/class[3]/strict", no}});
  const auto other_share = [&](std::int64_t share) {
    return std::vector<std::pair<std::string, Value>>{{"interface[rail0]/class[0]/share", number(share)}};
  };
  // ETS does not limit the rate of classes with a share.
  std::vector<std::pair<std::string, Value>> strict_class = rate;
  strict_class.insert(strict_class.end(), {{"interface[rail0]/class[0]", there},
                                           {"interface[rail0]/class[0]/share", number(1000)},
                                           {"interface[rail0]/class[0]/strict", no},
                                           {"interface[rail0]/class[3]", there},
                                           {"interface[rail0]/class[3]/strict", yes}});
  // A buffer is one profile of a switch.
  const std::vector<std::pair<std::string, Value>> buffer = {
      {"interface[rail0]/buffer[3]/dynamic-threshold", number(1)},
      {"interface[rail0]/buffer[3]/size", number(131072)},
      {"interface[rail0]/buffer[3]/xoff", number(32768)}};
  const std::pair<std::string, Value> ecn_max{"interface[rail0]/class[3]/ecn-max", number(400000)};
  const std::pair<std::string, Value> ecn_min{"interface[rail0]/class[3]/ecn-min", number(100000)};
  const std::pair<std::string, Value> ecn_probability{"interface[rail0]/class[3]/ecn-probability",
                                                      number(50)};
  return {
      {"bfd-profile[fast]", there},
      {"bfd-profile[fast]/multiplier", number(5), number(4), profile},
      {"bfd-profile[fast]/receive-interval", number(100), number(250), profile},
      {"bfd-profile[fast]/transmit-interval", number(100), number(250), profile},
      {"bgp", there, {}, {}, {{"bgp/asn", number(65001)}}},
      {"bgp/aggregate[10.64.0.0/16]", there, {}, speaker},
      {"bgp/asn", number(65002), number(65003), speaker},
      {"bgp/graceful-shutdown", yes, no, speaker},
      {"bgp/max-paths", number(8), number(32), speaker},
      {"bgp/multipath-relax", yes, no, speaker},
      {"bgp/neighbor[up0]", there, {}, speaker},
      {"bgp/neighbor[up0]/bfd", text("fast"), text("slow"), neighbor},
      {"bgp/neighbor[up0]/hold", number(30), number(12), timed},
      {"bgp/neighbor[up0]/keepalive", number(2), number(4), neighbor},
      {"bgp/neighbor[up0]/remote-as", text("internal"), text("65099"), neighbor},
      {"bgp/neighbor[up0]/shutdown", yes, no, neighbor},
      {"bgp/redistribute[connected]", there, {}, speaker},
      {"bgp/router-id", text("10.0.0.2"), text("10.0.0.3"), speaker},
      {"bond[bond0]", there},
      {"bond[bond0]/lacp-rate", text("fast"), text("slow"), {{"bond[bond0]", there}}},
      {"bond[bond0]/members", set({"rail0"}), set({"rail0", "rail1"}), {{"bond[bond0]", there}}},
      {"bond[bond0]/min-links", number(1), number(2), {{"bond[bond0]", there}}},
      {"bond[bond0]/mode", text("802.3ad"), text("active-backup"), {{"bond[bond0]", there}}},
      {"bond[bond0]/segment", number(1), number(2), {{"bond[bond0]", there}}},
      {"bond[bond0]/system-mac",
       text("02:00:00:00:00:01"),
       text("02:00:00:00:00:02"),
       {{"bond[bond0]", there}}},
      {"counter-group[queue-ecn]", there},
      {"counter-group[queue-ecn]/interval",
       number(5000),
       number(1000),
       {{"counter-group[queue-ecn]", there}}},
      {"cpu/governor", text("performance"), text("powersave")},
      {"cpu/irq-affinity", text("numa-local"), text("spread")},
      {"firmware[nic0]", text("28.39.1002"), text("28.40.1000")},
      {"gpu/driver", text(">=550"), text(">=560")},
      {"gpu/ecc", yes, no},
      {"gpu/persistence", yes, no},
      {"interface[rail0]/address[10.64.0.1/31]", there},
      {"interface[rail0]/admin", yes, no},
      {"interface[rail0]/autoneg", yes, no},
      {"interface[rail0]/breakout", text("2x200G"), text("4x100G")},
      {"buffer-headroom", number(49'418'240), number(24'000'000)},
      {"buffer-pool[headroom]/share", number(240), number(100)},
      {"interface[rail0]/buffer[3]", there, {}, {}, buffer},
      {"interface[rail0]/buffer[3]/dynamic-threshold", number(-1), number(-3), buffer},
      {"interface[rail0]/buffer[3]/size", number(262144), number(524288), buffer},
      {"interface[rail0]/buffer[3]/xon", number(18432), number(9216), buffer},
      {"interface[rail0]/buffer[3]/xon-offset", number(3556), number(9144), buffer},
      {"interface[rail0]/buffer[3]/xoff", number(65536), number(131072), buffer},
      {"interface[rail0]/cable-length", number(7), number(30)},
      {"interface[rail0]/channels[combined]", number(2), number(4)},
      {"interface[rail0]/class[3]", there, {}, rate},
      {"interface[rail0]/class[3]/dscp", set({"26"}), set({"26", "28"}), one_class},
      {"interface[rail0]/class[3]/ecn-max",
       number(400000),
       number(800000),
       one_class,
       {ecn_min, ecn_probability}},
      {"interface[rail0]/class[3]/ecn-min",
       number(100000),
       number(200000),
       one_class,
       {ecn_max, ecn_probability}},
      {"interface[rail0]/class[3]/ecn-probability", number(50), number(100), one_class, {ecn_max, ecn_min}},
      {"interface[rail0]/class[3]/max-rate", number(500'000'000), number(250'000'000), strict_class},
      {"interface[rail0]/class[3]/priority", set({"3"}), set({"3", "4"}), one_class},
      {"interface[rail0]/class[3]/share", number(300), number(400), one_class, other_share(700),
       other_share(600)},
      {"interface[rail0]/class[3]/strict", yes, no, one_class, other_share(1000)},
      {"interface[rail0]/cnp-dscp", number(48), number(46)},
      {"interface[rail0]/cnp-priority", number(6), number(7)},
      {"interface[rail0]/coalescing/adaptive[rx]", yes, no},
      {"interface[rail0]/coalescing/frames[rx]", number(32), number(64)},
      {"interface[rail0]/coalescing/time[rx]", number(16), number(8)},
      {"interface[rail0]/congestion-control", text("none"), text("dcqcn")},
      {"interface[rail0]/dcbx", text("host ieee static"), text("lld-managed ieee")},
      {"interface[rail0]/dcqcn/additive-increase", number(5), number(20)},
      {"interface[rail0]/dcqcn/alpha-gain", number(1019), number(1000)},
      {"interface[rail0]/dcqcn/alpha-timer", number(1), number(2)},
      {"interface[rail0]/dcqcn/byte-reset", number(32767), number(0)},
      {"interface[rail0]/dcqcn/clamp-target-rate", yes, no},
      {"interface[rail0]/dcqcn/clamp-target-rate-after-timer", yes, no},
      {"interface[rail0]/dcqcn/cnp-interval", number(4), number(2)},
      {"interface[rail0]/dcqcn/fast-recovery-steps", number(1), number(5)},
      {"interface[rail0]/dcqcn/hyper-increase", number(50), number(200)},
      {"interface[rail0]/dcqcn/initial-alpha", number(1023), number(512)},
      {"interface[rail0]/dcqcn/max-rate", number(0), number(400000)},
      {"interface[rail0]/dcqcn/min-decrease", number(50), number(80)},
      {"interface[rail0]/dcqcn/min-rate", number(1), number(10)},
      {"interface[rail0]/dcqcn/rate-on-first-cnp", number(0), number(1000)},
      {"interface[rail0]/dcqcn/rate-reduce-period", number(4), number(8)},
      {"interface[rail0]/dcqcn/reduction-shift", number(11), number(10)},
      {"interface[rail0]/dcqcn/time-reset", number(300), number(100)},
      {"interface[rail0]/ecn-threshold", number(100000), number(200000), rate},
      {"interface[rail0]/eswitch", text("switchdev"), text("legacy")},
      {"interface[rail0]/fec", text("rs"), text("off")},
      {"interface[rail0]/mtu", number(9000), number(4200)},
      {"interface[rail0]/offload[tso]", no, yes},
      {"interface[rail0]/parameter[max_macs]", text("64"), text("32")},
      {"interface[rail0]/pause", yes, no},
      {"interface[rail0]/pfc", set({"3"}), set({"3", "4"})},
      {"interface[rail0]/pfc-asymmetric", yes, no},
      {"interface[rail0]/pfc-watchdog/action", text("drop"), text("forward")},
      {"interface[rail0]/pfc-watchdog/detection-time", number(200), number(400)},
      {"interface[rail0]/pfc-watchdog/restoration-time", number(200), number(400)},
      {"interface[rail0]/rate", number(1'000'000'000), number(2'000'000'000)},
      {"interface[rail0]/ring[rx]", number(2048), number(512)},
      {"interface[rail0]/roce-tos", number(106), number(104)},
      {"interface[rail0]/setting[SRIOV_EN]", text("true"), text("false")},
      {"interface[rail0]/speed", number(100000), number(400000)},
      {"interface[rail0]/trust",
       text("dscp"),
       text("pcp"),
       {},
       {{"interface[rail0]/class[3]/dscp", set({"26"})}},
       {{"interface[rail0]/class[3]/dscp", Value{}}}},
      {"interface[rail0]/virtual-function[0]/max-rate", number(1'000'000'000), number(2'000'000'000)},
      {"interface[rail0]/virtual-functions", number(2), number(4)},
      {"interface[rail0]/vlans", set({"10"}), set({"10", "20"})},
      {"interface[rail0]/vrf", text("red"), text("blue"), {{"vrf[red]", there}, {"vrf[blue]", there}}},
      {"kernel/module[rdma_ucm]", there},
      {"kernel/parameter[iommu=pt]", there},
      {"kernel/version", text(">=6.1"), text(">=6.8")},
      {"load-balancing/flowlet-entries", number(2048), number(256)},
      {"load-balancing/flowlet-inactivity", number(256), number(16)},
      {"load-balancing/hash-fields", set({"src-ip"}), set({"dst-ip", "src-ip"})},
      {"load-balancing/link-utilization", number(700), number(500)},
      {"load-balancing/mode", text("static"), text("flowlet")},
      {"load-balancing/seed", number(7), number(9)},
      {"pfc-watchdog/poll-interval", number(200), number(400)},
      {"memlock", text("unlimited"), text("1048576")},
      {"nccl/adaptive-routing", yes, no},
      {"nccl/cross-nic", text("avoid"), text("never")},
      {"nccl/gid-index", number(3), number(-1)},
      {"nccl/hca", set({"rail0"}), set({"rail0", "rail1"})},
      {"nccl/qps-per-connection", number(4), number(1)},
      {"nccl/service-level", number(0), number(3)},
      {"nccl/split-data-on-qps", yes, no},
      {"nccl/traffic-class", number(106), number(104)},
      {"package[rdma-core]", text(">=50"), text(">=52")},
      {"pcie/acs", no, yes},
      {"pcie/max-read-request", number(4096), number(512)},
      {"raw[sonic][VLAN|Vlan20 vlanid]", text("20"), text("21")},
      {"route-mtu[10.64.0.0/16]", text("mtu lock 1400"), text("mtu lock 1300"), pool_route},
      {"route[100:0.0.0.0/0]", set({"via 10.64.0.0 dev rail0"}), set({"dev rail0"}), up},
      {"routing-config/saved", there},
      {"rule[1000]", text("from 10.64.0.1/32 lookup 100"), text("from 10.64.0.1/32 lookup 101")},
      {"service[lldpd]", text("running"), text("stopped")},
      {"switch-config/saved", there},
      {"sysctl[net.ipv4.conf.rail0.rp_filter]", text("2"), text("1")},
      {"vlan[10]", there},
      {"vlan[10]/gateway", text("10.10.0.1/24"), text("10.10.0.2/24"), {{"vlan[10]", there}}},
      {"vlan[10]/name", text("storage"), text("tenant"), {{"vlan[10]", there}}},
      {"vrf[red]", there},
  };
}

}  // namespace lockstep::contract
