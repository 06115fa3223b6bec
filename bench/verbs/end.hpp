// An end of a run: its device, memory and queue pairs, created in order and released in reverse.
//
// Promises: make() leaves receives posted, so that the far end may send as soon as it knows the address;
// surroundings() returns what the transfers need. Refuses: a message larger than the port supports.
#pragma once

#include <memory>

#include "bench/verbs/memory.hpp"
#include "bench/verbs/payload.hpp"
#include "bench/verbs/post.hpp"
#include "bench/verbs/queue_pair.hpp"
#include "drivers/linux/rdma/counters.hpp"

namespace lockstep::bench::verbs {

class End {
 public:
  static Result<std::unique_ptr<End>> make(const GidChoice& gid, const Workload& workload, Role role);

  EndAddress address() const;
  const Device& device() const { return device_; }
  std::span<std::uint8_t> memory() { return region_.bytes(); }
  const std::vector<std::string>& notes() const { return notes_; }
  // Moves the queue pairs to RTS; returns the path MTU that both ends agree on.
  Result<std::uint32_t> connect(const EndAddress& far);
  Surroundings& surroundings() { return at_; }

 private:
  End(Device device, Region region, const Workload& workload)
      : workload_(workload), device_(std::move(device)), region_(std::move(region)) {}

  Workload workload_;
  Device device_;
  Region region_;
  OwnedMemory registered_;
  std::unique_ptr<QueuePairs> pairs_;
  OwnedHandle peer_;  // UD
  Surroundings at_;
  std::vector<std::string> notes_;
};

// An end's counters around a run: which changed, under the vendors' names and lockstep's
// (drivers/linux/rdma/counters.hpp).
class CounterWatch {
 public:
  explicit CounterWatch(const GidChoice& gid);
  Json moved() const;  // an array; empty if they can't be read

 private:
  rdma::CounterSnapshot now() const;
  GidChoice gid_;
  rdma::CounterSnapshot before_;
};

// What the other end has reported since the run began: that it has finished, or why it failed.
class FarEnd {
 public:
  explicit FarEnd(Exchange& exchange) : exchange_(exchange) {}
  Failure interruption();
  std::optional<std::uint64_t> told();  // messages on all queue pairs
  const std::vector<std::uint64_t>& sent() const { return sent_; }
  // Waits until the other end has finished.
  Result<Done> wait(const Call& call);

 private:
  void check();
  void take(const Json& done);
  Exchange& exchange_;
  bool through_ = false;
  std::vector<std::uint64_t> sent_;
  Failure failure_;
};

}  // namespace lockstep::bench::verbs
