// ECN by RED, as the linux driver makes it, on a kernel that has RED: two namespaces joined by a veth pair.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/pkt_sched.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>

#include "drivers/linux/driver.hpp"
#include "drivers/linux/ecn_red.hpp"
#include "drivers/linux/in_namespace.hpp"
#include "drivers/linux/kernel_state.hpp"
#include "drivers/linux/traffic_control.hpp"
#include "drivers/linux/wait.hpp"
#include "reconciler/twin/wiring.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

using Leaves = std::map<std::string, Value>;

constexpr int kEct0 = 2;  // RFC 3168
constexpr int kCe = 3;
constexpr int kRdma = 26;   // a DSCP of class 3
constexpr int kOthers = 0;  // a DSCP of class 0
// The queue is empty for the first 64 KiB, which are the bucket of the class (port_scheduler.cpp), and then
// grows with nearly each packet: the port sends 50 bytes a millisecond.
constexpr int kPackets = 120;
constexpr int kBody = 1000;
constexpr std::int64_t kFrame = kBody + 8 + 20 + 14;  // UDP, IPv4, Ethernet
constexpr std::int64_t kBucket = 65536;
const Leaves kPort = {{"interface[rail0]/rate", Value::integer(400'000)},
                      {"interface[rail0]/class[0]", Value::present()},
                      {"interface[rail0]/class[0]/dscp", Value::set({"0"})},
                      {"interface[rail0]/class[0]/share", Value::integer(50)},
                      {"interface[rail0]/class[3]", Value::present()},
                      {"interface[rail0]/class[3]/dscp", Value::set({"26"})},
                      {"interface[rail0]/class[3]/share", Value::integer(50)}};

Leaves marker(std::int64_t min, std::int64_t max, std::int64_t probability) {
  return {{"interface[rail0]/class[3]/ecn-min", Value::integer(min)},
          {"interface[rail0]/class[3]/ecn-max", Value::integer(max)},
          {"interface[rail0]/class[3]/ecn-probability", Value::integer(probability)}};
}

Leaves both(Leaves a, const Leaves& b) {
  a.insert(b.begin(), b.end());
  return a;
}

Call soon() {
  return Call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10), .stop = {}};
}

Path path(const std::string& text) {
  const auto parsed = Path::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Path{};
}

sockaddr_in at_receiver() {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(4791);  // RoCE v2 (IANA), where nothing else listens
  EXPECT_EQ(::inet_pton(AF_INET, "10.64.0.0", &out.sin_addr), 1);
  return out;
}

class Red : public ::testing::Test {
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
    for (const RowId one : {row("interface[*]/class[*]/ecn-max"), row("interface[*]/class[*]/ecn-min"),
                            row("interface[*]/class[*]/ecn-probability")})
      for (const Incapable& cannot : near_.driver->traits().incapable)
        ASSERT_NE(cannot.row, one) << cannot.reason;
    converge(*far_.driver, {{"interface[rail0]/address[10.64.0.0/31]", Value::present()},
                            {"interface[rail0]/admin", Value::boolean(true)}});
    converge({{"interface[rail0]/address[10.64.0.1/31]", Value::present()},
              {"interface[rail0]/admin", Value::boolean(true)}});
    ASSERT_TRUE(in_namespace("/run/netns/receiver", [&] { receiver_ = open_receiver(); }));
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
  // How many leaves differed.
  static std::size_t converge(Driver& driver, const Leaves& wanted) {
    Intent intent;
    for (const auto& [leaf, value] : wanted) intent.want.set(path(leaf), value);
    const ChangeSet changes = diff(intent, observed(driver)).changes;
    if (!changes.empty()) apply(driver, changes);
    return changes.size();
  }

  std::size_t converge(const Leaves& wanted) { return converge(*near_.driver, wanted); }
  Value value(const std::string& leaf) { return observed(*near_.driver).have.value(path(leaf)); }

  // As another hand would: a red qdisc of any shape at class 3.
  void replace_by_hand(std::uint32_t handle, const RedParameters& red) {
    ASSERT_TRUE(in_namespace("/run/netns/sender", [&] {
      auto socket = netlink::Socket::open(NETLINK_ROUTE);
      ASSERT_TRUE(socket);
      const auto links = read_links(*socket, soon());
      ASSERT_TRUE(links);
      for (const Link& one : *links) {
        if (one.name != "rail0") continue;
        auto request = red_request(one.index, handle, 0x4C530013, red);
        const auto answer = socket->change(request, soon());
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->code, 0) << answer->extack;
      }
    }));
  }

  // Sends a burst and receives it all: in order, which packets came marked.
  std::vector<bool> burst(int dscp, int ecn) {
    EXPECT_TRUE(in_namespace("/run/netns/sender", [&] {
      const Descriptor sender(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      const int tos = dscp << 2 | ecn;
      EXPECT_EQ(::setsockopt(sender.number(), IPPROTO_IP, IP_TOS, &tos, sizeof(tos)), 0);
      const sockaddr_in to = at_receiver();
      const std::vector<char> body(kBody);
      for (int i = 0; i < kPackets; ++i)
        EXPECT_EQ(::sendto(sender.number(), body.data(), body.size(), 0,
                           reinterpret_cast<const sockaddr*>(&to), sizeof(to)),
                  kBody);
    }));
    std::vector<bool> out;
    while (out.size() < kPackets) {
      if (!wait_for(receiver_.number(), POLLIN, soon())) {
        ADD_FAILURE() << "only " << out.size() << " of " << kPackets << " packets arrived";
        break;
      }
      out.push_back(is_marked(receiver_.number()));
    }
    return out;
  }

  Attached near_;
  Attached far_;

 private:
  static Descriptor open_receiver() {
    Descriptor out(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int one = 1;
    EXPECT_EQ(::setsockopt(out.number(), IPPROTO_IP, IP_RECVTOS, &one, sizeof(one)), 0);
    // All of a burst, where nobody has read any of it yet: the default holds 92 such packets (socket(7),
    // rmem).
    const int room = 4 << 20;
    EXPECT_EQ(::setsockopt(out.number(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)), 0);
    const sockaddr_in here = at_receiver();
    EXPECT_EQ(::bind(out.number(), reinterpret_cast<const sockaddr*>(&here), sizeof(here)), 0);
    return out;
  }
  static bool is_marked(int descriptor) {
    char body[2 * kBody];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    iovec piece{body, sizeof(body)};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    EXPECT_EQ(::recvmsg(descriptor, &message, MSG_DONTWAIT), kBody);
    const cmsghdr* told = CMSG_FIRSTHDR(&message);
    EXPECT_TRUE(told != nullptr && told->cmsg_type == IP_TOS);
    return told != nullptr && (*CMSG_DATA(told) & kCe) == kCe;
  }

  Descriptor receiver_;
};

std::ptrdiff_t count(const std::vector<bool>& marked) {
  return std::count(marked.begin(), marked.end(), true);
}

TEST_F(Red, ThresholdsComeChangeAndGoAndASecondApplyIsEmpty) {
  converge(kPort);
  const Tree bare = observed(*near_.driver).have;
  const Leaves first = marker(100'000, 400'000, 10);
  EXPECT_EQ(converge(first), 3U);
  for (const auto& [leaf, want] : first) EXPECT_EQ(value(leaf), want) << leaf;
  EXPECT_EQ(converge(first), 0U);
  const Tree made = observed(*near_.driver).have;

  const Leaves second = marker(1, 1 << 29, 100);
  EXPECT_EQ(converge(second), 3U);
  EXPECT_EQ(converge(second), 0U);
  EXPECT_EQ(converge(first), 3U) << "the change undone";
  EXPECT_EQ(observed(*near_.driver).have.to_string(), made.to_string());

  ChangeSet gone;
  for (const auto& [leaf, was] : first) gone.push_back({path(leaf), was, Value{}, 0});
  apply(*near_.driver, gone);
  EXPECT_EQ(observed(*near_.driver).have.to_string(), bare.to_string());
  apply(*near_.driver, gone);
  EXPECT_EQ(observed(*near_.driver).have.to_string(), bare.to_string());
}

TEST_F(Red, EveryPercentageReadsBack) {
  converge(kPort);
  for (const std::int64_t percent : {0, 1, 7, 50, 99, 100}) {
    converge(marker(1000, 2000, percent));
    EXPECT_EQ(value("interface[rail0]/class[3]/ecn-probability"), Value::integer(percent));
  }
}

TEST_F(Red, AMarkerOfPartsOrUpsideDownIsRefusedAndChangesNothing) {
  converge(kPort);
  const std::string before = observed(*near_.driver).have.to_string();
  Leaves parts = marker(100'000, 400'000, 10);
  parts.erase("interface[rail0]/class[3]/ecn-min");
  for (const Leaves& wrong : {parts, marker(400'000, 100'000, 10), marker(0, 0xFFFFFFFF, 10)}) {
    ChangeSet changes;
    for (const auto& [leaf, want] : wrong) changes.push_back({path(leaf), Value{}, want, 0});
    const auto receipt = near_.driver->apply(changes, Guard{}, soon());
    ASSERT_TRUE(receipt);
    for (const Receipt::Outcome& one : receipt->outcomes) {
      ASSERT_TRUE(one.error);
      EXPECT_EQ(one.error->kind, ErrorKind::invalid_spec) << one.error->text();
    }
  }
  EXPECT_EQ(observed(*near_.driver).have.to_string(), before);
}

TEST_F(Red, ARedMadeByAnotherHandIsDriftAndIsHealed) {
  const Leaves wanted = both(kPort, marker(100'000, 400'000, 10));
  converge(wanted);
  RedParameters dropping = red_for({100'000, 400'000, 10});
  dropping.flags = TC_RED_ECN;  // drops what can't be marked
  RedParameters averaging = red_for({100'000, 400'000, 10});
  averaging.weight_log = 5;
  for (const RedParameters& one : {dropping, averaging}) {
    replace_by_hand(0x4C570000, one);
    EXPECT_EQ(converge(wanted), 3U);
    EXPECT_EQ(converge(wanted), 0U);
  }
  replace_by_hand(0x00770000, red_for({100'000, 400'000, 10}));
  EXPECT_EQ(converge(wanted), 3U) << "a queue under another's handle";
  EXPECT_EQ(converge(wanted), 0U);
}

TEST_F(Red, AQueueOfAnotherHandStaysWhereNoMarkerIsWanted) {
  converge(kPort);
  replace_by_hand(0x00770000, red_for({100'000, 100'000, 10}));
  converge({{"interface[rail0]/class[0]/share", Value::integer(40)},
            {"interface[rail0]/class[3]/share", Value::integer(60)}});
  EXPECT_EQ(value("interface[rail0]/class[3]/ecn-min"), Value{});
  const Observation now = observed(*near_.driver);
  EXPECT_TRUE(now.notes.empty()) << now.notes.front();
  ASSERT_TRUE(in_namespace("/run/netns/sender", [&] {
    auto socket = netlink::Socket::open(NETLINK_ROUTE);
    ASSERT_TRUE(socket);
    const auto qdiscs = read_qdiscs(*socket, soon());
    ASSERT_TRUE(qdiscs);
    EXPECT_EQ(std::count_if(qdiscs->begin(), qdiscs->end(),
                            [](const Qdisc& one) { return one.handle == 0x00770000 && one.red; }),
              1);
  }));
}

TEST_F(Red, TheObservationSaysWhichMarkerIsInUse) {
  converge(both(kPort, marker(100'000, 400'000, 10)));
  EXPECT_EQ(observed(*near_.driver).notes, std::vector<std::string>{"ECN is marked by RED, class by class"});
}

TEST_F(Red, NothingIsMarkedBelowTheLowerThreshold) {
  converge(both(kPort, marker(kPackets * kFrame, kPackets * kFrame, 100)));
  EXPECT_EQ(count(burst(kRdma, kEct0)), 0);
}

TEST_F(Red, EveryPacketIsMarkedFromTheUpperThresholdOn) {
  constexpr std::int64_t kThreshold = 20'000;
  converge(both(kPort, marker(kThreshold, kThreshold, 100)));
  const std::vector<bool> marked = burst(kRdma, kEct0);
  const auto first = std::find(marked.begin(), marked.end(), true);
  // What the bucket lets through and what the threshold lets wait came before the first mark.
  EXPECT_GE((first - marked.begin()) * kFrame, kThreshold);
  // From here on more waits than the threshold, even if the port sent for half a second meanwhile.
  constexpr std::int64_t kSentMeanwhile = 25'000;
  constexpr auto kSurely = static_cast<std::size_t>((kBucket + kThreshold + kSentMeanwhile) / kFrame + 1);
  static_assert(kSurely < kPackets);
  for (std::size_t i = kSurely; i < marked.size(); ++i) EXPECT_TRUE(marked[i]) << "packet " << i;
}

TEST_F(Red, OnlyTheClassWithThresholdsMarks) {
  converge(both(kPort, marker(5'000, 5'000, 100)));
  EXPECT_EQ(count(burst(kOthers, kEct0)), 0);
  EXPECT_GT(count(burst(kRdma, kEct0)), 0);
}

TEST_F(Red, BetweenTheThresholdsTheProbabilityRules) {
  // One percent at 512 MiB is one in a million at the 60 KB that wait here.
  converge(both(kPort, marker(0, 1 << 29, 1)));
  EXPECT_LE(count(burst(kRdma, kEct0)), 1);
  converge(marker(0, kPackets * kFrame, 100));
  const auto some = count(burst(kRdma, kEct0));
  EXPECT_GT(some, 1);
  EXPECT_LT(some, kPackets);
}

TEST_F(Red, PacketsThatCannotBeMarkedAreNotDropped) {
  converge(both(kPort, marker(5'000, 5'000, 100)));
  EXPECT_EQ(count(burst(kRdma, 0)), 0);  // all of them arrive, or burst() fails
}

}  // namespace
}  // namespace lockstep
