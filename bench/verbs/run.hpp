// Verbs workloads with real traffic: one process per end, `lockstep verbs-probe ORDER`, where ORDER is a JSON
// object: {"role": "server", "address": A, "peer": P} and, at the other end, {"role": "client", "address": P,
// "peer": A, "port": N, "workload": {...}} (workload.hpp). A server prints {"event": "listening", "port": N}
// first; each prints one line with its result and exits 0 (measured, and every byte right), 2 (it can't be
// measured, or the bytes are wrong: `error` has the reason) or 1 (the order is invalid).
//
// Promises: an end is identified by its IP address, from which device and GID follow; both ends end by
// `deadlineMs` whatever the other does (a watchdog ends a process that hangs in the kernel five seconds
// later); the pre-check reports obstacles at both ends before traffic is tried. An end dies with the process
// that started it. Refuses: an order with an unknown key.
//
// The processes need no privilege except a memlock limit that fits the workload (or CAP_IPC_LOCK).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/verbs/payload.hpp"
#include "bench/verbs/precheck.hpp"

namespace lockstep::bench::verbs {

enum class Checks : std::uint8_t { first, only, skip };
constexpr auto words(Checks) { return std::to_array<std::string_view>({"first", "only", "skip"}); }

struct Order {
  Role role = Role::client;
  std::string address;
  std::string peer;
  std::uint16_t port = 0;  // server: 0 lets the kernel choose
  std::string device;      // empty: the one that has the address's GID
  Checks precheck = Checks::first;
  std::uint32_t deadline_ms = 30'000;
  bool histogram = false;  // client: the result contains the whole distribution
  Workload workload;       // client
};
Result<Order> order_from(const std::string& text);

// What an end prints.
struct Report {
  Json json;
  bool ok = false;
};
Report run_client(const Order& order);
using Announce = void (*)(std::uint16_t port);
Report run_server(const Order& order, Announce announce);

int verbs_probe_main(int argc, char** argv);

}  // namespace lockstep::bench::verbs
