// Latency: one message at a time, there and back.
#include <array>
#include <atomic>

#include "bench/verbs/completion.hpp"
#include "bench/verbs/patience.hpp"
#include "bench/verbs/post.hpp"

namespace lockstep::bench::verbs {
namespace {

constexpr std::size_t completions_per_poll = 16;

// Shared by all roles: progress, the clock, the send queue.
class PingPong {
 public:
  PingPong(const Surroundings& at, const Workload& workload)
      : at_(at),
        workload_(workload),
        requests_(at, workload),
        window_(workload.depth, workload.signal_every),
        patience_(at, workload),
        mark_sent_(at.memory.local + at.layout.offset(0, 0) + workload.bytes - 1),
        mark_received_(at.memory.local + at.layout.offset(0, 1) + workload.bytes - 1) {}

  bool failed() const { return out_.failure.trouble != Trouble::none; }
  void stop(Failure why) {
    if (!failed()) out_.failure = std::move(why);
  }

  void post(bool signalled_always) {
    while (window_.room() == 0 && !failed())
      if (!reap()) wait();
    if (failed()) return;
    const SendWindow::Next next = window_.take(signalled_always);
    if (workload_.operation == Operation::read)
      requests_.add_read(next.message);
    else
      requests_.add_ping(next.message, next.signalled);
    if (auto done = at_.queue->post_send(0, requests_.list()); !done)
      stop({Trouble::tool, "posting: " + done.error().text()});
    requests_.clear();
  }

  // False: there was no completion.
  bool reap() {
    const int got = at_.queue->poll_sent(completions_);
    if (got == 0) return false;
    if (got < 0) {
      stop(polling_failed());
      return true;
    }
    for (const ibv_wc& one : std::span(completions_).first(static_cast<std::size_t>(got))) {
      if (one.status != IBV_WC_SUCCESS)
        stop(failure_of(one, trips_));
      else if (window_.complete(message_of(one.wr_id)) == 0)
        stop({Trouble::tool, "the device completed a message that is not in flight"});
    }
    return true;
  }

  // Nothing has arrived: occasionally checks for a reason to end.
  void wait() {
    if (!patience_.time_to_check()) return;
    (void)reap();  // a failed send completes, signalled or not
    if (!failed()) stop(patience_.verdict(trips_));
  }

  // The far end reports that it has finished, and this end has answered all of it.
  bool told_all() {
    if (!patience_.time_to_check()) return false;
    (void)reap();
    const auto all = at_.told();
    if (all && *all == trips_) return true;
    if (!failed()) stop(patience_.verdict(trips_));
    return false;
  }

  // A round trip is complete; false: it was the last.
  bool count(std::uint64_t share) {
    const std::uint64_t now = now_ns();
    patience_.progress();
    if (trips_++ >= workload_.warm_up) {
      out_.seen.record((now - sent_at_) / share);
      ++out_.completed;
    } else {
      begin_ = now;
    }
    sent_at_ = now;
    if (now >= at_.deadline_ns)
      stop({Trouble::path, "not through at its deadline, after " + std::to_string(trips_) + " round trips"});
    const bool by_time =
        workload_.iterations == 0 && now - begin_ >= std::uint64_t{workload_.duration_ms} * 1'000'000;
    const bool by_count = workload_.iterations != 0 && out_.completed == workload_.iterations;
    return !by_time && !by_count;
  }
  void answered() {
    ++trips_;
    ++out_.completed;
    patience_.progress();
  }
  void begin() { begin_ = sent_at_ = now_ns(); }

  Transfer finish() {
    out_.elapsed_ns = now_ns() - begin_;
    out_.sent = {trips_};
    return std::move(out_);
  }

  std::span<ibv_wc> completions() { return completions_; }
  std::uint64_t trips() const { return trips_; }
  const Surroundings& at() const { return at_; }
  // The last byte of a message is written last, and identifies the message.
  std::atomic_ref<std::uint8_t> mark_sent() { return std::atomic_ref<std::uint8_t>(*mark_sent_); }
  std::atomic_ref<std::uint8_t> mark_received() { return std::atomic_ref<std::uint8_t>(*mark_received_); }

 private:
  const Surroundings& at_;
  const Workload& workload_;
  SendList requests_;
  SendWindow window_;
  Patience patience_;
  std::uint8_t* mark_sent_;
  std::uint8_t* mark_received_;
  std::array<ibv_wc, completions_per_poll> completions_{};
  Transfer out_;
  std::uint64_t begin_ = 0;
  std::uint64_t sent_at_ = 0;
  std::uint64_t trips_ = 0;
};

constexpr std::uint8_t mark_of(std::uint64_t trip) { return static_cast<std::uint8_t>(trip + 1); }

// Receives one message of the far end; false: it did not arrive, or (of a pong) none will arrive.
bool receive_one(PingPong& run, Receives& receives, bool pong) {
  for (;;) {
    const int got = run.at().queue->poll_received(run.completions().first(1));
    if (got < 0) run.stop(polling_failed());
    if (run.failed()) return false;
    if (got == 1) {
      run.stop(receives.take(run.completions().front(), run.trips()));
      return !run.failed();
    }
    if (pong && run.told_all()) return false;
    if (!pong) run.wait();
  }
}

}  // namespace

Transfer read_latency(const Surroundings& at, const Workload& workload) {
  PingPong run(at, workload);
  run.begin();
  do {
    run.post(true);
    while (!run.failed() && !run.reap()) run.wait();
  } while (!run.failed() && run.count(1));
  return run.finish();
}

Transfer write_ping(const Surroundings& at, const Workload& workload) {
  PingPong run(at, workload);
  run.begin();
  do {
    run.mark_sent().store(mark_of(run.trips()), std::memory_order_release);
    run.post(false);
    while (!run.failed() && run.mark_received().load(std::memory_order_acquire) != mark_of(run.trips()))
      run.wait();
  } while (!run.failed() && run.count(2));
  return run.finish();
}

Transfer write_pong(const Surroundings& at, const Workload& workload) {
  PingPong run(at, workload);
  run.begin();
  for (bool through = false; !run.failed() && !through;) {
    while (!run.failed() && !through &&
           run.mark_received().load(std::memory_order_acquire) != mark_of(run.trips()))
      through = run.told_all();
    if (run.failed() || through) break;
    run.mark_sent().store(mark_of(run.trips()), std::memory_order_release);
    run.post(false);
    run.answered();
  }
  return run.finish();
}

Transfer send_ping(const Surroundings& at, const Workload& workload) {
  PingPong run(at, workload);
  Receives receives(at, workload);
  run.begin();
  do {
    run.post(false);
  } while (!run.failed() && receive_one(run, receives, false) && run.count(2));
  return run.finish();
}

Transfer send_pong(const Surroundings& at, const Workload& workload) {
  PingPong run(at, workload);
  Receives receives(at, workload);
  run.begin();
  while (!run.failed() && receive_one(run, receives, true)) {
    run.post(false);
    run.answered();
  }
  return run.finish();
}

}  // namespace lockstep::bench::verbs
