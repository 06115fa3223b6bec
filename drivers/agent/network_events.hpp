// EventStream: the events of one agent, over a connection of their own. Part of network.cpp.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "drivers/agent/network_connection.hpp"
#include "drivers/posix/wake_descriptor.hpp"
#include "drivers/runtime/callback_scope.hpp"

namespace lockstep {

// What the I/O thread has heard and a watcher has not drained yet.
class EventInbox {
 public:
  const WakeDescriptor& wake() const { return wake_; }
  void add(const Woken& woken);
  Woken take();

 private:
  const WakeDescriptor wake_;
  std::mutex mutex_;
  Woken pending_;  // under mutex_
};

class EventWatcher final : public Watcher {
 public:
  // `ended` runs with the watcher's end.
  EventWatcher(std::shared_ptr<EventInbox> inbox, std::function<void()> ended)
      : inbox_(std::move(inbox)), ended_(std::move(ended)) {}
  ~EventWatcher() override { ended_(); }
  EventWatcher(const EventWatcher&) = delete;
  EventWatcher& operator=(const EventWatcher&) = delete;
  int descriptor() const override { return inbox_->wake().number(); }
  Result<Woken> drain() override { return inbox_->take(); }

 private:
  const std::shared_ptr<EventInbox> inbox_;
  const std::function<void()> ended_;
};

// On the I/O thread.
class EventStream {
 public:
  EventStream(NetworkShared& shared, AgentAddress agent, std::shared_ptr<EventInbox> inbox);
  ~EventStream();
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;
  bool is_for(const std::shared_ptr<EventInbox>& inbox) const { return inbox_ == inbox; }
  void connect();
  // Ends it, and asks again, if the agent was verified by what holds no longer.
  void check_certificate();

 private:
  void follow();
  Result<Done> take_lines(std::string& body);
  Result<Done> take_line(std::string_view line);
  void reconnect_later();

  NetworkShared& shared_;
  const AgentAddress agent_;
  const std::shared_ptr<EventInbox> inbox_;
  std::shared_ptr<Connection> connection_;
  boost::asio::steady_timer timer_;
  std::chrono::milliseconds wait_;
  bool connected_ = false;
  CallbackScope callbacks_;
};

}  // namespace lockstep
