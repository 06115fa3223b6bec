// Lists of work requests, built in place: sends (or writes, or reads), and the receives of an end.
//
// Promises: no allocation after construction; a consumed receive is posted again, in lists, in the order of
// its queue pair. Refuses: a received message whose length differs from the workload's.
#pragma once

#include "bench/verbs/completion.hpp"
#include "bench/verbs/transfer.hpp"

namespace lockstep::bench::verbs {

std::uint32_t receives_posted(const Workload& workload);  // on each queue pair

class SendList {
 public:
  SendList(const Surroundings& at, const Workload& workload);
  SendList(const SendList&) = delete;
  SendList& operator=(const SendList&) = delete;

  // At most `batch` between two calls of clear().
  void add(std::size_t queue_pair, std::uint64_t message, bool signalled);
  // Latency: from slot 0 into the far end's slot 1.
  void add_ping(std::uint64_t message, bool signalled);
  // Latency: the far end's slot 0 into this one's.
  void add_read(std::uint64_t message);
  ibv_send_wr& list();
  void clear() { used_ = 0; }

 private:
  ibv_send_wr& place(std::uint64_t id, std::uint64_t from, std::uint64_t to, bool signalled);
  const Surroundings& at_;
  const Workload& workload_;
  std::uint64_t second_slot_;  // saves a division for each timed message
  std::vector<ibv_send_wr> requests_;
  std::vector<ibv_sge> pieces_;
  std::size_t used_ = 0;
};

class Receives {
 public:
  Receives(const Surroundings& at, const Workload& workload);
  Failure post_all();  // before the first message can arrive
  // Handles a completed receive: checks it, and queues its buffer to be posted again.
  Failure take(const ibv_wc& completion, std::uint64_t completed);

 private:
  Failure post(std::size_t queue_pair, std::uint32_t count);
  const Surroundings& at_;
  const Workload& workload_;
  std::vector<std::uint64_t> posted_;   // by queue pair
  std::vector<std::uint32_t> waiting_;  // to be posted again
  std::vector<ibv_recv_wr> requests_;
  std::vector<ibv_sge> pieces_;
};

}  // namespace lockstep::bench::verbs
