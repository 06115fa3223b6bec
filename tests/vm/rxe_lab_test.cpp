// The fabric of the RDMA tests: endpoints exist as promised, packets between them cross the switch, and
// nothing is left behind.
#include "tests/vm/rxe_lab.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <fstream>
#include <sstream>

#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/rdma/nldev.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep {
namespace {

Call soon() {
  return Call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30), .stop = {}};
}

sockaddr_in at(const std::string& address, std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  EXPECT_EQ(::inet_pton(AF_INET, address.c_str(), &out.sin_addr), 1);
  return out;
}

// Frames that a port of the switch has forwarded to its endpoint.
std::uint64_t sent_by_switch(const std::string& port) {
  std::uint64_t out = 0;
  EXPECT_TRUE(in_namespace(RxeFabric::switch_netns(), [&] {
    std::ifstream table("/proc/thread-self/net/dev");
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::string name;
      if (!(words >> name) || name != port + ":") continue;
      for (int column = 0; column < 10; ++column)
        words >> out;  // man 5 proc_pid_net: the tenth is TX packets
    }
  }));
  return out;
}

TEST_F(RxeLab, EveryEndpointHasAnActivePortOnItsNetdev) {
  const auto all = rdma::read_devices_and_ports(soon());
  ASSERT_TRUE(all) << all.error().text();
  ASSERT_EQ(all->ports.size(), 2U);
  for (std::size_t at = 0; at < 2; ++at) {
    EXPECT_EQ(all->devices[at].name, endpoint(at).device);
    EXPECT_EQ(all->devices[at].protocol, "roce");
    EXPECT_EQ(all->ports[at].netdev, endpoint(at).port);
    EXPECT_EQ(rdma::state_words(all->ports[at].state), "ACTIVE");
    EXPECT_EQ(rdma::physical_state_words(all->ports[at].physical_state), "LINK_UP");
  }
}

TEST_F(RxeLab, PacketsFromAPortCrossTheSwitch) {
  const Descriptor to(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Descriptor from(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const sockaddr_in there = at(endpoint(1).address, 9);
  ASSERT_EQ(::bind(to.number(), reinterpret_cast<const sockaddr*>(&there), sizeof(there)), 0);
  const std::string& port = endpoint(0).port;
  ASSERT_EQ(::setsockopt(from.number(), SOL_SOCKET, SO_BINDTODEVICE, port.data(),
                         static_cast<socklen_t>(port.size())),
            0);
  const std::uint64_t before = sent_by_switch(endpoint(1).far_port);
  ASSERT_EQ(::sendto(from.number(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&there), sizeof(there)), 1);
  pollfd arrived{to.number(), POLLIN, 0};
  ASSERT_EQ(::poll(&arrived, 1, 10'000), 1);
  EXPECT_GT(sent_by_switch(endpoint(1).far_port), before);
}

TEST(RxeFabric, LeavesNothingBehind) {
  const auto rules = [] {
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    EXPECT_TRUE(socket);
    const auto state =
        read_network(*socket, Wanted{.addresses = true, .routes = true, .rules = true}, soon());
    EXPECT_TRUE(state);
    std::string out;
    for (const Link& one : state->links) out += one.name + " ";
    for (const Rule& one : state->rules)
      out += std::to_string(one.priority) + ":" + std::to_string(one.table) + " ";
    return out + std::to_string(state->routes.size());
  };
  const std::string before = rules();
  for (int round = 0; round < 2; ++round) {
    auto fabric = RxeFabric::make(4, soon());
    ASSERT_TRUE(fabric) << fabric.error().text();
    EXPECT_EQ(fabric->endpoints().size(), 4U);
    EXPECT_NE(rules(), before);
    EXPECT_FALSE(RxeFabric::make(1, soon())) << "there twice";
  }
  EXPECT_EQ(rules(), before);
  const auto all = rdma::read_devices_and_ports(soon());
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->devices.empty());
}

}  // namespace
}  // namespace lockstep
