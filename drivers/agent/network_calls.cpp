#include "drivers/agent/network_calls.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "drivers/agent/wire.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kGreeting = "hello";

std::string post_request(std::string_view name, std::string_view body, const AgentEndpoint& endpoint,
                         Time deadline) {
  std::string out = "POST /v1/" + std::string(name) + " HTTP/1.1\r\nHost: " + host_field(endpoint) +
                    "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size());
  if (deadline != Time::max()) {
    const auto left =
        std::chrono::floor<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    out += "\r\nLockstep-Deadline-Ms: " + std::to_string(std::max<std::int64_t>(left, 1));
  }
  return (out += "\r\n\r\n") += body;
}

// Of an answer that carries no error of ours. What is refused with 4xx was not begun.
ErrorKind kind_of_status(unsigned status, bool writes) {
  switch (status) {
    case 401:
    case 403: return ErrorKind::denied;
    case 404:
    case 405: return ErrorKind::unsupported;
    case 408:
    case 429: return ErrorKind::transient;
    default: break;
  }
  if (status >= 400 && status < 500) return ErrorKind::refused;
  if (writes) return ErrorKind::unknown_outcome;
  return status >= 500 ? ErrorKind::transient : ErrorKind::refused;
}

// An agent's text is shown and kept: its length is bounded.
std::string bounded(std::string text) {
  constexpr std::size_t kTextMax = 4096;
  if (text.size() > kTextMax) text.replace(kTextMax, text.npos, "...");
  std::ranges::replace(text, '\n', ' ');
  return text;
}

Error bounded(const Error& error) {
  return {error.kind, bounded(error.what),
          error.cause ? std::make_shared<const Error>(bounded(*error.cause)) : nullptr};
}

}  // namespace

std::string host_field(const AgentEndpoint& endpoint) {
  return endpoint.text().substr(std::string_view("https://").size());
}

Result<std::string> content_of_answer(Connection::Answer answer, std::string_view name, bool writes) {
  if (answer.status == 200) return std::move(answer.body);
  Error out = bounded(wire::decode_error(
      answer.body, kind_of_status(answer.status, writes),
      "it answers " + std::string(name) + " with HTTP status " + std::to_string(answer.status)));
  if (out.kind == ErrorKind::cancelled) out.kind = writes ? ErrorKind::unknown_outcome : ErrorKind::transient;
  return out;
}

std::string Exchange::request(const AgentEndpoint& endpoint) const {
  return post_request(name_, body_, endpoint, deadline_);
}

Result<std::string> Exchange::leave(const Error& why) {
  const std::lock_guard lock(mutex_);
  if (result_) return *std::move(result_);
  left_ = true;
  switch (stage_) {
    case Stage::queued: return Error{why.kind, why.what + " before it was begun"};
    case Stage::connecting: return Error{why.kind, why.what + " while it connected"};
    case Stage::sent: break;
  }
  return failed({why.kind, why.what + " before it answered " + name_});
}

bool Exchange::is_answered() const {
  const std::lock_guard lock(mutex_);
  return result_.has_value();
}

bool Exchange::advance(Stage stage) {
  const std::lock_guard lock(mutex_);
  if (left_) return false;
  stage_ = stage;
  return true;
}

bool Exchange::connect() { return advance(Stage::connecting); }
bool Exchange::send() { return advance(Stage::sent); }

bool Exchange::is_left() const {
  const std::lock_guard lock(mutex_);
  return left_;
}

void Exchange::answer(Result<std::string> result) {
  const std::lock_guard lock(mutex_);
  result_.emplace(std::move(result));
  done_.signal();
}

Result<std::string> Exchange::failed(Error error) const {
  if (writes())
    return Error{ErrorKind::unknown_outcome, error.what + "; whether it did what was asked is unknown"};
  return error;
}

void AgentCalls::add(std::shared_ptr<Exchange> exchange) {
  queue_.push_back(std::move(exchange));
  if (!current_) next();
}

void AgentCalls::next() {
  current_ = nullptr;
  while (!queue_.empty() && !current_) {
    if (queue_.front()->connect()) current_ = std::move(queue_.front());
    queue_.pop_front();
  }
  if (!current_) return;
  if (auto read = shared_.tls.refresh(); !read) return finish(std::move(read.error()));
  if (connection_ && connection_->is_usable()) return send();
  disconnect();
  connection_ = std::make_shared<Connection>(shared_, agent_);
  connection_->open([this](Result<Done> opened) {
    if (!opened) return finish(std::move(opened.error()));
    current_->writes() ? greet() : send();
  });
}

// A refusal of our certificate comes only after the handshake: without this it would be that of a call that
// may have written.
void AgentCalls::greet() {
  if (current_->is_left()) return;
  connection_->ask(post_request(kGreeting, "{}", agent_.endpoint, Time::max()),
                   [this](Result<Connection::Answer> answer) {
                     if (!answer) return finish(std::move(answer.error()));
                     auto greeted = content_of_answer(*std::move(answer), kGreeting, false);
                     if (!greeted) return finish(std::move(greeted.error()));
                     if (!connection_->is_usable())
                       return finish(Error{ErrorKind::transient, "it closes the connection after a hello"});
                     send();
                   });
}

void AgentCalls::send() {
  if (!current_->send()) return;  // drop() follows
  connection_->ask(current_->request(agent_.endpoint), [this](Result<Connection::Answer> answer) {
    if (!answer) return finish(current_->failed(std::move(answer.error())));
    finish(content_of_answer(*std::move(answer), current_->name(), current_->writes()));
  });
}

// Not at once: a queue of calls that all fail would nest.
void AgentCalls::finish(Result<std::string> result) {
  if (connection_ && !connection_->is_usable()) disconnect();
  current_->answer(std::move(result));
  boost::asio::post(shared_.io, [this, finished = current_] {
    if (current_ == finished) next();
  });
}

void AgentCalls::drop(const std::shared_ptr<Exchange>& exchange) {
  if (exchange != current_) {
    std::erase(queue_, exchange);
    return;
  }
  disconnect();
  next();
}

void AgentCalls::check_certificate() {
  if (connection_ && !current_ && connection_->is_outdated()) disconnect();
}

void AgentCalls::disconnect() {
  if (connection_) connection_->close();
  connection_ = nullptr;
}

void AgentCalls::close() {
  disconnect();
  queue_.clear();
}

}  // namespace lockstep
