// Two ends of a verbs workload as processes of this program, and their output. The program must pass
// `verbs-probe` to verbs_probe_main().
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "specs/files/descriptor.hpp"
#include "tests/vm/rxe_lab.hpp"

namespace lockstep {

using nlohmann::json;

// A process whose output lines are read; it is killed with the object.
class Process {
 public:
  explicit Process(std::vector<std::string> words);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  // The next line, or the rest; empty if the process ended or the deadline passed.
  std::string line(Time deadline);
  std::string all(Time deadline);
  void kill();
  int exit_code(Time deadline);  // -1: a signal, or the deadline passed

 private:
  bool read_more(Time deadline);
  int pid_ = -1;
  Descriptor out_;
  std::string pending_;
};

inline Time within(int seconds) { return std::chrono::steady_clock::now() + std::chrono::seconds(seconds); }

struct Ran {
  json client;
  json server;
  int client_exit = -1;
};

Process start_probe(const json& order);
// Starts the server at `to`; stores its port in `port`.
Process start_server(const RxeEndpoint& from, const RxeEndpoint& to, std::uint16_t& port,
                     json more = json::object());
json client_order(const RxeEndpoint& from, const RxeEndpoint& to, std::uint16_t port, const json& workload);
// `more`: further keys of the order of the client.
Ran run_between(const RxeEndpoint& from, const RxeEndpoint& to, const json& workload,
                json more = json::object());

}  // namespace lockstep
