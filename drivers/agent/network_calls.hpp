// AgentCalls: the calls to one agent, one after the other, over a kept connection. Part of network.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "drivers/agent/network_connection.hpp"
#include "drivers/posix/wake_descriptor.hpp"

namespace lockstep {

// One call, shared by the caller's thread, which waits for `done` and may leave at any time, and the I/O
// thread.
class Exchange {
 public:
  Exchange(std::string name, const std::string& body, AgentNetwork::Effect effect, Time deadline)
      : name_(std::move(name)), body_(body), effect_(effect), deadline_(deadline) {}

  const std::string& name() const { return name_; }
  bool writes() const { return effect_ == AgentNetwork::Effect::writes; }
  const WakeDescriptor& done() const { return done_; }
  // The HTTP request; its time is that which is left now.
  std::string request(const AgentEndpoint& endpoint) const;

  // The caller's thread: the result, or, of a call that has none yet, why it ends without (`why`). From then
  // on nothing of it is sent.
  Result<std::string> leave(const Error& why);
  bool is_answered() const;

  // The I/O thread. False: the caller has left.
  bool connect();
  bool send();
  bool is_left() const;
  void answer(Result<std::string> result);
  // For an error that came instead of an answer.
  Result<std::string> failed(Error error) const;

 private:
  enum class Stage : std::uint8_t { queued, connecting, sent };
  bool advance(Stage stage);

  const std::string name_;
  const std::string body_;
  const AgentNetwork::Effect effect_;
  const Time deadline_;
  const WakeDescriptor done_;
  mutable std::mutex mutex_;
  Stage stage_ = Stage::queued;  // and what follows: under mutex_
  bool left_ = false;
  std::optional<Result<std::string>> result_;
};

// On the I/O thread.
class AgentCalls {
 public:
  AgentCalls(NetworkShared& shared, AgentAddress agent) : shared_(shared), agent_(std::move(agent)) {}

  void add(std::shared_ptr<Exchange> exchange);
  // A call whose caller has left: a late answer could be taken for that of the next, so its connection ends.
  void drop(const std::shared_ptr<Exchange>& exchange);
  void close();
  // Ends the connection between two calls if the agent was verified by what holds no longer.
  void check_certificate();

 private:
  void next();
  void greet();
  void send();
  void finish(Result<std::string> result);
  void disconnect();

  NetworkShared& shared_;
  const AgentAddress agent_;
  std::shared_ptr<Connection> connection_;
  std::deque<std::shared_ptr<Exchange>> queue_;
  std::shared_ptr<Exchange> current_;
};

// The Host field (RFC 9112 3.2).
std::string host_field(const AgentEndpoint& endpoint);
// What an answer says: its body, or an error.
Result<std::string> content_of_answer(Connection::Answer answer, std::string_view name, bool writes);

}  // namespace lockstep
