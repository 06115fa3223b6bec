// Event streams of ServerConnection.

#include <fcntl.h>

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "drivers/agent/wire.hpp"
#include "reconciler/agent/server_connection.hpp"

namespace lockstep::agent {
namespace {

constexpr const char* kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nCache-Control: no-store\r\n"
    "Transfer-Encoding: chunked\r\n\r\n";
constexpr const char* kLastChunk = "0\r\n\r\n";

std::string chunk_of(const std::string& line) {
  std::array<char, 24> size{};
  const int length = std::snprintf(size.data(), size.size(), "%zx\r\n", line.size());
  return std::string(size.data(), static_cast<std::size_t>(length)) + line + "\r\n";
}

}  // namespace

void ServerConnection::open_events() {
  phase_ = Phase::calling;
  arm(shared_.options.call_time);
  job_ = shared_.workers->add(who_.role == PeerRole::reader, [self = shared_from_this()] {
    auto watcher = self->shared_.calls->watch();
    asio::post(self->shared_.io, self->kept([self, watcher = std::move(watcher)]() mutable {
      self->job_ = 0;
      if (watcher) return self->start_events(*std::move(watcher));
      self->refuse(error_reply(watcher.error()).status, watcher.error());
    }));
  });
}

void ServerConnection::start_events(std::shared_ptr<Watcher> watcher) {
  // Its own number, as the watcher closes the other.
  const int descriptor = ::fcntl(watcher->descriptor(), F_DUPFD_CLOEXEC, 0);
  Code code;
  if (descriptor >= 0) events_.emplace(shared_.io);
  if (descriptor >= 0 && events_->assign(descriptor, code)) ::close(descriptor);
  if (descriptor < 0 || code) {
    const Error failed{ErrorKind::transient,
                       std::string("events: ") + (code ? code.message() : std::strerror(errno))};
    return refuse(error_reply(failed).status, failed);
  }
  watcher_ = std::move(watcher);
  phase_ = Phase::streaming;
  await_event();
  await_end_of_client();
  send_bytes(kStreamHead);
}

void ServerConnection::await_event() {
  events_->async_wait(asio::posix::descriptor_base::wait_read, kept([this](Code code) {
                        if (code) return;
                        woken_ = true;
                        stream_on();
                      }));
}

// A client has nothing to send on a stream: whatever it is, it is its end.
void ServerConnection::await_end_of_client() {
  stream_.async_read_some(asio::buffer(discards_), kept([this](Code, std::size_t) { close(); }));
}

// While a line is being sent, events stay in the watcher, which bounds them.
void ServerConnection::stream_on() {
  if (sending_) return;
  if (std::exchange(woken_, false) && !ending_) {
    auto woken = watcher_->drain();
    if (woken) await_event();
    if (woken && woken->any()) return send_bytes(chunk_of(wire::encode(*woken) + "\n"));
    ending_ = !woken;
  }
  if (ending_) {
    phase_ = Phase::leaving;
    return send(kLastChunk, [this] { leave_stream(); });
  }
  if (std::exchange(beat_, false)) send_bytes(chunk_of("{}\n"));
}

void ServerConnection::send_bytes(std::string bytes) {
  sending_ = true;
  send(std::move(bytes), [this] {
    sending_ = false;
    beat_ = false;
    arm(shared_.options.heartbeat);
    stream_on();
  });
}

void ServerConnection::end_events() {
  ending_ = true;
  stream_on();
}

// The client's end is awaited already; TLS can't be ended beside that read.
void ServerConnection::leave_stream() {
  arm(kLinger);
  Code ignored;
  stream_.next_layer().shutdown(asio::socket_base::shutdown_send, ignored);
}

}  // namespace lockstep::agent
