#include "drivers/agent/network_events.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "drivers/agent/network_calls.hpp"
#include "drivers/agent/wire.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kLineMax = 64U << 10;

// Half to all of it: agents of a controller that was restarted, or of a network that is back, don't all come
// at once.
std::chrono::milliseconds with_jitter(std::chrono::milliseconds wait, const std::string& device) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const auto part = static_cast<std::int64_t>(std::hash<std::string>{}(device + std::to_string(now)) %
                                              static_cast<std::size_t>(wait.count() / 2 + 1));
  return wait - std::chrono::milliseconds(part);
}

}  // namespace

void EventInbox::add(const Woken& woken) {
  const std::lock_guard lock(mutex_);
  pending_.all = pending_.all || woken.all;
  for (const std::string& device : woken.devices)
    if (std::ranges::find(pending_.devices, device) == pending_.devices.end())
      pending_.devices.push_back(device);
  wake_.signal();
}

Woken EventInbox::take() {
  const std::lock_guard lock(mutex_);
  wake_.clear();
  return std::exchange(pending_, {});
}

EventStream::EventStream(NetworkShared& shared, AgentAddress agent, std::shared_ptr<EventInbox> inbox)
    : shared_(shared),
      agent_(std::move(agent)),
      inbox_(std::move(inbox)),
      timer_(shared.io),
      wait_(shared.options.reconnect_min) {}

void EventStream::connect() {
  connected_ = false;
  connection_ = std::make_shared<Connection>(shared_, agent_);
  // A host that drops packets would keep a connect for minutes.
  timer_.expires_after(shared_.options.silence_max);
  timer_.async_wait(callbacks_.bind([this, connection = connection_](boost::system::error_code) {
    if (connection != connection_ || timer_.expiry() > std::chrono::steady_clock::now()) return;
    connection_->close();
    reconnect_later();
  }));
  connection_->open([this](const Result<Done>& opened) {
    if (!opened) return reconnect_later();
    timer_.expires_at(Time::max());
    follow();
  });
}

void EventStream::follow() {
  connection_->follow(
      "GET /v1/events HTTP/1.1\r\nHost: " + host_field(agent_.endpoint) + "\r\n\r\n",
      [this](std::string& body) { return take_lines(body); },
      [this](const Result<Connection::Answer>&) {
        connection_->close();
        reconnect_later();
      });
}

Result<Done> EventStream::take_lines(std::string& body) {
  // Whatever changed while nobody listened.
  if (!std::exchange(connected_, true)) inbox_->add({.all = true, .devices = {}});
  std::size_t start = 0;
  for (std::size_t end = body.find('\n'); end != body.npos; end = body.find('\n', start)) {
    TRY_DONE(take_line(std::string_view(body).substr(start, end - start)));
    start = end + 1;
  }
  body.erase(0, start);
  if (body.size() > kLineMax) return Error{ErrorKind::refused, "a line of its events does not end"};
  return Done{};
}

void EventStream::check_certificate() {
  if (!connection_ || !connection_->is_outdated()) return;
  connection_->close();
  reconnect_later();
}

// An agent speaks for its own device only. A line without a name, or without anything, is a heartbeat.
Result<Done> EventStream::take_line(std::string_view line) {
  wait_ = shared_.options.reconnect_min;
  if (line.empty() || line == "\r") return Done{};
  TRY(const Woken woken, wire::decode_woken(line));
  if (woken.all || std::ranges::find(woken.devices, agent_.device) != woken.devices.end())
    inbox_->add({.all = false, .devices = {agent_.device}});
  return Done{};
}

void EventStream::reconnect_later() {
  connection_ = nullptr;
  timer_.expires_after(with_jitter(wait_, agent_.device));
  wait_ = std::min(2 * wait_, AgentNetwork::kReconnectMax);
  timer_.async_wait(callbacks_.bind([this](boost::system::error_code) {
    if (!connection_ && timer_.expiry() <= std::chrono::steady_clock::now()) connect();
  }));
}

EventStream::~EventStream() {
  if (connection_) connection_->close();
}

}  // namespace lockstep
