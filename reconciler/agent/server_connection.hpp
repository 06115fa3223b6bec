// Part of server.cpp: one connection, from its handshake to its end, on the server's one I/O thread.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "drivers/posix/wake_descriptor.hpp"
#include "reconciler/agent/server.hpp"
#include "reconciler/agent/server_table.hpp"
#include "reconciler/agent/server_workers.hpp"

namespace lockstep::agent {

namespace asio = boost::asio;

// How long the bytes of a client that got its last answer are read, so that the kernel's RST does not
// overtake the answer.
constexpr std::chrono::milliseconds kLinger{1'000};

// What connections share.
struct ServerShared {
  explicit ServerShared(ServerOptions of)
      : options(std::move(of)), table(options.handshakes_max, options.connections_max) {}
  // Of something refused to an address: at most once a second for each.
  void log_refusal(const asio::ip::address& address, const std::string& why);

  ServerOptions options;
  std::shared_ptr<Calls> calls;
  std::function<void(const std::string&)> log;
  asio::io_context io{1};
  TlsContext tls;
  ServerTable table;
  std::unique_ptr<Workers> workers;
  std::stop_source stopping;
  WakeDescriptor wake;           // signalled with it
  std::uint64_t files_read = 0;  // how often the TLS files were
  std::size_t body_bytes = 0;    // of all requests that are read or answered
  std::map<AddressKey, Time> logged;
};

class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
 public:
  enum class Phase : std::uint8_t {
    handshake,
    idle,       // between requests
    reading,    // a request
    calling,    // a call waits or runs
    writing,    // an answer
    streaming,  // events
    leaving,    // answered for the last time
    closed,
  };
  ServerConnection(ServerShared& shared, asio::ip::tcp::socket socket, SSL* tls, asio::ip::address address,
                   std::uint64_t number);

  void start();
  void close();
  // The TLS files have changed: ends once it serves no call.
  void renew();
  // Ends, likewise, if its certificate would be refused now. A request that is not complete is not served.
  void check_certificate();

  std::uint64_t number() const { return number_; }
  AddressKey address_key() const { return key_of(address_); }
  Phase phase() const { return phase_; }
  PeerRole role() const { return who_.role; }
  std::string peer() const { return who_.text(); }
  const asio::ip::address& address() const { return address_; }

 private:
  using Code = boost::system::error_code;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  enum class After : std::uint8_t { next_request, leave };

  // A handler that keeps the connection, and does nothing once it is closed.
  template <class F>
  auto kept(F then) {
    return [self = shared_from_this(), then = std::move(then)](auto&&... results) mutable {
      if (self->phase_ != Phase::closed) then(std::forward<decltype(results)>(results)...);
    };
  }
  // Closes, or acts as the phase needs, unless armed again by then.
  void arm(Time when);
  void arm(std::chrono::milliseconds length);
  void ran_out();
  bool outdated() const { return files_read_ != shared_.files_read; }
  // Why its certificate would be refused now.
  std::optional<Error> why_refused_now();

  // server_connection.cpp
  void after_handshake(Code code);
  void log_failed_handshake(Code code);
  void next_request();
  void read_header();
  void after_header(Code code);
  void route();
  void read_body(std::string name);
  void dispatch(const std::string& name);
  void run_out_of_time_waiting();
  void answer(const Reply& reply, After after, std::string_view headers = {});
  void refuse(int status, const Error& error, std::string_view headers = {});
  void send(std::string bytes, std::function<void()> then);
  void write_on();
  void leave();
  void discard();
  void free_body();

  // server_events.cpp
  void open_events();
  void start_events(std::shared_ptr<Watcher> watcher);
  void await_event();
  void await_end_of_client();
  void stream_on();
  void send_bytes(std::string bytes);
  void end_events();
  void leave_stream();

  ServerShared& shared_;
  asio::ssl::stream<asio::ip::tcp::socket> stream_;
  asio::steady_timer timer_;
  const asio::ip::address address_;
  const std::uint64_t number_;
  const std::uint64_t files_read_;
  Phase phase_ = Phase::handshake;
  PeerIdentity who_;
  std::time_t valid_until_ = 0;
  bool expired_ = false;          // or revoked: it is asked nothing more
  std::optional<Error> refusal_;  // the answer to whatever it asks
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::size_t body_bytes_ = 0;  // its part of the shared count
  std::uint64_t job_ = 0;
  Call call_;
  std::string out_;
  std::size_t written_ = 0;
  Time write_until_{};
  std::function<void()> after_write_;
  std::size_t discarded_ = 0;
  std::array<char, 512> discards_{};

  std::shared_ptr<Watcher> watcher_;
  std::optional<asio::posix::stream_descriptor> events_;
  bool sending_ = false;  // a line of events
  bool woken_ = false;
  bool beat_ = false;
  bool ending_ = false;
};

}  // namespace lockstep::agent
