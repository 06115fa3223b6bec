// WorkQueue: the operations that transfers need from an end's queue pairs: post lists, poll completions.
// QueuePairs (queue_pair.hpp) is the real one; a test's fake simulates faults that a device can't be made to
// produce.
//
// SendWindow: how many messages of a queue pair are in flight. With selective signalling one completion
// stands for all messages before it (IBA volume 1, 10.8.6: in order on a queue pair).
//
// Promises: never more than `depth` in flight; the last message before a full window or the end is signalled
// or followed by a signalled one, so that the window always frees itself (workload.cpp, check); a completion
// for a message that is not in flight is refused, so that a faulty device can't cause double counting.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep::bench::verbs {

class WorkQueue {
 public:
  WorkQueue() = default;
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  virtual ~WorkQueue() = default;
  // Posts the list that starts at `first` to one queue pair; all of it or an error.
  virtual Result<Done> post_send(std::size_t queue_pair, ibv_send_wr& first) = 0;
  virtual Result<Done> post_receive(std::size_t queue_pair, ibv_recv_wr& first) = 0;
  // Polls all queue pairs; returns how many of `into` were filled, or a negative number if the device failed
  // (ibv_poll_cq(3)): a plain number, because most polls are empty and contribute to each latency.
  virtual int poll_sent(std::span<ibv_wc> into) = 0;
  virtual int poll_received(std::span<ibv_wc> into) = 0;
};

// A completion's id: its queue pair and its message, numbered from 0.
constexpr std::uint64_t work_id(std::size_t queue_pair, std::uint64_t message) {
  return static_cast<std::uint64_t>(queue_pair) << 48U | (message & 0xffff'ffff'ffffU);
}
constexpr std::size_t queue_pair_of(std::uint64_t id) { return static_cast<std::size_t>(id >> 48U); }
constexpr std::uint64_t message_of(std::uint64_t id) { return id & 0xffff'ffff'ffffU; }

class SendWindow {
 public:
  SendWindow(std::uint32_t depth, std::uint32_t signal_every) : depth_(depth), every_(signal_every) {}

  std::uint32_t room() const { return static_cast<std::uint32_t>(depth_ - (posted_ - completed_)); }
  std::uint64_t posted() const { return posted_; }
  std::uint64_t completed() const { return completed_; }
  bool idle() const { return posted_ == completed_; }
  // The next message's number. `last`: none may follow, so it must be signalled.
  struct Next {
    std::uint64_t message = 0;
    bool signalled = false;
  };
  Next take(bool last) {
    const Next next{posted_++, last || posted_ - signalled_ == every_};
    if (next.signalled) signalled_ = posted_;
    return next;
  }
  // Whether messages have been posted that no completion will report.
  bool unsignalled_tail() const { return signalled_ != posted_; }
  // Handles the completion of this message: returns how many messages it ends; 0: it is invalid.
  std::uint64_t complete(std::uint64_t message) {
    if (message < completed_ || message >= posted_) return 0;
    const std::uint64_t ended = message + 1 - completed_;
    completed_ = message + 1;
    return ended;
  }

 private:
  std::uint32_t depth_;
  std::uint32_t every_;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t signalled_ = 0;  // posted_ after the last signalled one
};

}  // namespace lockstep::bench::verbs
