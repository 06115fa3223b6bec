#include "drivers/linux/diversion/words.hpp"

#include <linux/fib_rules.h>
#include <linux/lwtunnel.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "drivers/linux/route_extras.hpp"

namespace lockstep::diversion {
namespace {

struct Word {
  std::uint32_t number;
  const char* text;
};

// linux/rtnetlink.h; 196 is FRR's static routes (zebra/rt_netlink.h, RTPROT_ZSTATIC).
constexpr Word kProtocols[] = {{RTPROT_KERNEL, "kernel"}, {RTPROT_BOOT, "boot"},   {RTPROT_STATIC, "static"},
                               {RTPROT_RA, "ra"},         {RTPROT_ZEBRA, "zebra"}, {RTPROT_BIRD, "bird"},
                               {RTPROT_DHCP, "dhcp"},     {RTPROT_BGP, "bgp"},     {RTPROT_ISIS, "isis"},
                               {RTPROT_OSPF, "ospf"},     {RTPROT_RIP, "rip"},     {196, "zebra-static"}};
constexpr Word kTypes[] = {
    {RTN_LOCAL, "local "},         {RTN_BROADCAST, "broadcast "}, {RTN_ANYCAST, "anycast "},
    {RTN_MULTICAST, "multicast "}, {RTN_BLACKHOLE, "blackhole "}, {RTN_UNREACHABLE, "unreachable "},
    {RTN_PROHIBIT, "prohibit "},   {RTN_THROW, "throw "},         {RTN_NAT, "nat "}};
constexpr Word kEncapsulations[] = {{LWTUNNEL_ENCAP_MPLS, "mpls"},
                                    {LWTUNNEL_ENCAP_ILA, "ila"},
                                    {LWTUNNEL_ENCAP_SEG6, "seg6"},
                                    {LWTUNNEL_ENCAP_BPF, "bpf"},
                                    {LWTUNNEL_ENCAP_SEG6_LOCAL, "seg6local"}};
constexpr Word kTables[] = {
    {RT_TABLE_MAIN, "main"}, {RT_TABLE_DEFAULT, "default"}, {RT_TABLE_LOCAL, "local"}};
constexpr Word kActions[] = {{FR_ACT_NOP, "nop"},
                             {FR_ACT_BLACKHOLE, "blackhole"},
                             {FR_ACT_UNREACHABLE, "unreachable"},
                             {FR_ACT_PROHIBIT, "prohibit"}};

template <std::size_t N>
std::string word(const Word (&words)[N], std::uint32_t number, std::string otherwise) {
  for (const Word& one : words)
    if (one.number == number) return one.text;
  return otherwise;
}

std::string range_text(const char* what, const std::optional<PortRange>& range) {
  if (!range) return "";
  const std::string first = std::to_string(range->first);
  if (range->mask != 0) return what + first + "/" + std::to_string(range->mask);
  return what + (range->first == range->last ? first : first + "-" + std::to_string(range->last));
}

std::string protocol_text(std::uint8_t number) {
  static constexpr Word kIpProtocols[] = {{IPPROTO_TCP, "tcp"}, {IPPROTO_UDP, "udp"}};
  return number == 0 ? "" : " ipproto " + word(kIpProtocols, number, std::to_string(number));
}

}  // namespace

std::string text_of(const Route& route, const NetworkState& network) {
  std::string out = word(kTypes, route.type, "") + route.destination.text() + tos_text(route.tos);
  for (const NextHop& hop : route.hops) {
    if (hop.encapsulation != 0) out += " encap " + word(kEncapsulations, hop.encapsulation, "?");
    if (hop.gateway) out += " via " + hop.gateway->text();
    const Link* const link = network.link(hop.index);
    out += " dev " + (link != nullptr ? link->name : "#" + std::to_string(hop.index));
    if (hop.weight != 1) out += " weight " + std::to_string(hop.weight);
  }
  out += " proto " + word(kProtocols, route.protocol, std::to_string(route.protocol));
  if (route.mtu != 0) out += (route.mtu_locked ? " mtu lock " : " mtu ") + std::to_string(route.mtu);
  out += metric_words(route);
  if (route.metric != 0) out += " metric " + std::to_string(route.metric);
  if (route.table != RT_TABLE_MAIN)
    out += " table " + word(kTables, route.table, std::to_string(route.table));
  return out;
}

std::string text_of(const Rule& rule) {
  std::string out = "rule " + std::to_string(rule.priority) + ":" + (rule.inverted ? " not" : "");
  out += " from " + (rule.from ? rule.from->text() : "all");
  if (rule.to) out += " to " + rule.to->text();
  if (!rule.iif.empty()) out += " iif " + rule.iif;
  if (!rule.oif.empty()) out += " oif " + rule.oif;
  out += tos_text(rule.tos);
  if (rule.dscp) out += " dscp " + std::to_string(*rule.dscp);
  if (rule.mark) out += " fwmark " + std::to_string(*rule.mark);
  if (rule.users)
    out += " uidrange " + std::to_string(rule.users->first) + "-" + std::to_string(rule.users->last);
  out += protocol_text(rule.ip_protocol) + range_text(" sport ", rule.source_ports) +
         range_text(" dport ", rule.destination_ports);
  if (rule.action == FR_ACT_GOTO) return out + " goto " + std::to_string(rule.target);
  if (rule.action != FR_ACT_TO_TBL)
    return out + " " + word(kActions, rule.action, "action " + std::to_string(rule.action));
  out += " lookup " + word(kTables, rule.table, std::to_string(rule.table));
  if (rule.suppressed_length) out += " suppress_prefixlength " + std::to_string(*rule.suppressed_length);
  return out;
}

std::string text_of(const Question& question, const NetworkState& network) {
  std::string out = question.to.text();
  if (question.from) out += " from " + question.from->text();
  const Link* const in = network.link(question.arrives_on);
  if (in != nullptr) out += " iif " + in->name;
  out += tos_text(question.tos) + protocol_text(question.ip_protocol);
  if (question.source_port != 0) out += " sport " + std::to_string(question.source_port);
  if (question.destination_port != 0) out += " dport " + std::to_string(question.destination_port);
  return out;
}

// net/ipv4/route.c, net/ipv6/route.c: routes and rules that end packets return these errors too.
std::string text_of_refusal(int code) {
  if (code == ENETUNREACH) return "the kernel has no route";
  return std::generic_category().message(code);
}

}  // namespace lockstep::diversion
