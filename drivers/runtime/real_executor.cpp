#include "drivers/runtime/real_executor.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <exception>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "drivers/posix/wake_descriptor.hpp"
#include "drivers/runtime/deferred.hpp"
#include "drivers/runtime/workers.hpp"

namespace lockstep {
namespace {

std::string text_of(int error) { return std::generic_category().message(error); }

std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "of an unknown type";
  }
}

// A device that misses this many deadlines in a row is suspect.
constexpr int kMissesMax = 2;

// waiting: for its key or its lane. overdue: abandoned, and still running.
enum class BodyState : std::uint8_t { waiting, running, overdue, dropped };

// Owned by the engine's thread, except for the data exchanged with the worker.
struct Live {
  std::uint64_t id = 0;
  Job job;
  std::stop_source stop;
  BodyState state = BodyState::waiting;
  Lane lane = Lane::local;  // the lane in which it runs
  Time deadline = Time::max();
  std::uint64_t timer = 0;  // 0: none
  bool answered = false;
  // The descriptor exists only while the body runs, so that a long queue uses none.
  std::mutex wake_mutex;
  std::optional<WakeDescriptor> wake;
  // Written by the worker, read once the body is over.
  int no_wake = 0;  // errno
  std::exception_ptr thrown;
  std::string not_begun;  // why no thread took it

  void ask_to_stop() {
    stop.request_stop();
    const std::scoped_lock lock(wake_mutex);
    if (wake) wake->signal();
  }
  void run_body() noexcept {
    int descriptor = -1;
    {
      const std::scoped_lock lock(wake_mutex);
      no_wake = wake.emplace().error();
      if (no_wake != 0) return wake.reset();
      if (stop.stop_requested()) wake->signal();
      descriptor = wake->number();
    }
    try {
      job.run(Call{deadline, stop.get_token(), descriptor});
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::scoped_lock lock(wake_mutex);
    wake.reset();
  }
  Outcome outcome() const {
    if (!not_begun.empty()) return {Outcome::never_started, "the call was not started: " + not_begun};
    if (no_wake != 0)
      return {Outcome::never_started, "the call was not started: eventfd: " + text_of(no_wake)};
    if (thrown) return {Outcome::threw, "the call ended with an exception: " + text_of(thrown)};
    return Outcome::returned;
  }
};

struct Slot {
  Time when;
  std::uint64_t order;
  auto operator<=>(const Slot&) const = default;
};

}  // namespace

struct RealExecutor::Inside {
  explicit Inside(LaneWidths widths) : epoll(epoll_create1(EPOLL_CLOEXEC)) {
    const std::array<std::size_t, 4> width{widths.local, widths.remote, widths.suspect, widths.bench};
    for (std::size_t i = 0; i < width.size(); ++i) rooms[i].width = std::max<std::size_t>(1, width[i]);
    if (epoll < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
    if (events.error() != 0) throw std::system_error(events.error(), std::generic_category(), "eventfd");
    if (const int error = add_descriptor(events.number()); error != 0)
      throw std::system_error(error, std::generic_category(), "epoll_ctl");
  }
  ~Inside() {
    for (auto& [key, queue] : keys)
      for (const auto& live : queue.calls) live->ask_to_stop();
    workers.reset();
    close(epoll);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  // 0, or errno.
  int add_descriptor(int descriptor) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 ? 0 : errno;
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

  // The calls of one key, the running one first.
  struct Queue {
    std::deque<std::shared_ptr<Live>> calls;
    int missed = 0;  // in a row
  };
  struct Room {
    std::size_t width = 1;
    std::size_t used = 0;  // by bodies that are not overdue
    std::deque<std::shared_ptr<Live>> waiting;
  };

  Room& room(Lane lane) { return rooms[static_cast<std::size_t>(lane)]; }

  // Its key is free: it starts as soon as its lane has room.
  void enter_lane(const std::shared_ptr<Live>& live) {
    const bool suspect = keys[live->job.key].missed >= kMissesMax && live->job.lane != Lane::bench;
    live->lane = suspect ? Lane::suspect : live->job.lane;
    room(live->lane).waiting.push_back(live);
    fill(live->lane);
  }

  void fill(Lane lane) {
    Room& its = room(lane);
    while (its.used < its.width && !its.waiting.empty()) {
      const std::shared_ptr<Live> live = std::move(its.waiting.front());
      its.waiting.pop_front();
      ++its.used;
      begin(live);
    }
  }

  void begin(const std::shared_ptr<Live>& live) {
    live->state = BodyState::running;
    if (live->job.timeout != kNoTimeout) {
      live->deadline = std::chrono::steady_clock::now() + live->job.timeout;
      live->timer = push_timer(live->deadline, [this, live] { overdue(live); });
    }
    // Allocated here, so that the worker has nothing left to do that could fail.
    const auto over = std::make_shared<std::list<std::shared_ptr<Live>>>(1, live);
    const Result<Done> begun = workers->run([this, over] {
      over->front()->run_body();
      {
        const std::scoped_lock lock(mutex);
        finished.splice(finished.end(), *over);
      }
      events.signal();
    });
    if (begun) return;
    live->not_begun = begun.error().text();
    completed.push_back(live);
  }

  void answer(const std::shared_ptr<Live>& live, const Outcome& outcome) {
    if (std::exchange(live->answered, true)) return;
    if (live->timer != 0) erase_timer(std::exchange(live->timer, 0));
    unanswered.erase(live->id);
    live->job.done(outcome);
  }

  // Its place in the lane is free from here on; its key stays busy until it returns.
  void overdue(const std::shared_ptr<Live>& live) {
    live->timer = 0;
    live->state = BodyState::overdue;
    live->ask_to_stop();
    Queue& queue = keys[live->job.key];
    ++queue.missed;
    for (const auto& behind : queue.calls)
      if (behind->state == BodyState::waiting) be_patient(behind);
    --room(live->lane).used;
    fill(live->lane);
    answer(live, Outcome::abandoned);
  }

  // Limits the wait behind a body that may never return.
  void be_patient(const std::shared_ptr<Live>& live) {
    if (live->job.timeout == kNoTimeout || live->timer != 0) return;
    live->timer = push_timer(std::chrono::steady_clock::now() + live->job.timeout, [this, live] {
      live->timer = 0;
      live->state = BodyState::dropped;
      answer(live, Outcome::never_started);
    });
  }

  // The body has returned: its key is free for the next job in the queue.
  void body_over(const std::shared_ptr<Live>& live) {
    const auto at = keys.find(live->job.key);
    Queue& queue = at->second;
    queue.calls.pop_front();
    if (live->state == BodyState::running) {
      // A body that gives up at its deadline returns at the moment at which its timer would have fired.
      const bool in_time =
          live->job.timeout == kNoTimeout || std::chrono::steady_clock::now() < live->deadline;
      queue.missed = in_time ? 0 : queue.missed + 1;
      --room(live->lane).used;
      fill(live->lane);
    }
    while (!queue.calls.empty() && queue.calls.front()->state == BodyState::dropped) queue.calls.pop_front();
    if (!queue.calls.empty()) {
      const std::shared_ptr<Live> next = queue.calls.front();
      if (next->timer != 0) erase_timer(std::exchange(next->timer, 0));
      enter_lane(next);
    } else if (queue.missed == 0) {
      keys.erase(at);
    }
    answer(live, live->outcome());
  }

  void collect_finished() {
    events.clear();
    const std::scoped_lock lock(mutex);
    completed.splice(completed.end(), finished);
  }

  // Milliseconds to wait, rounded up so that a timer is never checked too early; -1: no limit.
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
    // Any other error is a descriptor that is no longer ours (epoll_wait(2)): a bug, which would cause a busy
    // loop here.
    if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "epoll_wait");
    for (int i = 0; i < count; ++i) {
      const int descriptor = ready[static_cast<std::size_t>(i)].data.fd;
      if (descriptor == events.number())
        collect_finished();
      else
        readable.push_back(descriptor);
    }
  }

  // Delivers one thing that is due now. False: nothing is.
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

  int epoll;
  WakeDescriptor events;  // something is in `finished`
  std::mutex mutex;
  std::list<std::shared_ptr<Live>> finished;  // under mutex; everything else belongs to the engine's thread
  std::list<std::shared_ptr<Live>> completed;
  std::map<Slot, std::function<void()>> timers;
  std::unordered_map<std::uint64_t, Slot> timer_slots;
  std::unordered_map<std::string, Queue> keys;
  std::map<std::uint64_t, std::shared_ptr<Live>> unanswered;
  std::map<int, std::shared_ptr<std::function<void()>>> watched;
  std::deque<int> readable;
  Deferred deferred;
  std::uint64_t orders = 0;
  std::array<Room, 4> rooms;  // by Lane
  std::unique_ptr<Workers> workers = std::make_unique<Workers>();
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
  Inside::Queue& queue = inside_->keys[live->job.key];
  queue.calls.push_back(live);
  if (queue.calls.size() == 1)
    inside_->enter_lane(live);
  else if (queue.calls.front()->state == BodyState::overdue)
    inside_->be_patient(live);
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
  if (inside.deferred.run()) return true;
  while (true) {
    if (inside.deliver()) {
      inside.deferred.run();
      return true;
    }
    if (inside.timers.empty() && inside.unanswered.empty() && inside.watched.empty()) return false;
    inside.wait();
  }
}

void RealExecutor::defer(std::function<void()> act) { inside_->deferred.add(std::move(act)); }

Result<Done> RealExecutor::watch(int descriptor, std::function<void()> readable) {
  if (!inside_->watched.contains(descriptor))
    if (const int error = inside_->add_descriptor(descriptor); error != 0)
      return Error{error == EPERM ? ErrorKind::unsupported : ErrorKind::refused,
                   "can't watch descriptor " + std::to_string(descriptor) + ": epoll_ctl: " + text_of(error)};
  inside_->watched[descriptor] = std::make_shared<std::function<void()>>(std::move(readable));
  return Done{};
}

void RealExecutor::forget(int descriptor) {
  if (inside_->watched.erase(descriptor) == 0) return;
  epoll_ctl(inside_->epoll, EPOLL_CTL_DEL, descriptor, nullptr);
}

}  // namespace lockstep
