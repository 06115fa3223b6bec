#include "drivers/linux/ecn_marker.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "drivers/posix/in_namespace.hpp"
#include "drivers/posix/wait.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/needs.hpp"
#include "tests/unit/linux/lab.hpp"

namespace lockstep {
namespace {

class EcnMarker : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    for (const Incapable& one : observed().incapable)
      if (one.row == row("interface[*]/ecn-threshold")) {
        if (one.reason.find("built without") != std::string::npos) LOCKSTEP_NOT_TESTED_BUT_ON_CI(one.reason);
        LOCKSTEP_NOT_TESTED(one.reason);
      }
    ASSERT_EQ(ip("address add 10.64.0.1/31 dev rail0"), 0);
    ASSERT_EQ(shell("ip -n " + name_ + "p address add 10.64.0.0/31 dev swp1"), 0);
    bring_up();
  }

  // Sends a burst of ECT(0) datagrams from rail0 through an 8 Mbit/s port; returns how many arrive marked CE.
  int marked(int packets) {
    Descriptor receiver;
    EXPECT_TRUE(in_namespace(path() + "p", [&] { receiver = open_receiver(); }));
    sockaddr_in to{};
    socklen_t size = sizeof(to);
    EXPECT_EQ(::getsockname(receiver.number(), reinterpret_cast<sockaddr*>(&to), &size), 0);
    EXPECT_TRUE(in_namespace(path(), [&] {
      const Descriptor sender(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      const int ect0 = 2;  // RFC 3168
      EXPECT_EQ(::setsockopt(sender.number(), IPPROTO_IP, IP_TOS, &ect0, sizeof(ect0)), 0);
      const std::vector<char> body(1000);
      for (int i = 0; i < packets; ++i)
        EXPECT_EQ(::sendto(sender.number(), body.data(), body.size(), 0,
                           reinterpret_cast<const sockaddr*>(&to), sizeof(to)),
                  static_cast<ssize_t>(body.size()));
    }));
    int out = 0;
    for (int i = 0; i < packets; ++i) {
      auto arrived = wait_for(receiver.number(), POLLIN, within(std::chrono::seconds(2)));
      EXPECT_TRUE(arrived) << "only " << i << " of " << packets << " arrived";
      if (!arrived) return -1;
      out += receive_is_marked(receiver.number()) ? 1 : 0;
    }
    return out;
  }

 private:
  static Descriptor open_receiver() {
    Descriptor out(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int one = 1;
    EXPECT_EQ(::setsockopt(out.number(), IPPROTO_IP, IP_RECVTOS, &one, sizeof(one)), 0);
    sockaddr_in here{};
    here.sin_family = AF_INET;
    EXPECT_EQ(::inet_pton(AF_INET, "10.64.0.0", &here.sin_addr), 1);
    EXPECT_EQ(::bind(out.number(), reinterpret_cast<const sockaddr*>(&here), sizeof(here)), 0);
    return out;
  }
  static bool receive_is_marked(int descriptor) {
    char body[2048];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    iovec piece{body, sizeof(body)};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    EXPECT_GT(::recvmsg(descriptor, &message, MSG_DONTWAIT), 0);
    const cmsghdr* told = CMSG_FIRSTHDR(&message);
    return told != nullptr && told->cmsg_type == IP_TOS && (*CMSG_DATA(told) & 3) == 3;
  }
};

TEST_F(EcnMarker, AddsChangesAndRemovesThresholds) {
  applies({{"interface[rail0]/ecn-threshold", Value::integer(65536)}});
  EXPECT_EQ(value("interface[rail0]/ecn-threshold"), Value::integer(65536));
  const std::string first = observed().revision;
  applies({{"interface[rail0]/ecn-threshold", Value::integer(65536)}});
  EXPECT_EQ(observed().revision, first);
  applies({{"interface[rail0]/ecn-threshold", Value::integer(131072)}});
  EXPECT_EQ(value("interface[rail0]/ecn-threshold"), Value::integer(131072));
  applies({{"interface[rail0]/ecn-threshold", {}}});
  EXPECT_EQ(value("interface[rail0]/ecn-threshold"), Value{});
  applies({{"interface[rail0]/ecn-threshold", {}}});
}

TEST_F(EcnMarker, MarksOnlyWhileTheQueueIsLongerThanTheThreshold) {
  constexpr int kPackets = 80;  // 83 kB into a bucket of 64 KiB: a fifth of it is queued
  applies({{"interface[rail0]/rate", Value::integer(8'000'000)},
           {"interface[rail0]/ecn-threshold", Value::integer(1 << 30)}});
  EXPECT_EQ(marked(kPackets), 0);
  applies({{"interface[rail0]/ecn-threshold", Value::integer(5'000)}});
  const int some = marked(kPackets);
  EXPECT_GT(some, 0);
  EXPECT_LT(some, kPackets);  // the first ones found a short queue
  applies({{"interface[rail0]/ecn-threshold", {}}});
  EXPECT_EQ(marked(kPackets), 0);
}

TEST_F(EcnMarker, SeesTheQueueOfTrafficClassesToo) {
  constexpr int kPackets = 80;
  applies({{"interface[rail0]/rate", Value::integer(8'000'000)},
           {"interface[rail0]/class[0]/dscp", Value::set({"0"})},
           {"interface[rail0]/class[0]/share", Value::integer(1000)},
           {"interface[rail0]/ecn-threshold", Value::integer(5'000)}});
  const int some = marked(kPackets);
  EXPECT_GT(some, 0);
  EXPECT_LT(some, kPackets);
}

TEST_F(EcnMarker, DetectsARemovedMarkerAndKeepsAForeignFilter) {
  applies({{"interface[rail0]/ecn-threshold", Value::integer(65536)}});
  ASSERT_EQ(tc("filter add dev rail0 egress pref 7 protocol ip u32 match ip tos 0 0xff flowid 1:1"), 0);
  applies({{"interface[rail0]/ecn-threshold", {}}});
  EXPECT_NE(said("tc", "filter show dev rail0 egress").find("pref 7"), std::string::npos);
  applies({{"interface[rail0]/ecn-threshold", Value::integer(65536)}});
  ASSERT_EQ(tc("qdisc del dev rail0 clsact"), 0);
  EXPECT_EQ(value("interface[rail0]/ecn-threshold"), Value{});
  applies({{"interface[rail0]/ecn-threshold", Value::integer(65536)}});
  EXPECT_EQ(value("interface[rail0]/ecn-threshold"), Value::integer(65536));
}

}  // namespace
}  // namespace lockstep
