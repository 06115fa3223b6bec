// Decoders against truncated and mutated bytes of the kernel: they return an answer or an Error and have no
// undefined behaviour (run under ASan and UBSan). The bytes are dumped from a namespace of this machine; the
// mutations are seeded.
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <functional>
#include <limits>
#include <random>

#include "drivers/linux/ethtool/ethtool.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/lldp.hpp"
#include "drivers/linux/traffic_control.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

using netlink::Bytes;
using Buffer = std::vector<std::byte>;

void decode_all(Bytes bytes) {
  (void)decode_link(bytes);
  (void)decode_address(bytes);
  (void)decode_route(bytes);
  (void)decode_nexthop(bytes);
  (void)decode_rule(bytes);
  (void)decode_neighbour(bytes);
  (void)decode_qdisc(bytes);
  (void)decode_class(bytes);
  (void)decode_filter(bytes);
  (void)decode_lldp(bytes);
  netlink::MessageWalk walk(bytes);
  for (netlink::Message message; walk.next(message);) (void)netlink::decode_answer(message);
  (void)walk.finish();
  for (const unsigned flags : {NLM_F_ACK_TLVS + 0U, NLM_F_ACK_TLVS + 0U + NLM_F_CAPPED})
    (void)netlink::decode_answer(netlink::Message{NLMSG_ERROR, static_cast<std::uint16_t>(flags), 1, bytes});
}

class Decoders : public Lab {
 protected:
  // Every payload that the kernel sends for a namespace that has at least one object of each kind.
  std::vector<Buffer> recorded() {
    for (const char* line :
         {"link set rail0 up", "address add 10.64.0.1/31 dev rail0",
          "nexthop add id 1 via 10.64.0.0 dev rail0", "nexthop add id 10 group 1",
          "route add 10.0.0.0/8 nhid 10",
          "route add 10.9.0.0/16 nexthop via 10.64.0.0 dev rail0 nexthop via 10.64.0.0 dev rail0 weight 3",
          "rule add from 192.0.2.1 lookup 100"})
      EXPECT_EQ(ip(line), 0) << line;
    applies({{"interface[rail0]/class[3]/dscp", Value::set({"26"})},
             {"interface[rail0]/class[3]/share", Value::integer(600)}});
    std::vector<Buffer> out;
    const auto entered = in_namespace(path(), [&] {
      auto socket = netlink::Socket::open(NETLINK_ROUTE);
      ASSERT_TRUE(socket);
      const Call call = within(std::chrono::seconds(5));
      const auto keep = [&](const netlink::Message& message) -> Result<Done> {
        out.emplace_back(message.payload.begin(), message.payload.end());
        return Done{};
      };
      for (const std::uint16_t type : {RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE, RTM_GETNEXTHOP, RTM_GETRULE,
                                       RTM_GETNEIGH, RTM_GETQDISC}) {
        netlink::Request request(type, NLM_F_DUMP);
        switch (type) {
          case RTM_GETLINK: request.header(ifinfomsg{}); break;
          case RTM_GETADDR: request.header(ifaddrmsg{}); break;
          case RTM_GETNEIGH: request.header(ndmsg{}); break;
          case RTM_GETNEXTHOP: request.header(std::uint64_t{0}); break;  // struct nhmsg
          case RTM_GETQDISC: request.header(tcmsg{}); break;
          default: request.header(rtmsg{}); break;  // struct fib_rule_hdr has the same size
        }
        const auto dumped = socket->dump(request, call, keep, [] {});
        EXPECT_TRUE(dumped) << type << (dumped ? "" : dumped.error().text());
      }
    });
    EXPECT_TRUE(entered);
    return out;
  }
};

TEST_F(Decoders, CutBytesGiveAnAnswerOrAnError) {
  const auto all = recorded();
  ASSERT_GT(all.size(), 10U);
  for (const Buffer& one : all)
    for (std::size_t size = 0; size <= one.size(); ++size) {
      const Buffer cut(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(size));  // separately allocated
      decode_all(cut);
    }
}

TEST_F(Decoders, MutatedBytesGiveAnAnswerOrAnError) {
  const auto all = recorded();
  std::mt19937 random(20261121);  // arbitrary, but fixed: each run is the same
  constexpr int kRounds = 40;
  for (int round = 0; round < kRounds; ++round)
    for (Buffer one : all) {
      if (one.empty()) continue;
      for (int flips = 1 + round % 4; flips > 0; --flips)
        one[random() % one.size()] = static_cast<std::byte>(random() & 0xFF);
      decode_all(one);
    }
}

// Found by fuzzing: the smallest integer cannot be negated.
TEST(Decode, AnAcknowledgementWithAnInvalidErrnoIsAnError) {
  for (const std::int32_t code : {1, -4096, std::numeric_limits<std::int32_t>::min()})
    EXPECT_FALSE(netlink::decode_answer({NLMSG_ERROR, 0, 1, std::as_bytes(std::span(&code, 1))})) << code;
  for (const std::int32_t code : {0, -1, -4095}) {
    const auto answer = netlink::decode_answer({NLMSG_ERROR, 0, 1, std::as_bytes(std::span(&code, 1))});
    ASSERT_TRUE(answer) << code;
    EXPECT_EQ(answer->code, -code);
  }
}

TEST(Decode, AWrongAttributeLengthIsAnError) {
  ifinfomsg header{};
  header.ifi_index = 1;
  Buffer bytes(sizeof(header) + 8);
  std::memcpy(bytes.data(), &header, sizeof(header));
  nlattr attribute{};
  attribute.nla_len = 4000;
  attribute.nla_type = IFLA_IFNAME;
  std::memcpy(bytes.data() + sizeof(header), &attribute, sizeof(attribute));
  const auto link = decode_link(bytes);
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().kind, ErrorKind::transient);
}

TEST(Decode, AnAddressOfAWrongSizeIsAnError) {
  netlink::Request request(RTM_NEWADDR, 0);
  ifaddrmsg header{};
  header.ifa_family = AF_INET;
  header.ifa_prefixlen = 31;
  header.ifa_index = 1;
  request.header(header).put_number(IFA_LOCAL, std::uint16_t{7});
  EXPECT_FALSE(decode_address(request.finish(1).subspan(NLMSG_HDRLEN)));
}

TEST(Decode, AnImpossiblePrefixLengthIsAnError) {
  netlink::Request request(RTM_NEWROUTE, 0);
  rtmsg header{};
  header.rtm_family = AF_INET;
  header.rtm_dst_len = 33;
  request.header(header).put_number(RTA_DST, std::uint32_t{0});
  EXPECT_FALSE(decode_route(request.finish(1).subspan(NLMSG_HDRLEN)));
}

}  // namespace
}  // namespace lockstep
