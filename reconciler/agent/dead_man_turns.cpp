#include "reconciler/agent/dead_man_turns.hpp"

#include <utility>

namespace lockstep::agent {

Turns::Turn::Turn(Turns& turns, std::string key, std::stop_token caller)
    : turns_(turns), key_(std::move(key)), from_caller_(std::move(caller), Forward{stop_}) {}

Turns::Turn::~Turn() {
  {
    const std::scoped_lock lock(turns_.mutex_);
    turns_.lines_[key_].holder = nullptr;
  }
  turns_.changed_.notify_all();
}

// With the lock, by the first of the line.
std::unique_ptr<Turns::Turn> Turns::begin(const std::string& key, std::stop_token caller) {
  Line& line = lines_[key];
  line.waiting.pop_front();
  auto turn = std::make_unique<Turn>(*this, key, std::move(caller));
  line.holder = turn.get();
  return turn;
}

Result<std::unique_ptr<Turns::Turn>> Turns::take(const std::string& key, const Call& call) {
  std::unique_lock lock(mutex_);
  Line& line = lines_[key];
  const std::uint64_t own = ++last_;
  line.waiting.push_back(own);
  const bool came = changed_.wait_until(lock, call.stop, call.deadline, [&] { return is_next(line, own); });
  if (came) return begin(key, call.stop);
  std::erase(line.waiting, own);
  lock.unlock();
  changed_.notify_all();
  Error ended = call.stop.stop_requested() ? Error{ErrorKind::cancelled, "asked to stop"}
                                           : Error{ErrorKind::transient, "the deadline passed"};
  return wrap("not begun: another call was running", std::move(ended));
}

std::unique_ptr<Turns::Turn> Turns::take_first(const std::string& key) {
  std::unique_lock lock(mutex_);
  Line& line = lines_[key];
  const std::uint64_t own = ++last_;
  line.waiting.push_front(own);
  if (line.holder != nullptr) line.holder->stop_.request_stop();
  changed_.wait(lock, [&] { return is_next(line, own); });
  return begin(key, {});
}

void Turns::interrupt(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  if (Turn* const holder = lines_[key].holder) holder->stop_.request_stop();
}

}  // namespace lockstep::agent
