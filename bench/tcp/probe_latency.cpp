// Request-response: the ping side repeatedly sends a small message, waits for its echo and records the round
// trip; the echo side sends back what it receives. Latency is half the round trip; histograms hold whole
// round trips.
#include <cerrno>
#include <nlohmann/json.hpp>

#include "bench/histogram.hpp"
#include "bench/tcp/probe_loop.hpp"

namespace lockstep::bench {
namespace {

constexpr std::size_t message_most = 65536;  // above this it is a stream, not a request

class Echo final : public Task {
 public:
  using Task::Task;

  Result<Done> start() override {
    TRY(listener_, listen());
    return Done{};
  }

  void ready(int fd) override {
    if (fd == listener_.number()) {
      connection_ = accept_from(fd, peer_);
      if (!connection_) return;
      loop_.forget(fd);
      listener_.close();
      wake_at = ~std::uint64_t{0};
      loop_.watch(connection_.number(), *this, true, false);
      return;
    }
    if (!greeted_) greeted_ = read_hello(fd);
    if (!greeted_) return;
    exchange(fd);
  }

  void timed(std::uint64_t) override { fail("nobody connected"); }

 private:
  void exchange(int fd) {
    for (;;) {
      if (pending_.empty()) {
        std::vector<char> bytes(message_most);
        const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
        if (got <= 0) {  // the ping side has finished, and reports its own end
          finished = true;
          return;
        }
        pending_.assign(bytes.data(), static_cast<std::size_t>(got));
      }
      const ssize_t sent = send(fd, pending_.data(), pending_.size(), MSG_NOSIGNAL);
      if (sent < 0 && (errno == EAGAIN || errno == EINTR)) break;
      if (sent < 0) return fail(stage_of(errno));
      pending_.erase(0, static_cast<std::size_t>(sent));
    }
    loop_.watch(fd, *this, pending_.empty(), !pending_.empty());
  }

  Descriptor listener_;
  Descriptor connection_;
  bool greeted_ = false;
  std::string pending_;
};

class Ping final : public Task {
 public:
  Ping(ProbeLoop& loop, const Json& order)
      : Task(loop, order),
        warm_up_(number_of(order, "warmUp")),
        window_ns_(number_of(order, "windowNs")),
        message_(std::clamp<std::size_t>(number_of(order, "messageBytes"), 1, message_most), 'p') {}

  Result<Done> start() override {
    TRY(connection_, dial(peer_));
    return Done{};
  }

  void ready(int fd) override {
    if (!connected_ && !take_connected(fd)) return;
    while (!finished) {
      if (sent_ < message_.size() && !push(fd)) return;
      if (!pull(fd)) return;
      complete(now_ns());
    }
  }

  void timed(std::uint64_t) override {
    if (!connected_) return fail("connect timed out");
    if (round_trips_ == 0) return fail("black hole: connected, and the first request got no reply");
    fail("no reply after " + std::to_string(round_trips_) + " round trips", "stall");
  }

 private:
  bool take_connected(int fd) {
    connected_ = finish_connect(fd);
    if (!connected_) return false;
    tell({{"event", "connected"}});
    begin(now_ns());
    return true;
  }

  void begin(std::uint64_t now) {
    sent_ = 0;
    received_ = 0;
    sent_at_ = now;
    wake_at = now + stall_ns_;
  }

  bool push(int fd) {
    const ssize_t got = send(fd, message_.data() + sent_, message_.size() - sent_, MSG_NOSIGNAL);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      loop_.watch(fd, *this, true, true);
      return false;
    }
    if (got < 0) {
      fail(stage_of(errno));
      return false;
    }
    sent_ += static_cast<std::size_t>(got);
    if (sent_ < message_.size()) return false;
    if (!reading_) loop_.watch(fd, *this, true, false);
    reading_ = true;
    return true;
  }

  bool pull(int fd) {
    const ssize_t got = recv(fd, reply_.data(), std::min(reply_.size(), message_.size() - received_), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
      fail(got == 0 ? "closed by the peer in mid-run" : stage_of(errno));
      return false;
    }
    received_ += static_cast<std::size_t>(got);
    return received_ == message_.size();
  }

  void complete(std::uint64_t now) {
    ++round_trips_;
    if (window_from_ != 0) {
      seen_.record(now - sent_at_);
      if (now >= window_from_ + window_ns_) return report(now);
    } else if (round_trips_ >= warm_up_) {
      window_from_ = now;
      cpu_ = process_cpu();
    }
    begin(now);
  }

  void report(std::uint64_t now) {
    Json result = to_json(seen_);
    result["event"] = "result";
    result["busy"] = busy_share(cpu_, process_cpu(), now - window_from_);
    tell(std::move(result));
    finished = true;
    // Everything is answered; a normal close would keep the port for a minute (RFC 9293, TIME-WAIT).
    close_hard(connection_);
  }

  Descriptor connection_;
  bool connected_ = false;
  bool reading_ = false;
  std::uint64_t warm_up_;
  std::uint64_t window_ns_;
  std::string message_;
  std::vector<char> reply_ = std::vector<char>(message_most);
  std::size_t sent_ = 0;
  std::size_t received_ = 0;
  std::uint64_t sent_at_ = 0;
  std::uint64_t window_from_ = 0;
  std::uint64_t round_trips_ = 0;
  Histogram seen_;
  ProcessCpu cpu_;
};

}  // namespace

std::unique_ptr<Task> make_echo(ProbeLoop& loop, const Json& order) {
  return std::make_unique<Echo>(loop, order);
}
std::unique_ptr<Task> make_ping(ProbeLoop& loop, const Json& order) {
  return std::make_unique<Ping>(loop, order);
}

}  // namespace lockstep::bench
