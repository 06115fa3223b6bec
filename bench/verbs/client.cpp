// The client's end: gives the order, checks both ends and the path, runs, and reports for both.
#include <nlohmann/json.hpp>

#include "bench/tcp/cpu.hpp"
#include "bench/verbs/end.hpp"
#include "bench/verbs/path_probe.hpp"
#include "bench/verbs/run.hpp"
#include "specs/model/roce_mtu.hpp"

namespace lockstep::bench::verbs {
namespace {

Transfer do_part(const Surroundings& at, const Workload& workload) {
  if (workload.measure == Measure::bandwidth) return send_bandwidth(at, workload);
  switch (workload.operation) {
    case Operation::read: return read_latency(at, workload);
    case Operation::write: return write_ping(at, workload);
    case Operation::send: return send_ping(at, workload);
  }
  return {};
}

class Client {
 public:
  Client(const Order& order, const Call& call, Json& report) : order_(order), call_(call), report_(report) {}

  Failure run() {
    const Facts facts = own_facts();
    findings_ = order_.precheck == Checks::skip ? std::vector<Finding>{} : precheck(facts, order_.workload);
    report_["precheck"] = to_json(findings_, "client");
    if (blocked(findings_)) return refused();
    auto exchange = Exchange::connect(order_.address, order_.peer, order_.port, call_);
    if (!exchange) return {Trouble::path, exchange.error().text()};
    Failure failure = check_both(*exchange, facts);
    if (failure.trouble == Trouble::none && order_.precheck == Checks::only)
      failure = {Trouble::cancelled, ""};
    if (failure.trouble == Trouble::none) failure = transfer(*exchange, facts);
    if (failure.trouble != Trouble::none)
      (void)exchange->send("failed", {{"text", failure.text.empty() ? "no run was asked for" : failure.text}},
                           call_);
    return failure;
  }

 private:
  Facts own_facts() const {
    return read_facts(HostFiles("/"), order_.address, order_.device, order_.peer, call_);
  }
  // The first finding that blocks is the error.
  Failure refused() const {
    for (const Finding& one : findings_)
      if (one.blocks) return {Trouble::transport, one.text};
    return {};
  }
  static Failure of(const Error& error) { return {Trouble::tool, error.text()}; }

  Failure check_both(Exchange& exchange, const Facts& facts) {
    if (auto sent = exchange.send(
            "order", {{"workload", to_json(order_.workload)}, {"precheck", word(order_.precheck)}}, call_);
        !sent)
      return {Trouble::path, sent.error().text()};
    const auto far = exchange.receive("facts", call_);
    if (!far) return {Trouble::path, far.error().text()};
    if (order_.precheck == Checks::skip) return {};
    if (const auto theirs = far->find("precheck"); theirs != far->end() && theirs->is_array())
      for (const Json& one : *theirs) {
        report_["precheck"].push_back(one);
        const auto blocks = one.find("blocks");
        if (blocks != one.end() && blocks->is_boolean() && blocks->get<bool>())
          return {Trouble::transport, "at " + order_.peer + ": " + text_of(one, "text")};
      }
    return check_path(facts, *far);
  }

  Failure check_path(const Facts& facts, const Json& far) {
    const auto port = static_cast<std::uint16_t>(number_of(far, "echoPort"));
    if (port == 0) return {};
    std::uint32_t mtu = roce_mtu(facts.netdev_mtu);
    if (const auto theirs = static_cast<std::uint32_t>(number_of(far, "netdevMtu")); theirs != 0)
      mtu = std::min(mtu, roce_mtu(theirs));
    if (order_.workload.path_mtu != 0) mtu = std::min(mtu, order_.workload.path_mtu);
    const std::uint32_t bytes = packet_bytes(mtu, order_.address.find(':') != std::string::npos);
    const auto verdict = probe_path(order_.address, facts.netdev, order_.peer, port, bytes, now_ns(), call_);
    if (!verdict) return of(verdict.error());
    if (verdict->small_passes && verdict->large_passes) return {};
    Finding finding{Obstacle::path, "no packet passes from " + facts.netdev + " to " + order_.peer +
                                        " and back" +
                                        (verdict->trouble.empty() ? "" : " (" + verdict->trouble + ")")};
    // A neighbour that was resolved and did not answer is the more precise reason.
    const Facts after = own_facts();
    if (verdict->small_passes)
      finding = {Obstacle::mtu, "packets of " + std::to_string(bytes) + " bytes do not pass to " +
                                    order_.peer + ", small ones do: a link on the way has an MTU below " +
                                    std::to_string(bytes) +
                                    (verdict->trouble.empty() ? "" : " (" + verdict->trouble + ")")};
    else
      for (const Finding& one : precheck(after, order_.workload))
        if (one.what == Obstacle::neighbour) finding = one;
    findings_.push_back(finding);
    report_["precheck"].push_back(to_json({finding}, "client").front());
    return refused();
  }

  Failure transfer(Exchange& exchange, const Facts& facts) {
    const auto gid = choose_gid(facts.devices, order_.address, order_.device);
    if (!gid) return {Trouble::transport, gid.error().text()};
    const CounterWatch counters(*gid);
    const auto end = End::make(*gid, order_.workload, Role::client);
    if (!end) return of(end.error());
    if (auto sent = exchange.send("address", to_json((*end)->address()), call_); !sent)
      return {Trouble::path, sent.error().text()};
    const auto told = exchange.receive("address", call_);
    if (!told) return {Trouble::path, told.error().text()};
    const auto far = end_address_from(*told, order_.workload.queue_pairs, layout_of(order_.workload).bytes());
    if (!far) return of(far.error());
    const auto mtu = (*end)->connect(*far);
    if (!mtu) return {Trouble::transport, mtu.error().text()};
    report_["device"] = gid->device;
    report_["gid"] = gid_text(gid->gid);
    report_["pathMtu"] = *mtu;
    report_["inline"] = (*end)->surroundings().inlined;
    report_["notes"] = (*end)->notes();
    Failure failure = measure(exchange, **end);
    report_["counters"]["client"] = counters.moved();
    return failure;
  }

  Failure measure(Exchange& exchange, End& end) {
    FarEnd server(exchange);
    Surroundings& at = end.surroundings();
    at.deadline_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(call_.deadline.time_since_epoch()).count());
    at.interruption = [&server] { return server.interruption(); };
    const ProcessCpu before = process_cpu();
    const std::uint64_t begin = now_ns();
    const Transfer transfer = do_part(at, order_.workload);
    const ProcessCpu after = process_cpu();
    const std::uint64_t window = now_ns() - begin;
    report_["busy"] = busy_share(before, after, window);
    report_["waited"] = waited_share(before, after, window);
    report_["result"] = to_json(transfer, order_.workload);
    if (order_.histogram) report_["result"]["histogram"] = to_json(transfer.seen);
    if (transfer.failure.trouble != Trouble::none) return with_peer(transfer.failure, server);
    if (auto sent = exchange.send("done", {{"sent", transfer.sent}}, call_); !sent)
      return {Trouble::path, sent.error().text()};
    const auto result = exchange.receive("result", call_);
    if (!result) return {Trouble::path, result.error().text()};
    return compare(end, transfer, *result);
  }

  // A queue pair that gets no acknowledgement does not know why; the exchange may.
  static Failure with_peer(Failure failure, FarEnd& server) {
    const Failure said = server.interruption();
    if (said.trouble != Trouble::none && said.text != failure.text)
      failure.text = said.text + "; " + failure.text;
    return failure;
  }

  Failure compare(End& end, const Transfer& transfer, const Json& far) {
    if (const auto counters = far.find("counters"); counters != far.end())
      report_["counters"]["server"] = *counters;
    if (const auto notes = far.find("notes"); notes != far.end()) report_["serverNotes"] = *notes;
    const Integrity own = verify(end.memory(), order_.workload, Role::client, transfer.sent);
    Json theirs = far.value("integrity", Json::object());
    if (!theirs.is_object()) theirs = Json::object();
    report_["integrity"] = {{"checkedBytes", own.checked + number_of(theirs, "checkedBytes")},
                            {"wrong", own.wrong.empty() ? text_of(theirs, "wrong") : own.wrong}};
    const std::string wrong = text_of(report_["integrity"], "wrong");
    if (wrong.empty()) return {};
    return {Trouble::wrong,
            std::string("wrong payload, at the ") + (own.wrong.empty() ? "server: " : "client: ") + wrong};
  }

  const Order& order_;
  const Call& call_;
  Json& report_;
  std::vector<Finding> findings_;
};

}  // namespace

Report run_client(const Order& order) {
  Call call;
  call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(order.deadline_ms);
  Report out;
  out.json["role"] = word(order.role);
  out.json["workload"] = to_json(order.workload);
  Failure failure = Client(order, call, out.json).run();
  const bool only = failure.trouble == Trouble::cancelled && failure.text.empty();
  out.ok = failure.trouble == Trouble::none || only;
  out.json["ok"] = out.ok;
  if (!out.ok) {
    out.json["trouble"] = words(Trouble{})[static_cast<std::size_t>(failure.trouble)];
    out.json["error"] = failure.text;
  }
  return out;
}

}  // namespace lockstep::bench::verbs
