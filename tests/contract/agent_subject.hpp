// The agent as a subject of the contract suite: lockstep-agent's server, dead man and journal over the driver
// of a machine, reached over TLS through a relay that a test can cut. Its dead man has virtual time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "reconciler/agent/journal.hpp"
#include "tests/contract/subjects.hpp"
#include "tests/contract/tcp_relay.hpp"

namespace lockstep::contract {

class AgentSubject : public Subject {
 public:
  virtual TcpRelay& relay() = 0;
  // Called after each apply and settlement is done and before it is answered; none: nothing is called.
  virtual void after_write(std::function<void()> act) = 0;
  // As it is on disk.
  virtual agent::JournalState journal() = 0;
  // Of the machine.
  std::string netns;
};

// `machine`: a subject with a driver of Linux on this machine.
std::unique_ptr<AgentSubject> make_agent_subject(std::unique_ptr<Subject> machine, std::string netns);

}  // namespace lockstep::contract
