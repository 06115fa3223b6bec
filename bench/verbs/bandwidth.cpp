// Bandwidth: the sender keeps each queue pair's window full; the receiver of sends posts buffers again.
#include <array>

#include "bench/verbs/completion.hpp"
#include "bench/verbs/patience.hpp"
#include "bench/verbs/post.hpp"

namespace lockstep::bench::verbs {
namespace {

constexpr std::size_t completions_at_once = 32;

// A longer list of large messages saves nothing, and arrives in one burst: with rxe 6.1 lists of 16 times 64
// KiB lost packets within the machine (out_of_seq_request 26 of 32,000, of single messages 0).
constexpr std::uint32_t list_bytes = 65536;

// One queue pair's side of a bandwidth run.
struct Lane {
  SendWindow window;
  std::uint64_t quota;                   // messages; if the run is limited by duration: no bound
  std::vector<std::uint64_t> posted_at;  // ns, by position in the window; of signalled messages
};

class Sender {
 public:
  Sender(const Surroundings& at, const Workload& workload)
      : at_(at),
        workload_(workload),
        list_(std::clamp(list_bytes / workload.bytes, 1U, workload.batch)),
        requests_(at, workload),
        patience_(at, workload) {
    const std::uint64_t all = workload.iterations + workload.warm_up;
    for (std::uint32_t i = 0; i < workload.queue_pairs; ++i) {
      const std::uint64_t share = all / workload.queue_pairs + (i < all % workload.queue_pairs ? 1 : 0);
      lanes_.push_back({SendWindow(workload.depth, workload.signal_every),
                        workload.iterations != 0 ? share : ~std::uint64_t{0},
                        std::vector<std::uint64_t>(workload.depth)});
    }
  }

  Transfer run() {
    begin_ = now_ns();
    counting_ = workload_.warm_up == 0;
    while (going()) {
      bool idle = !post();
      idle = !poll() && idle;
      if (!idle) patience_.progress();
      if (patience_.time_to_check()) stop(patience_.verdict(out_.completed));
    }
    out_.elapsed_ns = now_ns() - begin_;
    for (const Lane& lane : lanes_) out_.sent.push_back(lane.window.posted());
    return std::move(out_);
  }

 private:
  void stop(Failure why) {
    if (out_.failure.trouble == Trouble::none) out_.failure = std::move(why);
  }
  bool failed() const { return out_.failure.trouble != Trouble::none; }
  bool going() const {
    if (failed()) return false;
    for (const Lane& lane : lanes_)
      if (!lane.window.idle() || (!closed_ && lane.window.posted() < lane.quota)) return true;
    return false;
  }

  bool time_is_up() const {
    return !closed_ && workload_.iterations == 0 && counting_ &&
           now_ns() - begin_ >= std::uint64_t{workload_.duration_ms} * 1'000'000;
  }

  // Lists as long as `batch`, or the rest of the quota.
  bool post() {
    bool any = false;
    for (std::size_t i = 0; i < lanes_.size() && !failed(); ++i) {
      Lane& lane = lanes_[i];
      const std::uint64_t left =
          closed_ ? (lane.window.unsignalled_tail() ? 1 : 0) : lane.quota - lane.window.posted();
      const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(list_, left));
      if (count == 0 || lane.window.room() < count) continue;
      if (time_is_up()) {
        closed_ = true;  // from here on only posts that make each lane's last message signalled
        return true;
      }
      for (std::uint32_t k = 0; k < count; ++k) {
        const SendWindow::Next next = lane.window.take(k + 1 == left);
        if (next.signalled) lane.posted_at[next.message % workload_.depth] = now_ns();
        requests_.add(i, next.message, next.signalled);
      }
      if (auto done = at_.queue->post_send(i, requests_.list()); !done)
        stop({Trouble::tool, "posting: " + done.error().text()});
      requests_.clear();
      any = true;
    }
    return any;
  }

  bool poll() {
    const int got = at_.queue->poll_sent(completions_);
    if (got == 0) return false;
    if (got < 0) {
      stop(polling_failed());
      return true;
    }
    const std::uint64_t now = now_ns();
    for (const ibv_wc& one : std::span(completions_).first(static_cast<std::size_t>(got))) take(one, now);
    return true;
  }

  void take(const ibv_wc& one, std::uint64_t now) {
    if (failed()) return;
    if (one.status != IBV_WC_SUCCESS) return stop(failure_of(one, out_.completed));
    const std::size_t i = queue_pair_of(one.wr_id);
    const std::uint64_t ended = i < lanes_.size() ? lanes_[i].window.complete(message_of(one.wr_id)) : 0;
    if (ended == 0)
      return stop({Trouble::tool, "the device completed message " + std::to_string(message_of(one.wr_id)) +
                                      " of queue pair " + std::to_string(i) + ", which is not in flight"});
    if (!counting_) {
      warmed_ += ended;
      if (warmed_ < workload_.warm_up) return;
      counting_ = true;
      begin_ = now;
      return;
    }
    out_.completed += ended;
    out_.seen.record(now - lanes_[i].posted_at[message_of(one.wr_id) % workload_.depth]);
  }

  const Surroundings& at_;
  const Workload& workload_;
  std::uint32_t list_;  // messages in one
  SendList requests_;
  Patience patience_;
  std::vector<Lane> lanes_;
  std::array<ibv_wc, completions_at_once> completions_{};
  Transfer out_;
  std::uint64_t begin_ = 0;
  std::uint64_t warmed_ = 0;
  bool counting_ = false;
  bool closed_ = false;  // limited by duration: its time is up
};

}  // namespace

Transfer send_bandwidth(const Surroundings& at, const Workload& workload) {
  return Sender(at, workload).run();
}

Transfer receive_bandwidth(const Surroundings& at, const Workload& workload) {
  Transfer out;
  Receives receives(at, workload);
  Patience patience(at, workload);
  std::array<ibv_wc, completions_at_once> completions{};
  std::optional<std::uint64_t> all;
  std::uint64_t begin = 0;
  while (out.failure.trouble == Trouble::none && (!all || out.completed < *all)) {
    const int got = at.queue->poll_received(completions);
    if (got < 0) {
      out.failure = polling_failed();
      break;
    }
    for (const ibv_wc& one : std::span(completions).first(static_cast<std::size_t>(got))) {
      out.failure = receives.take(one, out.completed);
      if (out.failure.trouble != Trouble::none) break;
      if (++out.completed == 1) begin = now_ns();
    }
    if (got != 0) patience.progress();
    if (out.failure.trouble != Trouble::none || !patience.time_to_check()) continue;
    all = at.told();
    if (!all || out.completed < *all) out.failure = patience.verdict(out.completed);
  }
  if (all && out.completed > *all)
    out.failure = {Trouble::wrong, std::to_string(out.completed) + " messages came of " +
                                       std::to_string(*all) + " that were sent"};
  out.elapsed_ns = begin == 0 ? 0 : now_ns() - begin;
  return out;
}

}  // namespace lockstep::bench::verbs
