// Rows to the kernel and to bgpd, without either.
#include <gtest/gtest.h>

#include <algorithm>

#include "reconciler/sonic_stand_in/kernel_rows.hpp"
#include "reconciler/sonic_stand_in/obeyed_rows.hpp"
#include "reconciler/sonic_stand_in/speaker_rows.hpp"

namespace lockstep::sonic {
namespace {

using Words = std::vector<std::string>;

ConfigDb parsed(const char* json) {
  const auto config = parse_config_db(json);
  if (!config) throw std::runtime_error(config.error().text());
  return *config;
}

Link link(std::uint32_t index, const char* name, std::uint32_t mtu, bool up) {
  Link out;
  out.index = index;
  out.name = name;
  out.kind = "veth";
  out.mtu = mtu;
  out.admin_up = up;
  return out;
}

InterfaceAddress address(std::uint32_t index, const char* prefix, std::uint8_t scope = 0) {
  return {.index = index, .prefix = *IpPrefix::parse(prefix), .scope = scope};
}

Words acts(const ConfigDb& rows, const NetworkState& have, Words* cannot = nullptr) {
  Words notes;
  Words out;
  for (const KernelAct& act : kernel_acts(wanted_links(rows, notes), have)) out.push_back(act.text());
  if (cannot != nullptr) *cannot = notes;
  return out;
}

TEST(KernelRows, BringLinksAndAddressesAndUpLast) {
  const ConfigDb rows = parsed(R"({
    "PORT": {"swp1": {"mtu": "9000", "admin_status": "up"}, "swp2": {"mtu": "9100"}, "swp9": {"mtu": "9100"}},
    "INTERFACE": {"swp1": {}, "swp1|10.0.0.0/31": {}, "swp1|fd00::1/64": {}},
    "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.255.0.1/32": {}}})");
  NetworkState have;
  have.links = {link(1, "lo", 65536, false), link(2, "swp1", 1500, false), link(3, "swp2", 9100, true),
                link(4, "mgmt0", 1500, true)};
  have.addresses = {address(1, "127.0.0.1/8", 254), address(2, "192.0.2.1/31"), address(2, "fe80::1/64", 253),
                    address(4, "10.1.1.1/24")};
  EXPECT_EQ(acts(rows, have),
            (Words{"ip link set swp1 mtu 9000", "ip address del 192.0.2.1/31 dev swp1",
                   "ip address add 10.255.0.1/32 dev lo", "ip address add 10.0.0.0/31 dev swp1",
                   "ip address add fd00::1/64 dev swp1", "ip link set lo up", "ip link set swp1 up",
                   "ip link set swp2 down"}));
  have.links = {link(1, "lo", 65536, true), link(2, "swp1", 9000, true), link(3, "swp2", 9100, false)};
  have.addresses = {address(1, "10.255.0.1/32"), address(2, "10.0.0.0/31"), address(2, "fd00::1/64"),
                    address(2, "fe80::1/64", 253)};
  EXPECT_EQ(acts(rows, have), Words());
}

TEST(KernelRows, WhatSaysNothingUsableIsNamedAndTheRestIsCarried) {
  Words cannot;
  NetworkState have;
  have.links = {link(1, "lo", 65536, true), link(2, "swp1", 1500, false)};
  EXPECT_EQ(acts(parsed(R"({"PORT": {"swp1": {"mtu": "9k", "admin_status": "up"}},
    "INTERFACE": {"swp1|10.0.0.300/31": {}, "swp7|10.0.0.2/31": {}}})"),
                 have, &cannot),
            (Words{"ip link set swp1 up"}));
  EXPECT_EQ(cannot, (Words{"PORT|swp1: mtu is no number",
                           "INTERFACE|swp1|10.0.0.300/31: is no address with its prefix length",
                           "INTERFACE|swp7|10.0.0.2/31: there is no such port"}));
}

TEST(ObeyedRows, IgnoreTablesAndRowsWithWhatHangsOnThem) {
  const ConfigDb carried = parsed(R"({"INTERFACE": {"swp1": {}, "swp1|10.0.0.0/31": {}},
    "PORT": {"swp1": {"mtu": "9100"}, "swp2": {"mtu": "9100"}}})");
  const ConfigDb now = parsed(R"({"INTERFACE": {"swp1": {}, "swp10|10.0.0.4/31": {}, "swp1|10.0.0.2/31": {}},
    "PORT": {"swp1": {"mtu": "1500", "admin_status": "up"}, "swp2": {"mtu": "1500", "admin_status": "up"}}})");
  EXPECT_EQ(obeyed_rows(now, carried, {}), now);
  const ConfigDb port = obeyed_rows(now, carried, {.ignores = {"INTERFACE|swp1", "PORT"}});
  EXPECT_EQ(port, parsed(R"({"INTERFACE": {"swp1": {}, "swp10|10.0.0.4/31": {}, "swp1|10.0.0.0/31": {}},
    "PORT": {"swp1": {"mtu": "9100"}, "swp2": {"mtu": "9100"}}})"));
  const ConfigDb down = obeyed_rows(now, carried, {.reports_up = {"swp2", "swp7"}});
  EXPECT_EQ(std::get<std::string>(down.find("PORT", "swp2")->at("admin_status")), "down");
  EXPECT_EQ(std::get<std::string>(down.find("PORT", "swp1")->at("admin_status")), "up");
  EXPECT_EQ(down.find("PORT", "swp7"), nullptr);
}

constexpr const char* kSpeaker = R"({
  "BGP_GLOBALS": {"default": {"local_asn": "65001", "router_id": "10.255.0.1", "load_balance_mp_relax": "true"}},
  "BGP_GLOBALS_AF": {"default|ipv4_unicast": {"max_ebgp_paths": "8"}},
  "BGP_GLOBALS_AF_AGGREGATE_ADDR": {"default|ipv4_unicast|10.64.0.0/25": {"summary_only": "true"}},
  "BGP_NEIGHBOR": {"default|up0": {"peer_type": "external", "holdtime": "9", "keepalive": "3"},
                   "default|up1": {"asn": "65002", "admin_status": "down"}, "Vrf1|up2": {}},
  "BGP_NEIGHBOR_AF": {"default|up0|ipv4_unicast": {"admin_status": "up"}},
  "ROUTE_REDISTRIBUTE": {"default|connected|bgp|ipv4": {}, "default|static|bgp|ipv6": {}}})";

frr::State speaking(const std::string& running) {
  frr::State out;
  out.bgp.emplace();
  const auto config = frr::parse_running_config("frr version 8.4.4\nfrr defaults datacenter\n" + running);
  if (!config) throw std::runtime_error(config.error().text());
  out.bgp->config = *config;
  out.bgp->max_paths_default = 256;
  out.bgp->speaker = frr::speaker_of(*config, out.bgp->max_paths_default);
  return out;
}

Words lines(const ConfigDb& rows, const frr::State& have, Words* cannot = nullptr) {
  Words notes;
  const auto out = speaker_lines(rows, have, notes);
  if (cannot != nullptr) *cannot = notes;
  Words said;
  if (!out) return {out.error().text()};
  for (const frr::Step& step : out->steps) {
    std::string line;
    for (const std::string& block : step.context) line += block + " / ";
    said.push_back(line + step.line);
  }
  return said;
}

bool has(const Words& lines, const std::string& line) {
  return std::ranges::find(lines, line) != lines.end();
}

TEST(SpeakerRows, NeighborsExchangeRoutesOnlyWhereTheirFamilySaysSo) {
  const Words all = lines(parsed(kSpeaker), speaking(""));
  EXPECT_EQ(all.front(), "router bgp 65001");
  for (const char* const line :
       {"router bgp 65001 / bgp router-id 10.255.0.1",
        "router bgp 65001 / neighbor up0 interface remote-as external",
        "router bgp 65001 / neighbor up1 interface remote-as 65002",
        "router bgp 65001 / neighbor up1 shutdown", "router bgp 65001 / neighbor up0 timers 3 9",
        "router bgp 65001 / address-family ipv4 unicast / maximum-paths 8",
        "router bgp 65001 / address-family ipv4 unicast / redistribute connected",
        "router bgp 65001 / address-family ipv4 unicast / aggregate-address 10.64.0.0/25 summary-only"})
    EXPECT_TRUE(has(all, line)) << line;
  EXPECT_EQ(all.back(), "router bgp 65001 / address-family ipv4 unicast / no neighbor up1 activate");
  EXPECT_FALSE(has(all, "router bgp 65001 / address-family ipv4 unicast / no neighbor up0 activate"));
  for (const std::string& line : all) EXPECT_EQ(line.find("up2"), line.npos) << "of another VRF: " << line;
}

// What bgpd 8.4.4 prints when it has these rows.
constexpr const char* kRunning =
    "router bgp 65001\n bgp router-id 10.255.0.1\n bgp bestpath as-path multipath-relax\n"
    " neighbor up0 interface remote-as external\n neighbor up0 timers 3 9\n"
    " neighbor up1 interface remote-as 65002\n neighbor up1 shutdown\n"
    " !\n address-family ipv4 unicast\n  redistribute connected\n"
    "  aggregate-address 10.64.0.0/25 summary-only\n  no neighbor up1 activate\n  maximum-paths 8\n"
    " exit-address-family\nexit\n";

TEST(SpeakerRows, WhatIsSoTakesNoLineAndWhatNoRowWantsGoes) {
  EXPECT_EQ(lines(parsed(kSpeaker), speaking(kRunning)), Words());
  ConfigDb fewer = parsed(kSpeaker);
  fewer.tables["BGP_NEIGHBOR"].erase("default|up1");
  fewer.tables.erase("ROUTE_REDISTRIBUTE");
  fewer.tables["BGP_NEIGHBOR_AF"].clear();
  EXPECT_EQ(lines(fewer, speaking(kRunning)),
            (Words{"router bgp 65001 / no neighbor up1 interface",
                   "router bgp 65001 / address-family ipv4 unicast / no redistribute connected",
                   "router bgp 65001 / address-family ipv4 unicast / no neighbor up0 activate"}));
  fewer.tables.erase("BGP_GLOBALS");
  EXPECT_EQ(lines(fewer, speaking(kRunning)), (Words{"no router bgp 65001"}));
  EXPECT_EQ(lines(fewer, speaking("")), Words());
}

TEST(SpeakerRows, NoRowSaysMoreThanOneWordToBgpd) {
  Words cannot;
  const Words all = lines(parsed(R"({
    "BGP_GLOBALS": {"default": {"local_asn": "65001", "router_id": "1.1.1.1 x"}},
    "BGP_GLOBALS_AF": {"default|ipv4_unicast": {"max_ebgp_paths": "8 x"}},
    "BGP_NEIGHBOR": {"default|up0 shutdown": {}, "default|up1": {"asn": "1\nend", "holdtime": "9 x"},
                     "default|10.0.0.1": {"asn": "65002"}},
    "ROUTE_REDISTRIBUTE": {"default|connected route-map x|bgp|ipv4": {}}})"),
                          speaking(""), &cannot);
  EXPECT_EQ(
      cannot,
      (Words{"BGP_GLOBALS|default: router_id is no word",
             "BGP_GLOBALS_AF|default|ipv4_unicast: max_ebgp_paths is no number",
             "BGP_NEIGHBOR|default|10.0.0.1: numbered neighbors are not carried",
             "BGP_NEIGHBOR|default|up0 shutdown: is no interface", "BGP_NEIGHBOR|default|up1: asn is no word",
             "BGP_NEIGHBOR|default|up1: a timer is no number", "'connected route-map x' of BGP is no word"}));
  EXPECT_TRUE(has(all, "router bgp 65001 / neighbor up1 interface"));
  for (const std::string& line : all) {
    EXPECT_EQ(line.find(" x"), line.npos) << line;
    EXPECT_EQ(line.find('\n'), line.npos) << line;
  }
  EXPECT_EQ(lines(parsed(R"({"BGP_GLOBALS": {"default": {"local_asn": "1 x"}}})"), speaking("")), Words());
}

}  // namespace
}  // namespace lockstep::sonic
