// The statistics of a driver among the counters of an RDMA port: our test netdev counts by priority.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <sys/socket.h>

#include "drivers/linux/rdma/counters.hpp"
#include "drivers/linux/session.hpp"
#include "specs/files/descriptor.hpp"
#include "tests/vm/nic_lab.hpp"
#include "tests/vm/rxe_lab.hpp"

namespace lockstep {
namespace {

using RdmaCounters = NicLab;

// Sends a frame of this priority (SO_PRIORITY) to an arbitrary address.
void send_frame(std::uint32_t port, int priority) {
  const Descriptor socket(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::setsockopt(socket.number(), SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority)), 0);
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(ETH_P_LOOP);
  to.sll_ifindex = static_cast<int>(port);
  to.sll_halen = ETH_ALEN;
  const char body[64] = {};
  ASSERT_EQ(
      ::sendto(socket.number(), body, sizeof(body), 0, reinterpret_cast<const sockaddr*>(&to), sizeof(to)),
      static_cast<ssize_t>(sizeof(body)));
}

TEST_F(RdmaCounters, TheDriversOwnStatisticsAreAmongThem) {
  const auto fabric = RxeFabric::make(1, soon());
  ASSERT_TRUE(fabric) << fabric.error().text();
  make("nic0", "plain");
  make("nic1", "plain");  // its peer
  auto session = Session::open(soon());
  ASSERT_TRUE(session);
  for (const char* port : {"nic0", "nic1"}) ASSERT_TRUE(session->set_admin(port, true)) << port;
  const auto port = session->index_of("nic0");
  ASSERT_TRUE(port);
  const HostFiles files("/");
  const auto before = rdma::read_counters(files, "rxe1", 1, "nic0");
  ASSERT_TRUE(before) << before.error().text();
  ASSERT_TRUE(before->values.contains("tx_prio3_packets"));
  for (int frame = 0; frame < 5; ++frame) send_frame(*port, 3);
  const auto after = rdma::read_counters(files, "rxe1", 1, "nic0");
  ASSERT_TRUE(after);
  std::uint64_t sent = 0;
  for (const rdma::Moved& one : rdma::moved_between(*before, *after))
    if (one.counter == "tx_prio3_packets") {
      sent = one.by;
      EXPECT_EQ(one.signal, rdma::Signal::packets_sent);
    }
  EXPECT_EQ(sent, 5U);
  EXPECT_FALSE(rdma::read_counters(files, "rxe9", 1));
}

}  // namespace
}  // namespace lockstep
