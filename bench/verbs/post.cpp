#include "bench/verbs/post.hpp"

namespace lockstep::bench::verbs {
namespace {

ibv_wr_opcode opcode_of(Operation operation) {
  switch (operation) {
    case Operation::write: return IBV_WR_RDMA_WRITE;
    case Operation::read: return IBV_WR_RDMA_READ;
    case Operation::send: return IBV_WR_SEND;
  }
  return IBV_WR_SEND;
}

}  // namespace

// Twice what a sender has in flight: it continues while the receiver posts again.
std::uint32_t receives_posted(const Workload& workload) { return 2 * workload.depth; }

SendList::SendList(const Surroundings& at, const Workload& workload)
    : at_(at),
      workload_(workload),
      second_slot_(at.layout.offset(0, 1)),
      requests_(workload.batch),
      pieces_(workload.batch) {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    ibv_send_wr& one = requests_[i];
    pieces_[i].length = workload.bytes;
    pieces_[i].lkey = at.memory.local_key;
    one.sg_list = &pieces_[i];
    one.num_sge = 1;
    one.opcode = opcode_of(workload.operation);
    if (workload.service == Service::datagram) {
      one.wr.ud.ah = at.peer;
      one.wr.ud.remote_qpn = at.peer_number;
      one.wr.ud.remote_qkey = at.peer_key;
    } else {
      one.wr.rdma.rkey = at.memory.remote_key;
    }
  }
}

ibv_send_wr& SendList::place(std::uint64_t id, std::uint64_t from, std::uint64_t to, bool signalled) {
  const std::size_t at = used_++;
  ibv_send_wr& one = requests_[at];
  one.wr_id = id;
  one.next = nullptr;
  if (at > 0) requests_[at - 1].next = &one;
  one.send_flags = 0;
  if (signalled) one.send_flags |= IBV_SEND_SIGNALED;
  if (at_.inlined) one.send_flags |= IBV_SEND_INLINE;
  pieces_[at].addr = reinterpret_cast<std::uint64_t>(at_.memory.local + from);
  if (workload_.service == Service::reliable) one.wr.rdma.remote_addr = at_.memory.remote + to;
  return one;
}

void SendList::add(std::size_t queue_pair, std::uint64_t message, bool signalled) {
  const std::uint64_t offset = at_.layout.offset(queue_pair, message);
  place(work_id(queue_pair, message), offset, offset, signalled);
}

void SendList::add_ping(std::uint64_t message, bool signalled) {
  place(work_id(0, message), 0, second_slot_, signalled);
}

void SendList::add_read(std::uint64_t message) { place(work_id(0, message), 0, 0, true); }

ibv_send_wr& SendList::list() { return requests_.front(); }

Receives::Receives(const Surroundings& at, const Workload& workload)
    : at_(at),
      workload_(workload),
      posted_(workload.queue_pairs, receives_posted(workload)),
      waiting_(workload.queue_pairs),
      requests_(workload.batch),
      pieces_(workload.batch) {}

Failure Receives::post_all() {
  for (std::size_t i = 0; i < posted_.size(); ++i) {
    posted_[i] = 0;
    while (posted_[i] < receives_posted(workload_)) {
      const auto left = static_cast<std::uint32_t>(receives_posted(workload_) - posted_[i]);
      Failure failure = post(i, std::min(workload_.batch, left));
      if (failure.trouble != Trouble::none) return failure;
    }
  }
  return {};
}

Failure Receives::post(std::size_t queue_pair, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t message = posted_[queue_pair]++;
    const std::uint64_t slot = workload_.measure == Measure::latency ? 1 : message;
    pieces_[i] = {reinterpret_cast<std::uint64_t>(at_.memory.local + at_.layout.offset(queue_pair, slot)),
                  workload_.bytes + at_.layout.header, at_.memory.local_key};
    requests_[i] = {work_id(queue_pair, message), i + 1 < count ? &requests_[i + 1] : nullptr, &pieces_[i],
                    1};
  }
  if (auto done = at_.queue->post_receive(queue_pair, requests_.front()); !done)
    return {Trouble::tool, "posting receives: " + done.error().text()};
  return {};
}

Failure Receives::take(const ibv_wc& completion, std::uint64_t completed) {
  if (completion.status != IBV_WC_SUCCESS) return failure_of(completion, completed);
  const std::size_t i = queue_pair_of(completion.wr_id);
  if (i >= waiting_.size() || waiting_[i] >= receives_posted(workload_))
    return {Trouble::tool, "the device completed a receive that was not posted"};
  if (completion.byte_len != workload_.bytes + at_.layout.header)
    return {Trouble::wrong, "a message of " + std::to_string(completion.byte_len - at_.layout.header) +
                                " bytes came, not of " + std::to_string(workload_.bytes)};
  if (++waiting_[i] < workload_.batch) return {};
  return post(i, std::exchange(waiting_[i], 0U));
}

}  // namespace lockstep::bench::verbs
