// What the driver tells of the use of a class, against traffic; and queue pairs, from made messages (a real
// device's are in tests/vm/verbs_test.cpp).
#include "drivers/linux/usage.hpp"

#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>

#include "drivers/linux/rdma/nldev.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/unit/linux/fuzz.hpp"
#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

Path entry(const std::string& text) { return *Path::parse(text); }

class LinuxUses : public Lab {
 protected:
  std::uint64_t passed(int number) {
    const std::string path = "interface[rail0]/class[" + std::to_string(number) + "]";
    const auto uses = attached_.usage->of({entry(path)}, within(std::chrono::seconds(5)));
    EXPECT_TRUE(uses) << uses.error().text();
    if (!uses || uses->size() != 1) return 0;
    EXPECT_EQ(uses->front().what, "packets of class " + std::to_string(number) + " of rail0");
    EXPECT_EQ(uses->front().open, 0U);
    return uses->front().passed.value_or(0);
  }
  void send(int dscp) const {
    ASSERT_TRUE(in_namespace(path(), [&] {
      const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      const int tos = dscp << 2;
      ASSERT_EQ(::setsockopt(socket.number(), IPPROTO_IP, IP_TOS, &tos, sizeof(tos)), 0);
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(9);  // discard (RFC 863)
      to.sin_addr.s_addr = htonl(0x0A400002);
      ASSERT_EQ(::sendto(socket.number(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 1);
    }));
  }
};

TEST_F(LinuxUses, AClassIsWhatLeavesByIt) {
  ASSERT_EQ(ip("address add 10.64.0.1/24 dev rail0"), 0);
  bring_up();
  ASSERT_EQ(ip("neighbour add 10.64.0.2 lladdr 02:00:00:00:00:02 dev rail0"), 0);
  applies({{"interface[rail0]/rate", Value::integer(1'000'000'000)},
           {"interface[rail0]/class[0]", Value::present()},
           {"interface[rail0]/class[0]/dscp", Value::set({"0"})},
           {"interface[rail0]/class[0]/share", Value::integer(40)},
           {"interface[rail0]/class[3]", Value::present()},
           {"interface[rail0]/class[3]/dscp", Value::set({"26"})},
           {"interface[rail0]/class[3]/share", Value::integer(60)}});
  const std::uint64_t before = passed(3);
  send(0);
  EXPECT_EQ(passed(3), before);
  for (int i = 0; i < 3; ++i) send(26);
  // IPv4, UDP and a byte, in Ethernet.
  EXPECT_EQ(passed(3), before + 3 * (14 + 20 + 8 + 1));
  EXPECT_NE(said("tc", "-s class show dev rail0 classid 4c53:13").find("Sent " + std::to_string(passed(3))),
            std::string::npos)
      << said("tc", "-s class show dev rail0");
}

TEST_F(LinuxUses, AClassThatIsNotThereIsAnError) {
  const auto uses =
      attached_.usage->of({entry("interface[rail0]/class[5]")}, within(std::chrono::seconds(5)));
  ASSERT_FALSE(uses);
  EXPECT_EQ(uses.error().kind, ErrorKind::transient);
  EXPECT_FALSE(attached_.usage->of({entry("interface[rail9]/class[5]")}, within(std::chrono::seconds(5))));
}

TEST(LinuxUsageOf, WhatItCanNotTellItDoesNotKnow) {
  const auto knows = [](const LinuxTarget& target, const char* path) {
    return LinuxUsage(target).knows(entry(path));
  };
  const LinuxTarget twin{.device = "gpu1", .netns_path = "/run/netns/gpu1"};
  EXPECT_TRUE(knows(twin, "interface[rail0]/class[3]"));
  EXPECT_FALSE(knows(twin, "interface[rail0]/mtu"));
  EXPECT_FALSE(knows(twin, "interface[rail0]/pfc"));
  const LinuxTarget machine{.device = "gpu1", .software_rate = false};
  EXPECT_FALSE(knows(machine, "interface[rail0]/class[3]"));
  EXPECT_TRUE(knows(machine, "interface[rail0]/mtu"));
}

// As rdma/rdma_netlink.h has it: a table of entries.
netlink::Bytes message_of(netlink::Request& request, const std::vector<rdma::QueuePair>& all,
                          bool cut = false) {
  const std::size_t table = request.open_nest(RDMA_NLDEV_ATTR_RES_QP);
  for (const rdma::QueuePair& one : all) {
    const std::size_t nest = request.open_nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY);
    if (one.port != 0) request.put_number(RDMA_NLDEV_ATTR_PORT_INDEX, one.port);
    request.put_number(RDMA_NLDEV_ATTR_RES_TYPE, one.type);
    if (!cut) request.put_number(RDMA_NLDEV_ATTR_RES_STATE, one.state);
    request.close_nest(nest);
  }
  request.close_nest(table);
  return request.finish(1).subspan(sizeof(nlmsghdr));
}

TEST(QueuePairs, AreReadEachWithItsStateAndThoseThatAreConnectedCount) {
  // Type and state: GSI that is ready, RC that is ready, RC that is reset, RC in error, raw packets, XRC.
  const std::vector<rdma::QueuePair> made = {{0, 1, 3}, {1, 2, 3}, {1, 2, 0},
                                             {1, 2, 6}, {1, 8, 3}, {1, 9, 2}};
  netlink::Request request(0, 0);
  std::vector<rdma::QueuePair> all;
  ASSERT_TRUE(rdma::add_queue_pairs(message_of(request, made), all));
  std::vector<bool> connected;
  for (const rdma::QueuePair& one : all) connected.push_back(one.is_connected());
  EXPECT_EQ(connected, (std::vector<bool>{false, true, false, false, false, true}));
  EXPECT_EQ(all.at(1).port, 1U);
  netlink::Request without(0, 0);
  EXPECT_FALSE(rdma::add_queue_pairs(message_of(without, made, true), all));
}

TEST(QueuePairs, CutAndMutatedBytesAreAnAnswerOrAnError) {
  netlink::Request request(0, 0);
  fuzz(hex_of(message_of(request, {{1, 2, 3}, {0, 1, 3}})), [](const Buffer& bytes) {
    std::vector<rdma::QueuePair> all;
    (void)rdma::add_queue_pairs(bytes, all);
  });
}

}  // namespace
}  // namespace lockstep
