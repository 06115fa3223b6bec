// QueuePairs: an end's queue pairs, RC or UD, with a completion queue for what is sent and one for what is
// received, through their states.
//
// Promises: make() leaves them in INIT (receives can be posted); connect() takes them to RTS, each to its own
// of the far end, with the workload's traffic class, timeout and retries and the path MTU given. The device
// and the workload must live longer. Refuses: more than the device has, in its own words.
#pragma once

#include "bench/verbs/device.hpp"
#include "bench/verbs/exchange.hpp"
#include "bench/verbs/work_queue.hpp"
#include "bench/verbs/workload.hpp"

namespace lockstep::bench::verbs {

using OwnedCompletions = std::unique_ptr<ibv_cq, Freed<ibv_cq, ibv_destroy_cq>>;
using OwnedQueuePair = std::unique_ptr<ibv_qp, Freed<ibv_qp, ibv_destroy_qp>>;

// Of both ends' UD queue pairs. Any value will do that is not privileged (the highest bit; ibv_modify_qp(3)).
constexpr std::uint32_t datagram_key = 0x11111111;

class QueuePairs final : public WorkQueue {
 public:
  static Result<std::unique_ptr<QueuePairs>> make(const Device& device, const Workload& workload);
  Result<Done> connect(const EndAddress& far, std::uint32_t path_mtu);

  const std::vector<QueuePairAddress>& addresses() const { return addresses_; }
  // The device takes messages of the workload's size in the work request, and the workload wants it.
  bool inlined() const { return inlined_; }

  Result<Done> post_send(std::size_t queue_pair, ibv_send_wr& first) override;
  Result<Done> post_receive(std::size_t queue_pair, ibv_recv_wr& first) override;
  int poll_sent(std::span<ibv_wc> into) override;
  int poll_received(std::span<ibv_wc> into) override;

 private:
  QueuePairs(const Device& device, const Workload& workload) : device_(device), workload_(workload) {}
  Result<Done> add();
  Result<Done> to_receive(std::size_t at, const EndAddress& far, ibv_mtu mtu) const;
  Result<Done> to_send(ibv_qp& pair, std::uint32_t sequence) const;

  const Device& device_;
  const Workload& workload_;
  OwnedCompletions sent_;
  OwnedCompletions received_;
  std::vector<OwnedQueuePair> pairs_;  // before the completion queues in destruction
  std::vector<QueuePairAddress> addresses_;
  bool inlined_ = false;
};

}  // namespace lockstep::bench::verbs
