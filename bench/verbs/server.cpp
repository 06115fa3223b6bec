// The server's end: accepts the client's order, checks itself, does its part, compares what it received.
#include <poll.h>

#include <nlohmann/json.hpp>

#include "bench/tcp/cpu.hpp"
#include "bench/verbs/end.hpp"
#include "bench/verbs/path_probe.hpp"
#include "bench/verbs/run.hpp"
#include "drivers/posix/wait.hpp"

namespace lockstep::bench::verbs {
namespace {

// Answers path probes until the client's address comes.
Result<Json> client_address(Exchange& exchange, PathEcho* echo, const Call& call) {
  for (;;) {
    TRY(Json address, exchange.take_if_there("address"));
    if (!address.is_null()) return address;
    if (echo == nullptr) return exchange.receive("address", call);
    pollfd waits[2] = {{exchange.descriptor(), POLLIN, 0}, {echo->descriptor(), POLLIN, 0}};
    constexpr int check_again_ms = 100;  // at the deadline
    (void)poll(waits, 2, check_again_ms);
    echo->answer_all();
    if (call.must_end(std::chrono::steady_clock::now()))
      return Error{ErrorKind::transient, "exchange with " + exchange.peer() + ": no 'address' came in time"};
  }
}

Transfer do_part(const Surroundings& at, const Workload& workload, FarEnd& client, const Call& call) {
  if (workload.operation == Operation::send)
    return workload.measure == Measure::bandwidth ? receive_bandwidth(at, workload) : send_pong(at, workload);
  if (workload.operation == Operation::write && workload.measure == Measure::latency)
    return write_pong(at, workload);
  Transfer out;  // the device answers without this program
  if (auto done = client.wait(call); !done) out.failure = {Trouble::path, done.error().text()};
  return out;
}

class Server {
 public:
  Server(const Order& order, const Call& call) : order_(order), call_(call) {}

  Result<Done> run(Announce announce, Json& report) {
    TRY(const Address own, parse_address(order_.address, order_.port));
    TRY(Descriptor listener, listen_on(own));
    announce(port_of(listener.number()));
    TRY(Exchange exchange, Exchange::accept(listener, order_.peer, call_));
    listener.close();
    auto done = serve(exchange, report);
    if (!done) (void)exchange.send("failed", {{"text", done.error().text()}}, call_);
    return done;
  }

 private:
  Result<Done> serve(Exchange& exchange, Json& report) {
    TRY(const Json asked, exchange.receive("order", call_));
    const auto found = asked.find("workload");
    if (found == asked.end()) return Error{ErrorKind::invalid_spec, "an order without a workload"};
    TRY(const Workload workload, workload_from(*found));
    report["workload"] = to_json(workload);
    const Facts facts = read_facts(HostFiles("/"), order_.address, order_.device, order_.peer, call_);
    const std::vector<Finding> findings =
        text_of(asked, "precheck") == word(Checks::skip) ? std::vector<Finding>{} : precheck(facts, workload);
    report["precheck"] = to_json(findings, "server");
    std::optional<PathEcho> echo;
    if (!facts.netdev.empty())
      if (auto opened = PathEcho::open(order_.address, facts.netdev)) echo.emplace(*std::move(opened));
    TRY_DONE(exchange.send("facts",
                           {{"precheck", report["precheck"]},
                            {"blocked", blocked(findings)},
                            {"echoPort", echo ? echo->port() : 0},
                            {"netdevMtu", facts.netdev_mtu}},
                           call_));
    auto address = client_address(exchange, echo ? &*echo : nullptr, call_);
    if (!address) return address.error();
    echo.reset();
    TRY(const GidChoice gid, choose_gid(facts.devices, order_.address, order_.device));
    return transfer(exchange, workload, gid, *address, report);
  }

  Result<Done> transfer(Exchange& exchange, const Workload& workload, const GidChoice& gid,
                        const Json& address, Json& report) {
    const CounterWatch counters(gid);
    TRY(const auto end, End::make(gid, workload, Role::server));
    TRY(const EndAddress far, end_address_from(address, workload.queue_pairs, layout_of(workload).bytes()));
    TRY(const std::uint32_t mtu, end->connect(far));
    FarEnd client(exchange);
    Surroundings& at = end->surroundings();
    at.deadline_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(call_.deadline.time_since_epoch()).count());
    at.interruption = [&client] { return client.interruption(); };
    at.told = [&client] { return client.told(); };
    TRY_DONE(exchange.send("address", to_json(end->address()), call_));
    const ProcessCpu before = process_cpu();
    const std::uint64_t begin = now_ns();
    const Transfer transfer = do_part(at, workload, client, call_);
    report["waited"] = waited_share(before, process_cpu(), now_ns() - begin);
    report["counters"]["server"] = counters.moved();
    if (transfer.failure.trouble != Trouble::none) return Error{ErrorKind::refused, transfer.failure.text};
    TRY_DONE(client.wait(call_));
    const Integrity integrity = verify(end->memory(), workload, Role::server, client.sent());
    report["device"] = gid.device;
    report["pathMtu"] = mtu;
    report["notes"] = end->notes();
    report["integrity"] = {{"checkedBytes", integrity.checked}, {"wrong", integrity.wrong}};
    TRY_DONE(exchange.send("result",
                           {{"integrity", report["integrity"]},
                            {"notes", report["notes"]},
                            {"counters", report["counters"]["server"]}},
                           call_));
    if (!integrity.wrong.empty()) return Error{ErrorKind::refused, "wrong payload: " + integrity.wrong};
    return Done{};
  }

  const Order& order_;
  const Call& call_;
};

}  // namespace

Report run_server(const Order& order, Announce announce) {
  Call call;
  call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(order.deadline_ms);
  Report out;
  out.json["role"] = word(order.role);
  const auto done = Server(order, call).run(announce, out.json);
  out.ok = static_cast<bool>(done);
  out.json["ok"] = out.ok;
  if (!done) out.json["error"] = done.error().text();
  return out;
}

}  // namespace lockstep::bench::verbs
