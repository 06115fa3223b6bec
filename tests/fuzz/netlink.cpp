// Input from the kernel and from the wire: netlink messages and LLDP frames.
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>

#include "drivers/linux/dcb/dcbnl.hpp"
#include "drivers/linux/devlink/messages.hpp"
#include "drivers/linux/ethtool/messages.hpp"
#include "drivers/linux/ethtool/module_eeprom.hpp"
#include "drivers/linux/filters/xfrm.hpp"
#include "drivers/linux/generic_netlink.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/lldp.hpp"
#include "drivers/linux/netlink_socket.hpp"
#include "drivers/linux/queueing/class_qdiscs.hpp"
#include "drivers/linux/queueing/classify.hpp"
#include "drivers/linux/rdma/nldev.hpp"
#include "drivers/linux/traffic_control.hpp"
#include "specs/model/printable.hpp"
#include "tests/fuzz/parsers.hpp"
#include "tests/unit/linux/recorded/dcb.hpp"
#include "tests/unit/linux/recorded/devlink.hpp"
#include "tests/unit/linux/recorded/ethtool.hpp"
#include "tests/unit/linux/recorded/rdma.hpp"

namespace lockstep::fuzzing {
namespace {

using netlink::Bytes;

template <class... Decode>
void decode_by(Bytes bytes, Decode... decode) {
  ((void)decode(bytes), ...);
}

std::string text_of_hex(const std::string& hex) {
  const Buffer bytes = bytes_of(hex);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Dumps of everything that lockstep reads, from this network namespace.
std::vector<std::string> dumped() {
  std::vector<std::string> out;
  Result<netlink::Socket> socket = netlink::Socket::open(NETLINK_ROUTE);
  Result<netlink::Socket> policies = netlink::Socket::open(NETLINK_XFRM);
  if (!socket) return out;
  const Call call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5), .stop = {}};
  const auto keep = [&](const netlink::Message& message) -> Result<Done> {
    out.emplace_back(reinterpret_cast<const char*>(message.payload.data()), message.payload.size());
    return Done{};
  };
  const auto dump_by = [&](netlink::Socket& asked, std::uint16_t type, const auto& header) {
    netlink::Request request(type, NLM_F_DUMP);
    request.header(header);
    (void)asked.dump(request, call, keep, [] {});
  };
  const auto dump = [&](std::uint16_t type, const auto& header) { dump_by(*socket, type, header); };
  dump(RTM_GETLINK, ifinfomsg{});
  dump(RTM_GETADDR, ifaddrmsg{});
  dump(RTM_GETROUTE, rtmsg{});
  dump(RTM_GETRULE, rtmsg{});              // struct fib_rule_hdr has the same size
  dump(RTM_GETNEXTHOP, std::uint64_t{0});  // struct nhmsg
  dump(RTM_GETNEIGH, ndmsg{});
  dump(RTM_GETQDISC, tcmsg{});
  if (policies) dump_by(*policies, XFRM_MSG_GETPOLICY, xfrm_userpolicy_id{});
  return out;
}

}  // namespace

void parse_netlink(std::string_view input) {
  const Bytes bytes = std::as_bytes(std::span(input));
  decode_by(bytes, decode_link, decode_address, decode_route, decode_nexthop, decode_rule, decode_neighbour,
            decode_marker, decode_qdisc, decode_class, decode_filter);
  decode_by(bytes, decode_ets, decode_mqprio, decode_priority_filter, netlink::decode_groups,
            xfrm::decode_policy);
  decode_by(bytes, dcb::decode_port, dcb::decode_refusal, rdma::decode_device, rdma::decode_port);
  decode_by(bytes, devlink::decode_device, devlink::decode_port, devlink::decode_info,
            devlink::decode_parameter, devlink::decode_reporter, devlink::decode_rate, devlink::decode_buffer,
            devlink::decode_pool, devlink::decode_binding, devlink::decode_eswitch);
  decode_by(bytes, ethtool::decode_names, ethtool::decode_module, ethtool::decode_module_half);
  for (const ethtool::Kind kind :
       {ethtool::Kind::link, ethtool::Kind::fec, ethtool::Kind::rings, ethtool::Kind::channels,
        ethtool::Kind::coalescing, ethtool::Kind::pause, ethtool::Kind::features})
    (void)ethtool::decode(kind, bytes);
  netlink::MessageWalk walk(bytes);
  for (netlink::Message message; walk.next(message);) (void)netlink::decode_answer(message);
  (void)walk.finish();
  for (const unsigned flags : {0U, NLM_F_ACK_TLVS + 0U, NLM_F_ACK_TLVS + 0U + NLM_F_CAPPED})
    (void)netlink::decode_answer(netlink::Message{NLMSG_ERROR, static_cast<std::uint16_t>(flags), 1, bytes});
}

void parse_lldp(std::string_view input) {
  const Result<LldpNeighbour> neighbour = decode_lldp(std::as_bytes(std::span(input)));
  if (!neighbour) return;
  const std::string shown = neighbour->text();
  must(printable(shown) == shown, "what is shown of a neighbour is printable");
}

std::vector<std::string> seeds_of_netlink() {
  std::vector<std::string> out = dumped();
  namespace d = recorded::devlink;
  namespace e = recorded::ethtool;
  for (const std::string& hex : {recorded::dcb::kPort,
                                 recorded::dcb::kRefused,
                                 recorded::rdma::kDevice,
                                 recorded::rdma::kPort,
                                 d::kPort,
                                 d::kFunctionPort,
                                 d::kInfo,
                                 d::kMaxMacs,
                                 d::kTest1,
                                 d::kInError,
                                 d::kRate,
                                 d::kEswitch,
                                 d::kBuffer,
                                 d::kPool,
                                 d::kBinding,
                                 e::kLink,
                                 e::kFec,
                                 e::kRings,
                                 e::kChannels,
                                 e::kCoalescing,
                                 e::kPause,
                                 e::kFeatures,
                                 e::kFeatureNames,
                                 e::kModuleLower,
                                 e::kModulePage})
    out.push_back(text_of_hex(hex));
  return out;
}

std::vector<std::string> seeds_of_lldp() {
  return {text_of_hex("020704525400123456"      // chassis: MAC
                      "040703525400123457"      // port: MAC
                      "06020078"                // 120 s
                      "0a056c65616630"          // system name: leaf0
                      "080473777031"            // port description: swp1
                      "fe0600120f0103010000"),  // 802.3, end
          text_of_hex("0205076770753104060572"
                      "61696c30060200010000")};
}

}  // namespace lockstep::fuzzing
