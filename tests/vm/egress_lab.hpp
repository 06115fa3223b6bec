// Two namespaces, sender and receiver, joined by a veth pair with the linux driver in both. The packets that
// arrive, and their order, show what leaves rail0 of the sender.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <map>

#include "drivers/linux/driver.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "drivers/posix/wait.hpp"
#include "reconciler/twin/cables.hpp"

namespace lockstep {

using Entries = std::map<std::string, Value>;

inline constexpr int kEct0 = 2;  // RFC 3168
inline constexpr int kCe = 3;
inline constexpr int kBody = 1000;
inline constexpr std::int64_t kFrame = kBody + 8 + 20 + 14;  // UDP, IPv4, Ethernet
inline constexpr std::int64_t kBucket = 65536;               // queueing/carriers.hpp

inline Entries marker(std::int64_t min, std::int64_t max, std::int64_t probability) {
  return {{"interface[rail0]/class[3]/ecn-min", Value::integer(min)},
          {"interface[rail0]/class[3]/ecn-max", Value::integer(max)},
          {"interface[rail0]/class[3]/ecn-probability", Value::integer(probability)}};
}

// The union of both; `a` takes precedence.
inline Entries both(Entries a, const Entries& b) {
  a.insert(b.begin(), b.end());
  return a;
}

inline Call soon() {
  return Call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10), .stop = {}};
}

inline Path path(const std::string& text) {
  const auto parsed = Path::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Path{};
}

struct Arrival {
  int dscp = 0;
  bool marked = false;
};

class EgressLab : public ::testing::Test {
 protected:
  void SetUp() override {
    auto sender = create_netns("sender");
    auto receiver = create_netns("receiver");
    ASSERT_TRUE(sender) << sender.error().text();
    ASSERT_TRUE(receiver) << receiver.error().text();
    const TwinCable cable{"sender", "rail0", "receiver", "rail0", false};
    const CableEnds ends{&cable, &*sender, &*receiver};
    const auto wired = wire({&ends, 1}, [](std::size_t) { return true; });
    ASSERT_TRUE(wired) << wired.error().text();
    far_ = attach("receiver");
    near_ = attach("sender");
    converge(*far_.driver, {{"interface[rail0]/address[10.64.0.0/31]", Value::present()},
                            {"interface[rail0]/admin", Value::boolean(true)}});
    converge({{"interface[rail0]/address[10.64.0.1/31]", Value::present()},
              {"interface[rail0]/admin", Value::boolean(true)}});
    ASSERT_TRUE(in_namespace("/run/netns/receiver", [&] { receiver_ = open_receiver(); }));
    // The first packet arrives once both ends accept frames and the link-layer address of the receiver is
    // known. Until then at most 92 packets wait, and the oldest are dropped (ip-sysctl: unres_qlen_bytes).
    send(0, 0, 1);
    ASSERT_EQ(receive(1).size(), 1U);
  }
  void TearDown() override {
    for (const char* name : {"sender", "receiver"}) EXPECT_TRUE(delete_netns(name));
  }

  static Attached attach(const std::string& name) {
    LinuxTarget target;
    target.device = name;
    target.netns_path = "/run/netns/" + name;
    return make_linux_driver(target);
  }
  static Observation observed(Driver& driver) {
    auto out = driver.observe(Scope{}, "", soon());
    EXPECT_TRUE(out) << out.error().text();
    return out ? *std::move(out) : Observation{};
  }
  static void apply(Driver& driver, const ChangeSet& changes) {
    const auto receipt = driver.apply(changes, Guard{}, soon());
    ASSERT_TRUE(receipt) << receipt.error().text();
    for (const Receipt::Outcome& one : receipt->outcomes)
      EXPECT_FALSE(one.error) << one.path.text() << ": " << one.error->text();
  }
  static ChangeSet differing(Driver& driver, const Entries& wanted) {
    Intent intent;
    for (const auto& [entry, value] : wanted) intent.want.set(path(entry), value);
    return diff(intent, observed(driver)).changes;
  }
  // Applies the difference; returns how many entries differed.
  static std::size_t converge(Driver& driver, const Entries& wanted) {
    const ChangeSet changes = differing(driver, wanted);
    if (!changes.empty()) apply(driver, changes);
    return changes.size();
  }

  std::size_t converge(const Entries& wanted) { return converge(*near_.driver, wanted); }
  Value value(const std::string& entry) { return observed(*near_.driver).have.value(path(entry)); }

  void send(int dscp, int ecn, int packets) {
    EXPECT_TRUE(in_namespace("/run/netns/sender", [&] {
      const Descriptor sender(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      const int tos = dscp << 2 | ecn;
      EXPECT_EQ(::setsockopt(sender.number(), IPPROTO_IP, IP_TOS, &tos, sizeof(tos)), 0);
      // Waiting packets count towards the send buffer of the socket until they have left.
      const int room = 4 << 20;
      EXPECT_EQ(::setsockopt(sender.number(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)), 0);
      const sockaddr_in to = at_receiver();
      const std::vector<char> body(kBody);
      for (int i = 0; i < packets; ++i)
        EXPECT_EQ(::sendto(sender.number(), body.data(), body.size(), 0,
                           reinterpret_cast<const sockaddr*>(&to), sizeof(to)),
                  kBody);
    }));
  }
  // Receives packets in the order of their arrival.
  std::vector<Arrival> receive(std::size_t packets) {
    std::vector<Arrival> out;
    while (out.size() < packets) {
      if (!wait_for(receiver_.number(), POLLIN, soon())) {
        ADD_FAILURE() << "only " << out.size() << " of " << packets << " packets arrived";
        break;
      }
      out.push_back(next());
    }
    return out;
  }

  Attached near_;
  Attached far_;

 private:
  static sockaddr_in at_receiver() {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(4791);  // RoCE v2 (IANA), where nothing else listens
    EXPECT_EQ(::inet_pton(AF_INET, "10.64.0.0", &out.sin_addr), 1);
    return out;
  }
  static Descriptor open_receiver() {
    Descriptor out(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int one = 1;
    EXPECT_EQ(::setsockopt(out.number(), IPPROTO_IP, IP_RECVTOS, &one, sizeof(one)), 0);
    // Room for a whole burst before any of it is read: the default holds 92 such packets (socket(7),
    // rmem).
    const int room = 4 << 20;
    EXPECT_EQ(::setsockopt(out.number(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)), 0);
    const sockaddr_in here = at_receiver();
    EXPECT_EQ(::bind(out.number(), reinterpret_cast<const sockaddr*>(&here), sizeof(here)), 0);
    return out;
  }
  Arrival next() {
    char body[2 * kBody];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    iovec piece{body, sizeof(body)};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    EXPECT_EQ(::recvmsg(receiver_.number(), &message, MSG_DONTWAIT), kBody);
    const cmsghdr* told = CMSG_FIRSTHDR(&message);
    EXPECT_TRUE(told != nullptr && told->cmsg_type == IP_TOS);
    const int tos = told != nullptr ? *CMSG_DATA(told) : 0;
    return {tos >> 2, (tos & kCe) == kCe};
  }

  Descriptor receiver_;
};

}  // namespace lockstep
