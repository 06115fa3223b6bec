// Ring all-reduce: one rank. Reduce-scatter, then all-gather, over one connection to the next rank and one
// from the previous, as one stream per rank and iteration.
//
// With n ranks, the buffer is n chunks and each rank sends 2(n-1) of them: step s sends chunk r-s. What is
// sent in a step is what arrived (and, in the first n-1 steps, was added) in the step before. So byte p of
// the incoming stream frees byte p + chunk of the outgoing one, and both run at the same time: no step waits
// for the end of another. Before each iteration two one-byte tokens go round: the first means that all are
// ready, the second that the iteration begins (or that the last one is done), so that checking the result is
// not in the measured time.
//
// Every element of every iteration's result is compared with the exact sum, and then overwritten with NaN, so
// that neither a lost byte nor the result of the previous iteration goes unnoticed. A rank has finished once
// it has sent and received the stop token; it then resets the connection on which the token arrived.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "bench/tcp/probe_loop.hpp"

namespace lockstep::bench {
namespace {

constexpr std::size_t block = std::size_t{256} << 10U;
constexpr std::size_t period = 31;  // of the test pattern; prime, to detect a shift by a power of two
constexpr std::size_t iterations_most = 20'000;  // their times fit a message
constexpr std::uint64_t bytes_most = std::uint64_t{8} << 30U;
constexpr char go = 'g';
constexpr char stop = 's';

// Small whole numbers: their sums are exact in float32 (24 bits) for up to half a million ranks.
float pattern(std::size_t element, std::size_t rank) {
  return static_cast<float>((element * 5 + rank * 3) % period);
}

class Rank final : public Task {
 public:
  Rank(ProbeLoop& loop, const Json& order)
      : Task(loop, order),
        rank_(number_of(order, "rank")),
        ranks_(number_of(order, "ranks")),
        iterations_(std::min<std::uint64_t>(number_of(order, "iterations"), iterations_most)),
        budget_ns_(number_of(order, "budgetNs")),
        corrupt_(number_of(order, "corrupt") != 0) {
    const std::uint64_t elements = std::min(number_of(order, "bytes"), bytes_most) / sizeof(float);
    if (ranks_ >= 2) chunk_ = std::max<std::size_t>(1, elements / ranks_) * sizeof(float);
  }

  Result<Done> start() override {
    if (ranks_ < 2 || rank_ >= ranks_ || iterations_ == 0)
      return Error{ErrorKind::invalid_spec, "a ring needs two ranks and one iteration", nullptr};
    fill();
    TRY(listener_, listen());
    return Done{};
  }

  // "join": connect to the next rank, whose port is known by now.
  void told(const Json& order) override {
    auto next = parse_address(text_of(order, "next"), static_cast<std::uint16_t>(number_of(order, "port")));
    if (!next) return fail(next.error().what, "tool");
    choose_port(order);
    auto made = dial(*next);
    if (!made) return fail(made.error().what);
    next_ = std::move(*made);
  }

  void ready(int fd) override {
    if (fd == listener_.number()) return take_previous();
    if (fd == next_.number() && !connected_ && !take_connected()) return;
    if (fd == previous_.number() && !greeted_) greeted_ = read_hello(fd);
    if (!connected_ || !greeted_ || finished) return;
    if (!joined_) join();
    if (fd == next_.number()) {
      if (has_sent_all()) return loop_.forget(fd);  // the next rank has received everything, and closed
      if (const int error = socket_error(fd); error != 0) return lose("the next rank: " + stage_of(error));
    }
    advance();
  }

  void timed(std::uint64_t now) override {
    if (!connected_) return fail("connect timed out");
    if (!greeted_) return fail("the previous rank did not connect");
    if (now < moved_at_ + stall_ns_) {
      wake_at = moved_at_ + stall_ns_;
      return;
    }
    lose("stalled in iteration " + std::to_string(finishes_.size()), true);
  }

 private:
  // The position of each rank shows the controller between which two of them bytes are lost: a rank that
  // stalls closes, and its neighbours only see the close.
  void lose(const std::string& text, bool stalled = false) {
    if (finished) return;
    finished = true;
    tell({{"event", "failed"},
          {"text", text},
          {"trouble", "path"},
          {"stalled", stalled},
          {"sent", all_sent_},
          {"received", all_received_}});
  }

  void fill() {
    const std::size_t elements = chunk_ / sizeof(float) * ranks_;
    input_.resize(elements);
    output_.assign(elements, std::numeric_limits<float>::quiet_NaN());
    for (std::size_t i = 0; i < elements; ++i) input_[i] = pattern(i, rank_);
    sums_.assign(period, 0);
    for (std::size_t i = 0; i < period; ++i)
      for (std::size_t r = 0; r < ranks_; ++r) sums_[i] += pattern(i, r);
  }

  void take_previous() {
    previous_ = accept_from(listener_.number(), peer_);
    if (!previous_) return;
    loop_.forget(listener_.number());
    listener_.close();
    loop_.watch(previous_.number(), *this, true, false);
  }

  bool take_connected() {
    connected_ = finish_connect(next_.number());
    if (!connected_) return false;
    moved_at_ = now_ns();
    loop_.watch(next_.number(), *this, false, false);
    return true;
  }

  void join() {
    joined_ = true;
    tell({{"event", "connected"}});
    began_at_ = now_ns();
    moved_at_ = began_at_;
    cpu_ = process_cpu();
    wake_at = began_at_ + stall_ns_;
  }

  std::uint64_t stream_bytes() const { return 2 * (ranks_ - 1) * chunk_; }

  void advance() {
    for (bool moved = true; moved && !finished;) {
      moved = receive();
      if (!finished) moved = transmit() || moved;
      if (!finished && tokens_sent_ == 2 && out_ == stream_bytes() && in_ == stream_bytes()) {
        end_iteration();
        moved = true;
      }
      if (!finished && has_sent_all() && tokens_in_ == 2) report();
    }
    if (finished) return;
    if (!has_sent_all()) loop_.watch(next_.number(), *this, false, may_send());
    // Data that the previous rank sends ahead waits in the socket: repeated events for it would be useless.
    loop_.watch(previous_.number(), *this, tokens_in_ < 2 || in_ < stream_bytes(), false);
  }

  // --- incoming: token, token, data ---
  bool receive() {
    if (tokens_in_ < 2) return receive_token();
    if (last_ || in_ == stream_bytes()) return false;
    const std::uint64_t step = in_ / chunk_;
    const std::uint64_t room = chunk_ - in_ % chunk_;
    if (step >= ranks_ - 1)
      return receive_into(bytes_of(output_, (rank_ + 2 * ranks_ - 1 - step) % ranks_), room);
    return receive_and_add(step, room);
  }

  bool receive_token() {
    // The first token of the next round may have been waiting for this rank to be ready, which is now.
    char token = 0;
    if (!got(recv(previous_.number(), &token, 1, 0))) return false;
    ++tokens_in_;
    if (token == stop) last_ = true;
    return true;
  }

  bool receive_into(char* chunk, std::uint64_t room) {
    const ssize_t count =
        recv(previous_.number(), chunk + in_ % chunk_, std::min<std::uint64_t>(room, block), 0);
    if (!got(count)) return false;
    in_ += static_cast<std::uint64_t>(count);
    return true;
  }

  bool receive_and_add(std::uint64_t step, std::uint64_t room) {
    const std::uint64_t most = std::min<std::uint64_t>(room, block) - carried_;
    const ssize_t count = recv(previous_.number(), staging_.data() + carried_, most, 0);
    if (!got(count)) return false;
    const std::size_t have = carried_ + static_cast<std::size_t>(count);
    const std::size_t whole = have / sizeof(float);
    const std::size_t chunk = (rank_ + 2 * ranks_ - 1 - static_cast<std::size_t>(step)) % ranks_;
    const std::size_t first = (chunk * chunk_ + in_ % chunk_) / sizeof(float);
    arrived_.resize(whole);
    std::memcpy(arrived_.data(), staging_.data(), whole * sizeof(float));
    for (std::size_t i = 0; i < whole; ++i) output_[first + i] = arrived_[i] + input_[first + i];
    if (corrupt_ && whole > 0) {
      output_[first] += 1;
      corrupt_ = false;
    }
    carried_ = have - whole * sizeof(float);
    std::memmove(staging_.data(), staging_.data() + whole * sizeof(float), carried_);
    in_ += whole * sizeof(float);
    return true;
  }

  // --- outgoing: token, token, data as far as it has arrived ---
  bool token_due() const {
    if (tokens_sent_ == 0) return rank_ == 0 || tokens_in_ >= 1;
    return tokens_sent_ == 1 && (rank_ == 0 ? tokens_in_ >= 1 : tokens_in_ >= 2);
  }
  std::uint64_t sendable() const {
    return tokens_sent_ < 2 || last_ ? 0 : std::min(stream_bytes(), chunk_ + in_) - out_;
  }
  bool may_send() const { return token_due() || sendable() > 0; }
  bool has_sent_all() const { return last_ && tokens_sent_ == 2; }

  bool transmit() {
    if (token_due()) return send_token();
    const std::uint64_t ready = sendable();
    if (ready == 0) return false;
    const std::uint64_t step = out_ / chunk_;
    const std::size_t chunk = (rank_ + 2 * ranks_ - static_cast<std::size_t>(step)) % ranks_;
    const char* from = bytes_of(step == 0 ? input_ : output_, chunk) + out_ % chunk_;
    const std::uint64_t most = std::min({ready, chunk_ - out_ % chunk_, static_cast<std::uint64_t>(block)});
    const ssize_t count = send(next_.number(), from, most, MSG_NOSIGNAL);
    if (!put(count)) return false;
    out_ += static_cast<std::uint64_t>(count);
    return true;
  }

  bool send_token() {
    if (tokens_sent_ == 1 && rank_ == 0)
      last_ = starts_.size() >= iterations_ || now_ns() > began_at_ + budget_ns_;
    const char token = tokens_sent_ == 1 && last_ ? stop : go;
    if (!put(send(next_.number(), &token, 1, MSG_NOSIGNAL))) return false;
    ++tokens_sent_;
    if (tokens_sent_ == 2 && !last_) starts_.push_back(now_ns());
    return true;
  }

  bool got(ssize_t count) {
    if (count > 0) {
      moved_at_ = now_ns();
      all_received_ += static_cast<std::uint64_t>(count);
      return true;
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    lose(count == 0 ? "the previous rank closed in mid-run" : stage_of(errno));
    return false;
  }
  bool put(ssize_t count) {
    if (count > 0) {
      moved_at_ = now_ns();
      all_sent_ += static_cast<std::uint64_t>(count);
      return true;
    }
    if (errno == EAGAIN || errno == EINTR) return false;
    lose("the next rank: " + stage_of(errno));
    return false;
  }

  void end_iteration() {
    finishes_.push_back(now_ns());
    for (std::size_t i = 0; i < output_.size(); ++i) {
      if (output_[i] != sums_[i % period]) {
        return fail("element " + std::to_string(i) + " of iteration " + std::to_string(finishes_.size() - 1) +
                        " is " + std::to_string(output_[i]) + ", not " + std::to_string(sums_[i % period]),
                    "wrong");
      }
      output_[i] = std::numeric_limits<float>::quiet_NaN();
    }
    tokens_in_ = 0;
    tokens_sent_ = 0;
    in_ = 0;
    out_ = 0;
    carried_ = 0;
    moved_at_ = now_ns();
  }

  void report() {
    const std::uint64_t now = now_ns();
    tell({{"event", "result"},
          {"starts", starts_},
          {"finishes", finishes_},
          {"bytes", output_.size() * sizeof(float)},
          {"busy", busy_share(cpu_, process_cpu(), now - began_at_)}});
    finished = true;
    close_hard(previous_);  // a normal close would keep the port for a minute (RFC 9293, TIME-WAIT)
  }

  char* bytes_of(std::vector<float>& buffer, std::size_t chunk) const {
    return reinterpret_cast<char*>(buffer.data()) + chunk * chunk_;
  }

  std::uint64_t rank_;
  std::uint64_t ranks_;
  std::uint64_t iterations_;
  std::uint64_t budget_ns_;
  bool corrupt_;
  std::uint64_t chunk_ = 0;  // bytes

  Descriptor listener_;
  Descriptor next_;
  Descriptor previous_;
  bool connected_ = false;
  bool greeted_ = false;
  bool joined_ = false;
  bool last_ = false;

  std::vector<float> input_;
  std::vector<float> output_;
  std::vector<float> arrived_;
  std::vector<float> sums_;
  std::vector<char> staging_ = std::vector<char>(block + sizeof(float));
  std::size_t carried_ = 0;  // bytes of an incomplete float

  int tokens_in_ = 0;
  int tokens_sent_ = 0;
  std::uint64_t in_ = 0;
  std::uint64_t out_ = 0;
  std::uint64_t all_sent_ = 0;
  std::uint64_t all_received_ = 0;
  std::uint64_t began_at_ = 0;
  std::uint64_t moved_at_ = 0;
  std::vector<std::uint64_t> starts_;
  std::vector<std::uint64_t> finishes_;
  ProcessCpu cpu_;
};

}  // namespace

std::unique_ptr<Task> make_rank(ProbeLoop& loop, const Json& order) {
  return std::make_unique<Rank>(loop, order);
}

}  // namespace lockstep::bench
