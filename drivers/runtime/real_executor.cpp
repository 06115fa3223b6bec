#include "drivers/runtime/real_executor.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace lockstep {
namespace {

// An eventfd (eventfd(2)): written to once, readable from then on.
class WakeDescriptor {
 public:
  WakeDescriptor() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error("eventfd: no descriptors left");
  }
  ~WakeDescriptor() { close(descriptor_); }
  WakeDescriptor(const WakeDescriptor&) = delete;
  WakeDescriptor& operator=(const WakeDescriptor&) = delete;
  int get() const { return descriptor_; }
  void signal() const {
    const std::uint64_t one = 1;
    // Fails only when the counter is full, and then it is readable already.
    [[maybe_unused]] const auto written = write(descriptor_, &one, sizeof one);
  }
  void clear() const {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = read(descriptor_, &count, sizeof count);
  }

 private:
  int descriptor_;
};

enum class BodyState : std::uint8_t { queued, running, dropped };

struct Live {
  std::uint64_t id = 0;
  Job job;
  std::stop_source stop;
  std::atomic<BodyState> state{BodyState::queued};
  std::uint64_t deadline_timer = 0;  // 0: none
  bool answered = false;
  // A descriptor exists only while the body runs, so that a long queue costs none.
  std::mutex wake_mutex;
  std::optional<WakeDescriptor> wake;

  void ask_to_stop() {
    stop.request_stop();
    const std::scoped_lock lock(wake_mutex);
    if (wake) wake->signal();
  }
  void run_body() {
    int descriptor = -1;
    {
      const std::scoped_lock lock(wake_mutex);
      wake.emplace();
      if (stop.stop_requested()) wake->signal();
      descriptor = wake->get();
    }
    job.run(Call{job.deadline, stop.get_token(), descriptor});
    const std::scoped_lock lock(wake_mutex);
    wake.reset();
  }
};

struct Slot {
  Time when;
  std::uint64_t order;
  auto operator<=>(const Slot&) const = default;
};

}  // namespace

struct RealExecutor::Inside {
  explicit Inside(LaneWidths lane_widths) : widths(lane_widths), epoll(epoll_create1(EPOLL_CLOEXEC)) {
    if (epoll < 0) throw std::runtime_error("epoll_create1: no descriptors left");
    add_descriptor(events.get());
  }
  ~Inside() {
    for (auto& [key, queue] : keys)
      for (const auto& live : queue) live->ask_to_stop();
    for (auto& pool : pools)
      if (pool) pool->join();
    close(epoll);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  void add_descriptor(int descriptor) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
  }

  boost::asio::thread_pool& pool(Lane lane) {
    const std::array<std::size_t, 4> width{widths.local, widths.remote, widths.suspect, widths.bench};
    const auto index = static_cast<std::size_t>(lane);
    if (!pools[index])
      pools[index] = std::make_unique<boost::asio::thread_pool>(std::max<std::size_t>(1, width[index]));
    return *pools[index];
  }

  std::uint64_t push_timer(Time when, std::function<void()> fire) {
    const Slot slot{when, ++orders};
    timers.emplace(slot, std::move(fire));
    timer_slots.emplace(slot.order, slot);
    return slot.order;
  }
  void erase_timer(std::uint64_t order) {
    const auto found = timer_slots.find(order);
    if (found == timer_slots.end()) return;
    timers.erase(found->second);
    timer_slots.erase(found);
  }

  void launch(const std::shared_ptr<Live>& live) {
    boost::asio::post(pool(live->job.lane), [this, live] {
      BodyState expected = BodyState::queued;
      if (live->state.compare_exchange_strong(expected, BodyState::running)) live->run_body();
      {
        const std::scoped_lock lock(mutex);
        finished.push_back(live);
      }
      events.signal();
    });
  }

  void answer(const std::shared_ptr<Live>& live, Outcome outcome) {
    if (std::exchange(live->answered, true)) return;
    if (live->deadline_timer != 0) erase_timer(live->deadline_timer);
    unanswered.erase(live->id);
    live->job.done(outcome);
  }

  void deadline_passed(const std::shared_ptr<Live>& live) {
    live->deadline_timer = 0;
    BodyState expected = BodyState::queued;
    const bool dropped = live->state.compare_exchange_strong(expected, BodyState::dropped);
    live->ask_to_stop();
    answer(live, dropped ? Outcome::never_started : Outcome::abandoned);
  }

  // The body has returned (or was dropped): its key is free for the next of its queue.
  void body_over(const std::shared_ptr<Live>& live) {
    const auto queue = keys.find(live->job.key);
    queue->second.pop_front();
    // A call that ran out of time while it waited has been answered already.
    while (!queue->second.empty() && queue->second.front()->answered) queue->second.pop_front();
    if (queue->second.empty())
      keys.erase(queue);
    else
      launch(queue->second.front());
    answer(live, Outcome::returned);
  }

  void collect_finished() {
    events.clear();
    const std::scoped_lock lock(mutex);
    for (auto& live : finished) completed.push_back(std::move(live));
    finished.clear();
  }

  // Milliseconds to wait, rounded up so that a timer is never looked at too early; -1: no limit.
  int wait_limit() const {
    if (timers.empty()) return -1;
    const auto left = timers.begin()->first.when - std::chrono::steady_clock::now();
    if (left <= left.zero()) return 0;
    const auto whole = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<int>(std::min<std::int64_t>(whole, std::numeric_limits<int>::max()));
  }

  void wait() {
    std::array<epoll_event, 64> ready{};
    const int count = epoll_wait(epoll, ready.data(), static_cast<int>(ready.size()), wait_limit());
    for (int i = 0; i < count; ++i) {
      const int descriptor = ready[static_cast<std::size_t>(i)].data.fd;
      if (descriptor == events.get())
        collect_finished();
      else
        readable.push_back(descriptor);
    }
  }

  // One thing that is due now. False: nothing is.
  bool deliver() {
    if (!completed.empty()) {
      const std::shared_ptr<Live> live = std::move(completed.front());
      completed.pop_front();
      body_over(live);
      return true;
    }
    if (!timers.empty() && timers.begin()->first.when <= std::chrono::steady_clock::now()) {
      auto due = timers.extract(timers.begin());
      timer_slots.erase(due.key().order);
      due.mapped()();
      return true;
    }
    while (!readable.empty()) {
      const int descriptor = readable.front();
      readable.pop_front();
      const auto found = watched.find(descriptor);
      if (found == watched.end()) continue;
      const auto call = found->second;  // it may forget itself
      (*call)();
      return true;
    }
    return false;
  }

  LaneWidths widths;
  int epoll;
  WakeDescriptor events;  // something is in `finished`
  std::mutex mutex;
  std::deque<std::shared_ptr<Live>> finished;  // under mutex; all else is the engine thread's
  std::deque<std::shared_ptr<Live>> completed;
  std::map<Slot, std::function<void()>> timers;
  std::unordered_map<std::uint64_t, Slot> timer_slots;
  std::unordered_map<std::string, std::deque<std::shared_ptr<Live>>> keys;
  std::map<std::uint64_t, std::shared_ptr<Live>> unanswered;
  std::map<int, std::shared_ptr<std::function<void()>>> watched;
  std::deque<int> readable;
  std::uint64_t orders = 0;
  std::array<std::unique_ptr<boost::asio::thread_pool>, 4> pools;
};

RealExecutor::RealExecutor(LaneWidths widths) : inside_(std::make_unique<Inside>(widths)) {}
RealExecutor::~RealExecutor() = default;

Time RealExecutor::now() const { return std::chrono::steady_clock::now(); }

WallTime RealExecutor::wall_time() const { return std::chrono::system_clock::now(); }

std::uint64_t RealExecutor::start(Job job) {
  auto live = std::make_shared<Live>();
  live->id = ++inside_->orders;
  live->job = std::move(job);
  inside_->unanswered.emplace(live->id, live);
  if (live->job.deadline != Time::max())
    live->deadline_timer = inside_->push_timer(
        live->job.deadline, [inside = inside_.get(), live] { inside->deadline_passed(live); });
  auto& queue = inside_->keys[live->job.key];
  queue.push_back(live);
  if (queue.size() == 1) inside_->launch(live);
  return live->id;
}

std::uint64_t RealExecutor::at(Time when, std::function<void()> fire) {
  return inside_->push_timer(when, std::move(fire));
}

void RealExecutor::cancel(std::uint64_t id) {
  if (const auto found = inside_->unanswered.find(id); found != inside_->unanswered.end())
    found->second->ask_to_stop();
  else
    inside_->erase_timer(id);
}

bool RealExecutor::step() {
  Inside& inside = *inside_;
  while (true) {
    if (inside.deliver()) return true;
    if (inside.timers.empty() && inside.unanswered.empty() && inside.watched.empty()) return false;
    inside.wait();
  }
}

void RealExecutor::watch(int descriptor, std::function<void()> readable) {
  const bool is_new = !inside_->watched.contains(descriptor);
  inside_->watched[descriptor] = std::make_shared<std::function<void()>>(std::move(readable));
  if (is_new) inside_->add_descriptor(descriptor);
}

void RealExecutor::forget(int descriptor) {
  if (inside_->watched.erase(descriptor) == 0) return;
  epoll_ctl(inside_->epoll, EPOLL_CTL_DEL, descriptor, nullptr);
}

}  // namespace lockstep
