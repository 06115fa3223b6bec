#include "tests/vm/port_faults.hpp"

#include <gtest/gtest.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "drivers/linux/netlink_socket.hpp"
#include "drivers/linux/session.hpp"
#include "drivers/linux/traffic_control.hpp"
#include "drivers/posix/in_namespace.hpp"

namespace lockstep {
namespace {

Call soon() {
  return Call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10), .stop = {}};
}

void change(const std::string& netns, const std::function<netlink::Request()>& request) {
  ASSERT_TRUE(in_namespace(netns, [&] {
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    ASSERT_TRUE(socket);
    netlink::Request built = request();
    const auto answer = socket->change(built, soon());
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->code, 0) << answer->extack;
  }));
}

}  // namespace

std::uint32_t index_of(const std::string& port) {
  const std::uint32_t out = ::if_nametoindex(port.c_str());
  EXPECT_NE(out, 0U) << "no link " << port;
  return out;
}

void set_mtu(const std::string& netns, const std::string& port, std::uint32_t mtu) {
  change(netns, [&] {
    netlink::Request request(RTM_NEWLINK, NLM_F_ACK);
    ifinfomsg header{};
    header.ifi_index = static_cast<int>(index_of(port));
    request.header(header).put_number(IFLA_MTU, mtu);
    return request;
  });
}

void set_admin(const std::string& netns, const std::string& port, bool up) {
  ASSERT_TRUE(in_namespace(netns, [&] {
    auto session = Session::open(soon());
    ASSERT_TRUE(session) << session.error().text();
    const auto done = session->set_admin(port, up);
    ASSERT_TRUE(done) << done.error().text();
  }));
}

void lose(const std::string& port, double share) {
  change("", [&] {
    netlink::Request request(RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
    tcmsg header{};
    header.tcm_ifindex = static_cast<int>(index_of(port));
    header.tcm_parent = TC_H_ROOT;
    header.tcm_handle = 0x00990000;
    tc_netem_qopt options{};
    options.limit = 1000;
    options.loss = static_cast<std::uint32_t>(share * 4294967295.0);
    request.header(header).put_text(TCA_KIND, "netem").put_number(TCA_OPTIONS, options);
    return request;
  });
}

void mark_behind_40mbps(const std::string& port) {
  change("", [&] {
    return tbf_request(index_of(port), 0x00010000, TC_H_ROOT, {5'000'000, 20'000, 1'000'000});
  });
  change("", [&] {
    return red_request(index_of(port), 0x00020000, 0x00010001, red_for({8'000, 16'000, 100}));
  });
}

}  // namespace lockstep
