// ProbeFleet: the probe processes of one run, one per endpoint, and the messages to and from them.
//
// Promises: a probe that cannot be started or dies is an event, never a hang; every wait ends at its
// deadline, on a message, or when a stop is requested; the destructor leaves no process behind (a probe gets
// a moment to end by itself, then SIGKILL by its own pid) and no zombie. A probe that does not read its
// orders is killed and reported as dead.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "bench/tcp/run.hpp"
#include "bench/tcp/wire.hpp"
#include "drivers/posix/wake_descriptor.hpp"

namespace lockstep::bench {

class ProbeFleet {
 public:
  ProbeFleet(std::string executable, const std::vector<ProbeEndpoint>& endpoints, std::stop_token stop);
  ~ProbeFleet();
  ProbeFleet(const ProbeFleet&) = delete;
  ProbeFleet& operator=(const ProbeFleet&) = delete;

  using Started = std::function<void(std::size_t endpoint, pid_t pid)>;
  // Starts those that are not running, and waits until each of them is ready or has reported why not.
  void ensure(const std::vector<std::size_t>& endpoints, const Started& started);
  bool alive(std::size_t endpoint) const { return bool(probes_[endpoint].control); }
  const std::string& trouble(std::size_t endpoint) const { return probes_[endpoint].trouble; }

  void send(std::size_t endpoint, const Json& message);

  struct Event {
    std::size_t endpoint = 0;
    bool died = false;
    std::string why;
    Json message;
  };
  std::vector<Event> wait(std::uint64_t until_ns);
  bool stopping() const { return stop_.stop_requested(); }

 private:
  struct Probe {
    pid_t pid = -1;
    Descriptor control;
    bool ready = false;
    std::string trouble;
    MessageReader reader;
  };
  std::string spawn(Probe& probe, const std::string& netns);
  void read_from(std::size_t endpoint, std::vector<Event>& events);
  void bury(std::size_t endpoint, const std::string& why, std::vector<Event>& events);

  std::string executable_;
  const std::vector<ProbeEndpoint>& endpoints_;
  std::vector<Probe> probes_;
  std::vector<Event> pending_;  // deaths that were noticed while sending
  std::stop_token stop_;
  WakeDescriptor wake_;
};

}  // namespace lockstep::bench
