#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/verbs/run.hpp"

namespace lockstep::bench::verbs {
namespace {

constexpr unsigned watchdog_s = 5;  // beyond the deadline, for a process that hangs in the kernel

Error wrong(const std::string& what) { return {ErrorKind::invalid_spec, "verbs-probe: " + what}; }

template <class E>
bool choose(const Json& json, const char* key, E& into) {
  const std::string text = text_of(json, key);
  if (!json.contains(key)) return true;
  const auto all = words(E{});
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] == text) {
      into = static_cast<E>(i);
      return true;
    }
  return false;
}

void print(const Json& line) {
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  (void)std::fwrite(text.data(), 1, text.size(), stdout);
  (void)std::fflush(stdout);
}

bool asks_for_help(int argc, char** argv) {
  return argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h");
}

constexpr std::string_view help =
    R"(One end of RDMA traffic between two machines, by hand. ORDER is a JSON object.
Usage: lockstep verbs-probe ORDER

Example, the server's end first; each prints one line of JSON with its result:
  b$ lockstep verbs-probe '{"role": "server", "address": "10.0.0.2", "peer": "10.0.0.1", "port": 18515}'
  a$ lockstep verbs-probe '{"role": "client", "address": "10.0.0.1", "peer": "10.0.0.2", "port": 18515,
                            "workload": {"operation": "write", "measure": "latency", "bytes": 8}}'

An order has role, address, peer, port, device, precheck (first, only or skip), deadlineMs, histogram and
workload. Exit codes: 0 measured, and every byte right; 2 it can't be measured, or bytes are wrong; 1 the order
is wrong. A client's workload, where it says nothing else:
)";

void print_help() {
  Json workload = to_json(Workload{});
  workload.erase("fault");  // for tests
  (void)std::fwrite(help.data(), 1, help.size(), stdout);
  print(workload);
}

void announce(std::uint16_t port) { print({{"event", "listening"}, {"port", port}}); }

}  // namespace

Result<Order> order_from(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return wrong("the order is not a JSON object");
  for (const auto& item : json.items()) {
    constexpr std::array<std::string_view, 9> known{
        "role", "address", "peer", "port", "device", "precheck", "deadlineMs", "histogram", "workload"};
    if (std::find(known.begin(), known.end(), item.key()) == known.end())
      return wrong("there is no " + item.key());
  }
  Order out;
  if (!json.contains("role") || !choose(json, "role", out.role)) return wrong("role is client or server");
  if (!choose(json, "precheck", out.precheck)) return wrong("precheck is first, only or skip");
  out.address = text_of(json, "address");
  out.peer = text_of(json, "peer");
  out.device = text_of(json, "device");
  if (out.address.empty() || out.peer.empty()) return wrong("address and peer are both needed");
  const std::uint64_t port = number_of(json, "port");
  if (port > 65535 || (port == 0 && out.role == Role::client))
    return wrong("a client needs the server's port");
  out.port = static_cast<std::uint16_t>(port);
  constexpr std::uint64_t hour_ms = 3'600'000;
  const std::uint64_t deadline =
      json.contains("deadlineMs") ? number_of(json, "deadlineMs") : out.deadline_ms;
  if (deadline == 0 || deadline > hour_ms) return wrong("deadlineMs is a number from 1 to 3600000");
  out.deadline_ms = static_cast<std::uint32_t>(deadline);
  if (const auto histogram = json.find("histogram"); histogram != json.end()) {
    if (!histogram->is_boolean()) return wrong("histogram is true or false");
    out.histogram = histogram->get<bool>();
  }
  if (const auto workload = json.find("workload"); workload != json.end()) {
    TRY(out.workload, workload_from(*workload));
  }
  return out;
}

int verbs_probe_main(int argc, char** argv) {
  if (asks_for_help(argc, argv)) {
    print_help();
    return 0;
  }
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto order =
      argc == 2 ? order_from(argv[1]) : Result<Order>(wrong("one argument: the order, in JSON"));
  if (!order) {
    print({{"ok", false}, {"error", order.error().text()}});
    return 1;
  }
  (void)alarm(order->deadline_ms / 1000 + 1 + watchdog_s);
  const Report report = order->role == Role::client ? run_client(*order) : run_server(*order, announce);
  print(report.json);
  return report.ok ? 0 : 2;
}

}  // namespace lockstep::bench::verbs
