#include "drivers/linux/lldp.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <stdexcept>
#include <thread>

#include "drivers/posix/in_namespace.hpp"
#include "drivers/posix/wait.hpp"
#include "tests/needs.hpp"
#include "tests/unit/linux/lab.hpp"
#include "tests/unit/linux/lldp_sender.hpp"

namespace lockstep {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> numbers) {
  std::vector<std::byte> out;
  for (const int one : numbers) out.push_back(static_cast<std::byte>(one));
  return out;
}

// A frame in the form of lldpd: chassis and port by MAC address, the interface name as port description.
const std::vector<std::byte> kFromLldpd =
    bytes({0x02, 0x07, 0x04, 0x52, 0x54, 0x00, 0x12, 0x34, 0x56,  // chassis: MAC
           0x04, 0x07, 0x03, 0x52, 0x54, 0x00, 0x12, 0x34, 0x57,  // port: MAC
           0x06, 0x02, 0x00, 0x78,                                // 120 s
           0x0A, 0x05, 'l',  'e',  'a',  'f',  '0',               // system name
           0x0C, 0x02, 'x',  'y',                                 // system description: skipped
           0x08, 0x04, 's',  'w',  'p',  '1',                     // port description
           0xFE, 0x06, 0x00, 0x12, 0x0F, 0x01, 0x03, 0x01,        // 802.3: skipped
           0x00, 0x00, 0xFF, 0xFF});                              // end, then padding

TEST(Lldp, DecodesDeviceAndPortAsLldpdSendsThem) {
  const auto neighbour = decode_lldp(kFromLldpd);
  ASSERT_TRUE(neighbour);
  EXPECT_EQ(neighbour->text(), "leaf0:swp1");
  EXPECT_EQ(neighbour->chassis, "52:54:00:12:34:56");
  EXPECT_EQ(neighbour->port_id, "52:54:00:12:34:57");
  EXPECT_EQ(neighbour->lifetime, std::chrono::seconds(120));
}

TEST(Lldp, EncodedFramesDecode) {
  const auto frame =
      encode_lldp(LldpAnnouncement{"gpu1", "rail0", bytes({2, 0, 0, 0, 0, 1}), std::chrono::seconds(30)});
  constexpr std::size_t kEthernetHeader = 14;
  const auto neighbour = decode_lldp(netlink::Bytes(frame).subspan(kEthernetHeader));
  ASSERT_TRUE(neighbour);
  EXPECT_EQ(neighbour->text(), "gpu1:rail0");
  EXPECT_EQ(neighbour->lifetime, std::chrono::seconds(30));
}

TEST(Lldp, EscapesUnprintableBytes) {
  auto frame = kFromLldpd;
  frame[22 + 2] = std::byte{0x1B};  // the first letter of the system name
  const auto neighbour = decode_lldp(frame);
  ASSERT_TRUE(neighbour);
  EXPECT_EQ(neighbour->text(), "\\x1beaf0:swp1");
  LldpNeighbour other;
  other.system_name = "leaf\xFF\n0";
  other.port_id = "swp1\x7F";
  EXPECT_EQ(other.text(), "leaf\\xff\\x0a0:swp1\\x7f") << "neither UTF-8 nor one line";
}

TEST(Lldp, EveryTruncationIsRefusedOrHasFewerFields) {
  for (std::size_t size = 0; size < kFromLldpd.size(); ++size) {
    const std::vector<std::byte> cut(kFromLldpd.begin(),
                                     kFromLldpd.begin() + static_cast<std::ptrdiff_t>(size));
    const auto neighbour = decode_lldp(cut);
    if (size < 22) {  // within the mandatory part
      EXPECT_FALSE(neighbour) << size;
    }
  }
}

TEST(Lldp, RefusesMandatoryTlvsOutOfOrder) {
  auto frame = kFromLldpd;
  frame[0] = std::byte{0x04};
  EXPECT_FALSE(decode_lldp(frame));
}

class LldpOnTheWire : public Lab {
 protected:
  void SetUp() override {
    Lab::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    bring_up();
  }
  // Sends from swp1 in the network namespace of the calling thread.
  static bool announce_leaf0() { return send_lldp("swp1", {"leaf0", "swp1", bytes({2, 0, 0, 0, 0, 1})}); }
};

TEST_F(LldpOnTheWire, AnAnnouncementIsReceivedAtTheOtherEnd) {
  std::optional<LldpListener> listener;
  ASSERT_TRUE(in_namespace(path(), [&] {
    auto opened = LldpListener::open(within(std::chrono::seconds(5)));
    ASSERT_TRUE(opened);
    listener.emplace(*std::move(opened));
  }));
  ASSERT_TRUE(in_namespace(path() + "p", [&] { EXPECT_TRUE(announce_leaf0()); }));
  ASSERT_TRUE(wait_for(listener->descriptor(), POLLIN, within(std::chrono::seconds(5))));
  const auto heard = listener->heard();
  ASSERT_TRUE(heard);
  ASSERT_EQ(heard->size(), 1U);
  EXPECT_EQ(heard->begin()->second.text(), "leaf0:swp1");
}

// A real lldpd, in its own mount and UTS namespaces as in the twin.
class RealLldpd : public LldpOnTheWire {
 protected:
  void start(const std::string& netns, const std::string& host, const std::string& socket) {
    const std::string line = "exec ip netns exec " + netns +
                             " unshare --uts --mount sh -c 'mount -t tmpfs none /run; "
                             "mkdir -p /run/lldpd; hostname " +
                             host + "; exec lldpd -d -u " + socket +
                             " -O /dev/null' >/dev/null 2>&1 </dev/null";
    const pid_t child = ::fork();
    if (child == 0) {
      ::execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    children_.push_back(child);
  }
  void TearDown() override {
    for (const pid_t one : children_) {
      ::kill(one, SIGTERM);
      ::waitpid(one, nullptr, 0);
    }
    LldpOnTheWire::TearDown();
  }
  std::vector<pid_t> children_;
};

TEST_F(RealLldpd, ReportsThePeersOfEachPort) {
  if (::access("/usr/sbin/lldpd", X_OK) != 0) LOCKSTEP_NOT_TESTED_BUT_ON_CI("needs lldpd");
  const std::string folder = "/tmp/" + name_;
  ASSERT_EQ(shell("mkdir -p " + folder), 0);
  start(name_, "gpu1", folder + "/a");
  attached_ = make_linux_driver(target(folder + "/a"));
  const Path peer = *Path::parse("interface[rail0]/peer");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  Observation seen;
  do {
    // We send an announcement because the next one of lldpd may be 30 s away.
    ASSERT_TRUE(in_namespace(path() + "p", [] { (void)announce_leaf0(); }));
    seen = observed();
  } while (!seen.have.value(peer) && std::chrono::steady_clock::now() < deadline);
  if (is_unread(seen.unread, peer) && seen.unread.front().why.kind == ErrorKind::unsupported)
    LOCKSTEP_NOT_TESTED_BUT_ON_CI("lldpd: built without liblldpctl");
  EXPECT_EQ(seen.have.value(peer), Value::text("leaf0:swp1"));
  shell("rm -r " + folder);
}

TEST_F(LldpOnTheWire, AMissingLldpdLeavesPeersUnread) {
  attached_ = make_linux_driver(target("/tmp/lslinux-none"));
  EXPECT_TRUE(is_unread(observed().unread, *Path::parse("interface[rail0]/peer")));
  EXPECT_EQ(value("interface[rail0]/mtu"), Value::integer(1500));
}

// A stand-in for an lldpd that accepts connections and never answers.
class HungLldpd : public ::testing::Test {
 protected:
  HungLldpd()
      : path_("/tmp/lslinux-hung-" + std::to_string(::getpid())),
        listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    path_.copy(at.sun_path, sizeof(at.sun_path) - 1);
    if (::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)) != 0 ||
        ::listen(listener_.number(), 4) != 0)
      throw std::runtime_error(path_);
  }
  ~HungLldpd() override { ::unlink(path_.c_str()); }

  const std::string path_;
  Descriptor listener_;
};

TEST_F(HungLldpd, AStopEndsTheWaitForTheFirstCall) {
  if (read_lldpd("/tmp/lslinux-none", within(std::chrono::seconds(1))).why->kind == ErrorKind::unsupported)
    LOCKSTEP_NOT_TESTED_BUT_ON_CI("lldpd: built without liblldpctl");
  const Descriptor let_go(::eventfd(0, EFD_CLOEXEC));
  std::thread first([&] {
    Call call = within(std::chrono::seconds(20));
    call.wake_fd = let_go.number();
    (void)read_lldpd(path_, call);
  });
  ASSERT_TRUE(wait_for(listener_.number(), POLLIN, within(std::chrono::seconds(10)))) << "it never came";
  const Descriptor stop(::eventfd(1, EFD_CLOEXEC));
  Call call = within(std::chrono::seconds(20));
  call.wake_fd = stop.number();
  const LldpdAnswer second = read_lldpd(path_, call);
  ASSERT_TRUE(second.why);
  EXPECT_EQ(second.why->kind, ErrorKind::cancelled) << second.why->text();
  EXPECT_NE(second.why->text().find("others are being asked"), std::string::npos)
      << "it had its turn only when the first gave up: " << second.why->text();
  const std::uint64_t one = 1;
  ASSERT_EQ(::write(let_go.number(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
  first.join();
}

}  // namespace
}  // namespace lockstep
