#include "reconciler/twin/late_relay.hpp"

#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 declares C functions there without saying so
}

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "reconciler/twin/namespace.hpp"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

// A frame that segmentation was left for (64 KiB), with its headers.
constexpr std::size_t kLargestFrame = (std::size_t{64} << 10) + 256;
// struct virtio_net_hdr, before each frame; linux/virtio_net.h is not C++.
constexpr ssize_t kOffloadHeader = 10;
constexpr std::size_t kHeldMax = 4096;  // chosen: seconds of the traffic of one agent

Result<Descriptor> open_port(const std::string& name) {
  Descriptor out(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!out) return errno_error("open a packet socket");
  const int on = 1;
  for (const int option : {PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING})
    if (::setsockopt(out.number(), SOL_PACKET, option, &on, sizeof(on)) != 0)
      return errno_error("set up a packet socket");
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(ETH_P_ALL);
  at.sll_ifindex = static_cast<int>(::if_nametoindex(name.c_str()));
  if (at.sll_ifindex == 0) return errno_error("find " + name);
  if (::bind(out.number(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)) != 0)
    return errno_error("bind to " + name);
  return out;
}

class OneWay {
 public:
  OneWay(const Descriptor& from, const Descriptor& to, Clock::duration delay)
      : from_(from), to_(to), delay_(delay), room_(kLargestFrame) {}

  void take() {
    for (;;) {
      const ssize_t got = ::recv(from_.number(), room_.data(), room_.size(), 0);
      if (got <= kOffloadHeader) return;
      if (held_.size() < kHeldMax)
        held_.push_back({Clock::now() + delay_, {room_.begin(), room_.begin() + got}});
    }
  }
  void give() {
    for (; !held_.empty() && held_.front().due <= Clock::now(); held_.pop_front())
      (void)!::send(to_.number(), held_.front().frame.data(), held_.front().frame.size(), 0);
  }
  std::optional<Clock::time_point> next() const {
    return held_.empty() ? std::nullopt : std::optional(held_.front().due);
  }

 private:
  struct Held {
    Clock::time_point due;
    std::vector<char> frame;
  };
  const Descriptor& from_;
  const Descriptor& to_;
  Clock::duration delay_;
  std::vector<char> room_;
  std::deque<Held> held_;
};

[[noreturn]] void relay(const Descriptor& one, const Descriptor& other, Clock::duration delay) {
  OneWay there(one, other, delay);
  OneWay back(other, one, delay);
  for (;;) {
    std::array<pollfd, 2> waits{{{one.number(), POLLIN, 0}, {other.number(), POLLIN, 0}}};
    std::optional<Clock::time_point> next = there.next();
    if (back.next() && (!next || *back.next() < *next)) next = back.next();
    timespec pause{};
    if (next) {
      const auto left = std::max(*next - Clock::now(), Clock::duration::zero());
      const auto whole = std::chrono::floor<std::chrono::seconds>(left);
      pause.tv_sec = whole.count();
      pause.tv_nsec = std::chrono::nanoseconds(left - whole).count();
    }
    (void)::ppoll(waits.data(), waits.size(), next ? &pause : nullptr, nullptr);
    there.take();
    back.take();
    there.give();
    back.give();
  }
}

// The child. What it has nothing to say about has started once `report` is closed.
[[noreturn]] void run(int netns, const LatePath& path, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto fail = [&](const Error& why) {
    (void)!::write(report, why.what.data(), why.what.size());
    ::_exit(1);
  };
  if (::setns(netns, CLONE_NEWNET) != 0) fail(errno_error("enter the network namespace"));
  const Result<Descriptor> one = open_port(path.one);
  if (!one) fail(one.error());
  const Result<Descriptor> other = open_port(path.other);
  if (!other) fail(other.error());
  // The parent's descriptors (its lock, its control socket) are not for this process.
  const unsigned low = static_cast<unsigned>(std::min(one->number(), other->number()));
  const unsigned high = static_cast<unsigned>(std::max(one->number(), other->number()));
  ::close_range(STDERR_FILENO + 1, low - 1, 0);
  ::close_range(low + 1, high - 1, 0);
  ::close_range(high + 1, ~0U, 0);
  relay(*one, *other, path.delay);
}

}  // namespace

Result<LateRelay> LateRelay::start(int netns, const LatePath& path) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error("pipe");
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return errno_error("fork");
  if (pid == 0) run(netns, path, writer.number());
  LateRelay out;
  out.process_ = Descriptor(::pidfd_open(pid, 0));
  writer.close();
  std::array<char, 256> why{};
  const ssize_t said = ::read(reader.number(), why.data(), why.size());
  if (said > 0) return Error{ErrorKind::refused, std::string(why.data(), static_cast<std::size_t>(said))};
  if (!out.process_) return errno_error("watch the relay");
  return out;
}

LateRelay& LateRelay::operator=(LateRelay&& other) noexcept {
  end();
  process_ = std::move(other.process_);
  return *this;
}

LateRelay::~LateRelay() { end(); }

void LateRelay::end() {
  if (!process_) return;
  (void)::pidfd_send_signal(process_.number(), SIGKILL, nullptr, 0);
  (void)::waitid(P_PIDFD, static_cast<id_t>(process_.number()), nullptr, WEXITED);
  process_.close();
}

}  // namespace lockstep
