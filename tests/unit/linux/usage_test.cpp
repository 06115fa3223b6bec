// What the driver knows about the usage of an entry; and queue pairs, from constructed messages. tests/vm
// tests them with traffic and real queue pairs (dcb_driver_test.cpp, verbs_test.cpp).
#include "drivers/linux/usage.hpp"

#include <gtest/gtest.h>
#include <rdma/rdma_netlink.h>

#include "drivers/linux/rdma/nldev.hpp"
#include "tests/unit/linux/fuzz.hpp"

namespace lockstep {
namespace {

Path entry(const std::string& text) { return *Path::parse(text); }

TEST(LinuxUsageOf, IsUnknownWhereItCannotBeMeasured) {
  const auto knows = [](const LinuxTarget& target, const char* path) {
    return LinuxUsage(target).knows(entry(path));
  };
  LinuxTarget twin;
  twin.netns_path = "/run/netns/gpu1";
  EXPECT_FALSE(knows(twin, "interface[rail0]/class[3]"));
  EXPECT_FALSE(knows(twin, "interface[rail0]/mtu"));
  EXPECT_FALSE(knows(twin, "interface[rail0]/pfc"));
  LinuxTarget machine;
  machine.software_rate = false;
  EXPECT_TRUE(knows(machine, "interface[rail0]/class[3]"));
  EXPECT_FALSE(knows(machine, "interface[rail0]/pfc"));
  EXPECT_TRUE(knows(machine, "interface[rail0]/mtu"));
}

// A message in the format of rdma/rdma_netlink.h: a table of entries.
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

TEST(QueuePairs, AreReadWithTheirStateAndConnectedOnesCount) {
  // Type and state: GSI ready, RC ready, RC reset, RC in error, raw packet, XRC.
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

TEST(QueuePairs, CutAndMutatedBytesGiveAnAnswerOrAnError) {
  netlink::Request request(0, 0);
  fuzz(hex_of(message_of(request, {{1, 2, 3}, {0, 1, 3}})), [](const Buffer& bytes) {
    std::vector<rdma::QueuePair> all;
    (void)rdma::add_queue_pairs(bytes, all);
  });
}

}  // namespace
}  // namespace lockstep
