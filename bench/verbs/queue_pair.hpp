// QueuePairs: an end's queue pairs, RC or UD, with one completion queue for sends and one for receives, and
// their state transitions.
//
// Promises: make() leaves them in INIT (receives can be posted); connect() takes them to RTS, each connected
// to its peer at the far end, with the workload's traffic class, timeout and retries and the given path MTU.
// The device and the workload must outlive them. A request beyond the device's limits is refused with the
// device's error.
#pragma once

#include "bench/verbs/device.hpp"
#include "bench/verbs/exchange.hpp"
#include "bench/verbs/work_queue.hpp"
#include "bench/verbs/workload.hpp"

namespace lockstep::bench::verbs {

using OwnedCompletions = std::unique_ptr<ibv_cq, Freed<ibv_cq, ibv_destroy_cq>>;
using OwnedQueuePair = std::unique_ptr<ibv_qp, Freed<ibv_qp, ibv_destroy_qp>>;

// For the UD queue pairs of both ends. Any value that is not privileged (the highest bit; ibv_modify_qp(3))
// works.
constexpr std::uint32_t datagram_key = 0x11111111;

class QueuePairs final : public WorkQueue {
 public:
  static Result<std::unique_ptr<QueuePairs>> make(const Device& device, const Workload& workload);
  Result<Done> connect(const EndAddress& far, std::uint32_t path_mtu);

  const std::vector<QueuePairAddress>& addresses() const { return addresses_; }
  // The device accepts messages of the workload's size in the work request, and the workload requests it.
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
  std::vector<OwnedQueuePair> pairs_;  // destroyed before the completion queues
  std::vector<QueuePairAddress> addresses_;
  bool inlined_ = false;
};

}  // namespace lockstep::bench::verbs
