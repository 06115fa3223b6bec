#include "bench/verbs/end.hpp"

#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/verbs/precheck.hpp"
#include "drivers/linux/rdma/queue_counters.hpp"

namespace lockstep::bench::verbs {

Result<std::unique_ptr<End>> End::make(const GidChoice& gid, const Workload& workload, Role role) {
  const std::string far_from = run_near(HostFiles("/"), gid.numa_node);
  TRY(Device device, Device::open(gid));
  TRY(Region region, Region::make(layout_of(workload).bytes()));
  std::unique_ptr<End> out(new End(std::move(device), std::move(region), workload));
  for (const std::string& note : {far_from, out->region_.note()})
    if (!note.empty()) out->notes_.push_back(note);
  if (workload.bytes > out->device_.limits().largest_message)
    return Error{ErrorKind::unsupported, gid.device + " carries messages of up to " +
                                             std::to_string(out->device_.limits().largest_message) +
                                             " bytes"};
  prepare(out->region_.bytes(), workload, role);
  TRY(out->registered_, out->device_.register_memory(out->region_.bytes()));
  TRY(out->pairs_, QueuePairs::make(out->device_, out->workload_));
  out->at_.queue = out->pairs_.get();
  out->at_.memory = {out->region_.bytes().data(), out->registered_->lkey, 0, 0};
  out->at_.layout = layout_of(workload);
  out->at_.inlined = out->pairs_->inlined();
  if (workload.operation == Operation::send) {
    Receives receives(out->at_, out->workload_);
    if (const Failure failure = receives.post_all(); failure.trouble != Trouble::none)
      return Error{ErrorKind::refused, failure.text};
  }
  return out;
}

EndAddress End::address() const {
  return {device_.gid().gid, device_.limits().active_mtu, reinterpret_cast<std::uint64_t>(at_.memory.local),
          registered_->rkey, at_.layout.bytes(),          pairs_->addresses()};
}

Result<std::uint32_t> End::connect(const EndAddress& far) {
  TRY(const std::uint32_t mtu, path_mtu_of(device_.limits().active_mtu, far.active_mtu, workload_));
  if (workload_.service == Service::datagram) {
    if (workload_.bytes > mtu)
      return Error{ErrorKind::unsupported, "a UD message of " + std::to_string(workload_.bytes) +
                                               " bytes does not fit the path MTU of " + std::to_string(mtu)};
    TRY(peer_, device_.handle_to(far.gid, workload_.traffic_class));
    at_.peer = peer_.get();
    at_.peer_number = far.queue_pairs.front().number;
    at_.peer_key = datagram_key;
  }
  TRY_DONE(pairs_->connect(far, mtu));
  at_.memory.remote = far.memory;
  at_.memory.remote_key = far.key;
  return mtu;
}

CounterWatch::CounterWatch(const GidChoice& gid) : gid_(gid), before_(now()) {}

rdma::CounterSnapshot CounterWatch::now() const {
  constexpr std::chrono::seconds check{2};  // a dump of one port's queues
  auto read = rdma::read_counters(HostFiles("/"), gid_.device, gid_.port, gid_.netdev);
  if (!read) return {};
  rdma::read_queues(gid_.netdev, Call{.deadline = std::chrono::steady_clock::now() + check, .stop = {}},
                    *read);
  return *std::move(read);
}

Json CounterWatch::moved() const {
  Json out = Json::array();
  for (const rdma::Moved& one : rdma::moved_between(before_, now())) {
    Json entry{{"counter", one.counter}, {"by", one.by}};
    if (one.signal) {
      const rdma::Meaning& meaning = rdma::meaning_of(*one.signal);
      entry["signal"] = meaning.name;
      entry["side"] = rdma::to_string(meaning.side);
    }
    out.push_back(std::move(entry));
  }
  return out;
}

void FarEnd::check() {
  if (through_ || failure_.trouble != Trouble::none) return;
  auto message = exchange_.take_if_there("done");
  if (!message) {
    failure_ = {Trouble::path, message.error().text()};
    return;
  }
  if (!message->is_null()) take(*message);
}

void FarEnd::take(const Json& done) {
  through_ = true;
  const auto sent = done.find("sent");
  if (sent == done.end() || !sent->is_array()) return;
  for (const Json& one : *sent) sent_.push_back(one.is_number_unsigned() ? one.get<std::uint64_t>() : 0);
}

Failure FarEnd::interruption() {
  check();
  return failure_;
}

std::optional<std::uint64_t> FarEnd::told() {
  check();
  if (!through_) return std::nullopt;
  return std::accumulate(sent_.begin(), sent_.end(), std::uint64_t{0});
}

Result<Done> FarEnd::wait(const Call& call) {
  if (through_) return Done{};
  TRY(const Json done, exchange_.receive("done", call));
  take(done);
  return Done{};
}

}  // namespace lockstep::bench::verbs
