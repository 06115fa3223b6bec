// The probe's event loop: one thread, epoll, tasks that each have one role in one measurement.
//
// Promises: a task gets the events of its descriptors and its own next wake-up; when it has finished, it and
// its sockets are destroyed; the loop ends at EOF on the control descriptor. A task without events ends at
// its deadline.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/tcp/cpu.hpp"
#include "bench/tcp/sockets.hpp"
#include "bench/tcp/wire.hpp"

namespace lockstep::bench {

class ProbeLoop;

class Task {
 public:
  Task(ProbeLoop& loop, const Json& order);
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  virtual Result<Done> start() = 0;
  virtual void ready(int fd) = 0;             // readable, writable or in error: continue
  virtual void timed(std::uint64_t now) = 0;  // wake_at has passed
  virtual void told(const Json&) {}           // a later message about this job
  std::uint64_t wake_at = ~std::uint64_t{0};  // CLOCK_MONOTONIC, ns
  bool finished = false;
  std::uint64_t job() const { return job_; }

 protected:
  void tell(Json message);  // adds the job
  // Sends the failure and finishes. `trouble`: path, stall (the path delivered bytes, then none), wrong,
  // tool.
  void fail(const std::string& text, const char* trouble = "path");
  // From now on sockets are opened at the port in the order, if it has one that is free.
  void choose_port(const Json& order);
  // Listens at the own address, and reports the port.
  Result<Descriptor> listen();
  Result<Descriptor> dial(const Address& to);
  // Handles an event of a connecting descriptor. True: connected, and the greeting is sent; else not yet, or
  // failed.
  bool finish_connect(int fd);
  bool read_hello(int fd);  // false: incomplete, or failed

  ProbeLoop& loop_;
  std::uint64_t job_;
  std::uint64_t token_;
  std::uint64_t connect_ns_;
  std::uint64_t stall_ns_;
  std::string congestion_;
  Address own_;
  Address peer_;
  std::optional<Address> chosen_;  // own address and port
  std::string bad_address_;

 private:
  std::string hello() const;
  bool set_addresses(const Json& order);
  // At the chosen port, else at one that the kernel chooses.
  template <class Open>
  Result<Descriptor> open_own(const Open& open) const {
    if (chosen_)
      if (auto opened = open(*chosen_)) return opened;
    return open(own_);
  }
  std::string hello_read_;
};

class ProbeLoop {
 public:
  ProbeLoop(Descriptor control, Descriptor epoll) : control_(std::move(control)), epoll_(std::move(epoll)) {}
  int run();  // until the controller closes; 0, or 1 after an invalid message

  void tell(const Json& message);
  void watch(int fd, Task& task, bool read, bool write);  // again to change; neither: errors only
  void forget(int fd);

 private:
  bool take_messages();
  void obey(const Json& order);
  void dispatch(int fd);
  void wake_tasks();
  int wait_ms() const;

  Descriptor control_;
  Descriptor epoll_;
  MessageReader reader_;
  std::map<std::uint64_t, std::unique_ptr<Task>> tasks_;
  std::map<int, std::uint64_t> owners_;  // descriptor -> job
};

// The roles. `order` contains what they need (see orders in controller_*.cpp).
std::unique_ptr<Task> make_sink(ProbeLoop& loop, const Json& order);
std::unique_ptr<Task> make_source(ProbeLoop& loop, const Json& order);
std::unique_ptr<Task> make_echo(ProbeLoop& loop, const Json& order);
std::unique_ptr<Task> make_ping(ProbeLoop& loop, const Json& order);
std::unique_ptr<Task> make_rank(ProbeLoop& loop, const Json& order);

}  // namespace lockstep::bench
