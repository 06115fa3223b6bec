#include "bench/verbs/queue_pair.hpp"

#include <algorithm>

#include "bench/tcp/cpu.hpp"
#include "bench/verbs/post.hpp"
#include "drivers/runtime/random.hpp"

namespace lockstep::bench::verbs {
namespace {

constexpr std::uint32_t low_24 = 0xffffff;

bool is_datagram(const Workload& workload) { return workload.service == Service::datagram; }

int polled(ibv_cq& queue, std::span<ibv_wc> into) {
  return ibv_poll_cq(&queue, static_cast<int>(into.size()), into.data());
}

// 0: none, and the device chooses the source port.
std::uint32_t flow_label(const Workload& workload, std::size_t queue_pair) {
  if (workload.flow == 0) return 0;
  constexpr std::uint32_t low_20 = 0xfffff;
  const auto label = static_cast<std::uint32_t>(Random(workload.flow + queue_pair).next() & low_20);
  return std::max(label, std::uint32_t{1});
}

Result<Done> modified(ibv_qp& pair, ibv_qp_attr& attributes, int mask, const char* state) {
  const int error = ibv_modify_qp(&pair, &attributes, mask);
  // The kernel resolves the far end's hardware address here (core/addr.c, addr_resolve).
  if (error == ETIMEDOUT)
    return Error{ErrorKind::refused, std::string("queue pair to ") + state +
                                         ": the peer's address was not resolved: no neighbor answers"};
  if (error != 0) return verbs_error(std::string("queue pair to ") + state, error);
  return Done{};
}

}  // namespace

Result<std::unique_ptr<QueuePairs>> QueuePairs::make(const Device& device, const Workload& workload) {
  std::unique_ptr<QueuePairs> out(new QueuePairs(device, workload));
  const auto queue = [&](std::uint32_t each) {
    return ibv_create_cq(device.context(), static_cast<int>(each * workload.queue_pairs), nullptr, nullptr,
                         0);
  };
  out->sent_.reset(queue(workload.depth));
  if (!out->sent_) return verbs_error("completion queue for what is sent", errno);
  out->received_.reset(queue(receives_posted(workload)));
  if (!out->received_) return verbs_error("completion queue for what is received", errno);
  for (std::uint32_t i = 0; i < workload.queue_pairs; ++i) TRY_DONE(out->add());
  return out;
}

Result<Done> QueuePairs::add() {
  ibv_qp_init_attr wish{};
  wish.send_cq = sent_.get();
  wish.recv_cq = received_.get();
  wish.qp_type = is_datagram(workload_) ? IBV_QPT_UD : IBV_QPT_RC;
  wish.cap.max_send_wr = workload_.depth;
  wish.cap.max_recv_wr = receives_posted(workload_);
  wish.cap.max_send_sge = 1;
  wish.cap.max_recv_sge = 1;
  const bool small = workload_.bytes <= workload_.inline_bytes && workload_.operation != Operation::read;
  wish.cap.max_inline_data = small ? workload_.bytes : 0;
  OwnedQueuePair pair(ibv_create_qp(device_.domain(), &wish));
  inlined_ = small && pair;
  if (!pair && small) {  // a device without inline data, or not of this size
    wish.cap.max_inline_data = 0;
    pair.reset(ibv_create_qp(device_.domain(), &wish));
  }
  if (!pair)
    return verbs_error("queue pair with " + std::to_string(workload_.depth) + " sends in flight", errno);

  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = device_.gid().port;
  init.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  init.qkey = datagram_key;
  TRY_DONE(modified(*pair, init,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                        (is_datagram(workload_) ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS),
                    "INIT"));
  // Prevents packets of an earlier run with the same numbers from being accepted in this one.
  const auto sequence = static_cast<std::uint32_t>(Random(now_ns() + pair->qp_num).next() & low_24);
  addresses_.push_back({pair->qp_num & low_24, sequence});
  pairs_.push_back(std::move(pair));
  return Done{};
}

Result<Done> QueuePairs::connect(const EndAddress& far, std::uint32_t path_mtu) {
  const auto mtu = mtu_of(path_mtu);
  if (!mtu) return Error{ErrorKind::invalid_spec, "no RDMA path MTU: " + std::to_string(path_mtu)};
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    TRY_DONE(to_receive(i, far, *mtu));
    TRY_DONE(to_send(*pairs_[i], addresses_[i].sequence));
  }
  return Done{};
}

Result<Done> QueuePairs::to_receive(std::size_t at, const EndAddress& far, ibv_mtu mtu) const {
  ibv_qp& pair = *pairs_[at];
  const QueuePairAddress& peer = far.queue_pairs.at(at);
  ibv_qp_attr ready{};
  ready.qp_state = IBV_QPS_RTR;
  if (is_datagram(workload_)) return modified(pair, ready, IBV_QP_STATE, "RTR");
  ready.path_mtu = mtu;
  ready.dest_qp_num = peer.number;
  ready.rq_psn = peer.sequence;
  ready.max_dest_rd_atomic = static_cast<std::uint8_t>(device_.limits().reads_in_flight);
  ready.min_rnr_timer = workload_.rnr_timer;
  ready.ah_attr = device_.way_to(far.gid, workload_.traffic_class, flow_label(workload_, at));
  return modified(pair, ready,
                  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                  "RTR");
}

Result<Done> QueuePairs::to_send(ibv_qp& pair, std::uint32_t sequence) const {
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = sequence;
  if (is_datagram(workload_)) return modified(pair, send, IBV_QP_STATE | IBV_QP_SQ_PSN, "RTS");
  send.timeout = workload_.timeout;
  send.retry_cnt = workload_.retries;
  send.rnr_retry = workload_.rnr_retries;
  send.max_rd_atomic = static_cast<std::uint8_t>(device_.limits().reads_in_flight);
  return modified(pair, send,
                  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                      IBV_QP_MAX_QP_RD_ATOMIC,
                  "RTS");
}

Result<Done> QueuePairs::post_send(std::size_t queue_pair, ibv_send_wr& first) {
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(pairs_[queue_pair].get(), &first, &bad); error != 0)
    return verbs_error("ibv_post_send", error);
  return Done{};
}

Result<Done> QueuePairs::post_receive(std::size_t queue_pair, ibv_recv_wr& first) {
  ibv_recv_wr* bad = nullptr;
  if (const int error = ibv_post_recv(pairs_[queue_pair].get(), &first, &bad); error != 0)
    return verbs_error("ibv_post_recv", error);
  return Done{};
}

int QueuePairs::poll_sent(std::span<ibv_wc> into) { return polled(*sent_, into); }
int QueuePairs::poll_received(std::span<ibv_wc> into) { return polled(*received_, into); }

}  // namespace lockstep::bench::verbs
