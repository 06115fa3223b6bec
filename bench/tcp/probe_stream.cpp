// Stream: a source sends as fast as the socket takes it, a sink counts what arrives in a steady window.
//
// The sink decides: it starts its window after the warm-up, ends it at the first read after the window's end,
// and divides the bytes between the two by the time between the two, so that the size of a read does not
// matter. Then it closes hard, and the source takes the reset for the end.
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "bench/tcp/probe_loop.hpp"

namespace lockstep::bench {
namespace {

// One send or receive: above 128 KiB the system call is under 2 % of the copy (iperf3's default is 128 KiB).
constexpr std::size_t block = std::size_t{256} << 10U;
// Blocks that one role may move before the probe's other roles get their turn.
constexpr int blocks_a_turn = 16;

std::vector<char>& scratch() {
  static std::vector<char> bytes(block, 'x');
  return bytes;
}

class Sink final : public Task {
 public:
  Sink(ProbeLoop& loop, const Json& order)
      : Task(loop, order),
        warm_up_ns_(number_of(order, "warmUpNs")),
        window_ns_(number_of(order, "windowNs")) {}

  Result<Done> start() override {
    TRY(listener_, listen());
    return Done{};
  }

  void ready(int fd) override {
    if (fd == listener_.number()) return take_connection();
    if (!greeted_) {
      greeted_ = read_hello(fd);
      if (!greeted_) return;
      started_at_ = now_ns();
      moved_at_ = started_at_;
    }
    for (int i = 0; i < blocks_a_turn && !finished; ++i)
      if (!take_block(fd)) return;
  }

  void timed(std::uint64_t now) override {
    if (!connection_) return fail("nobody connected");
    if (now - moved_at_ >= stall_ns_) return fail(stall_text(), total_ < block ? "path" : "stall");
    if (window_from_ != 0 && now >= window_from_ + window_ns_ + stall_ns_) return report(now);
    wake_at = moved_at_ + stall_ns_;
  }

 private:
  void take_connection() {
    connection_ = accept_from(listener_.number(), peer_);
    if (!connection_) return;
    loop_.forget(listener_.number());
    listener_.close();
    moved_at_ = now_ns();
    wake_at = moved_at_ + stall_ns_;
    loop_.watch(connection_.number(), *this, true, false);
  }

  bool take_block(int fd) {
    // MSG_TRUNC: TCP drops the bytes instead of copying them (tcp(7)): the network is measured, and in a twin
    // the forwarding path needs the CPU that a copy would use.
    const ssize_t got = recv(fd, scratch().data(), block, MSG_TRUNC);
    if (got < 0) {
      if (errno != EAGAIN && errno != EINTR) fail(stage_of(errno) + " in mid-stream");
      return false;
    }
    if (got == 0) {
      fail("closed by the peer in mid-stream");
      return false;
    }
    const std::uint64_t now = now_ns();
    moved_at_ = now;
    total_ += static_cast<std::uint64_t>(got);
    if (window_from_ == 0) {
      if (now >= started_at_ + warm_up_ns_) open_window(now);
    } else if (now >= window_from_ + window_ns_) {
      report(now);
    }
    return !finished;
  }

  void open_window(std::uint64_t now) {
    window_from_ = now;
    before_window_ = total_;
    cpu_ = process_cpu();
  }

  void report(std::uint64_t now) {
    const std::uint64_t elapsed = now - window_from_;
    const ProcessCpu cpu = process_cpu();
    tell({{"event", "result"},
          {"bytes", total_ - before_window_},
          {"elapsedNs", elapsed},
          {"busy", busy_share(cpu_, cpu, elapsed)},
          {"ran", ran_share(cpu_, cpu, elapsed)}});
    finished = true;
    close_hard(connection_);
  }

  std::string stall_text() const {
    if (!greeted_) return "connected, and no data";
    // The greeting is 8 bytes and got through; what follows are full-sized packets.
    if (total_ < block)
      return "black hole: connected, then no progress after " + std::to_string(total_) +
             " bytes: large packets are lost, an MTU mismatch on the path is likely";
    return "stalled in mid-stream after " + std::to_string(total_) + " bytes";
  }

  Descriptor listener_;
  Descriptor connection_;
  bool greeted_ = false;
  std::uint64_t warm_up_ns_;
  std::uint64_t window_ns_;
  std::uint64_t started_at_ = 0;
  std::uint64_t moved_at_ = 0;
  std::uint64_t window_from_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t before_window_ = 0;
  ProcessCpu cpu_;
};

class Source final : public Task {
 public:
  using Task::Task;

  Result<Done> start() override {
    TRY(connection_, dial(peer_));
    return Done{};
  }

  void ready(int fd) override {
    if (!connected_ && !take_connected(fd)) return;
    for (int i = 0; i < blocks_a_turn; ++i) {
      const ssize_t got = send(fd, scratch().data(), block, MSG_NOSIGNAL);
      if (got >= 0) continue;
      if (errno == EAGAIN || errno == EINTR) return;
      return end();
    }
  }

  // Before the connect: timeout. After it the sink decides, and the controller cancels.
  void timed(std::uint64_t) override {
    if (!connected_) return fail("connect timed out");
    wake_at = ~std::uint64_t{0};
  }

 private:
  bool take_connected(int fd) {
    connected_ = finish_connect(fd);
    if (!connected_) return false;
    wake_at = ~std::uint64_t{0};
    started_at_ = now_ns();
    cpu_ = process_cpu();
    tell({{"event", "connected"}});
    return true;
  }

  void end() {
    tcp_info info{};
    socklen_t length = sizeof info;
    (void)getsockopt(connection_.number(), IPPROTO_TCP, TCP_INFO, &info, &length);
    const ProcessCpu cpu = process_cpu();
    const std::uint64_t elapsed = now_ns() - started_at_;
    tell({{"event", "ended"},
          {"pathMtu", info.tcpi_pmtu},
          {"mss", info.tcpi_snd_mss},
          {"retransmits", info.tcpi_total_retrans},
          {"busy", busy_share(cpu_, cpu, elapsed)},
          {"ran", ran_share(cpu_, cpu, elapsed)}});
    finished = true;
  }

  Descriptor connection_;
  bool connected_ = false;
  std::uint64_t started_at_ = 0;
  ProcessCpu cpu_;
};

}  // namespace

std::unique_ptr<Task> make_sink(ProbeLoop& loop, const Json& order) {
  return std::make_unique<Sink>(loop, order);
}
std::unique_ptr<Task> make_source(ProbeLoop& loop, const Json& order) {
  return std::make_unique<Source>(loop, order);
}

}  // namespace lockstep::bench
