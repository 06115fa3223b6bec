// Part of server.cpp: one connection, from its handshake to its end, on the server's one I/O thread.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reconciler/api/server.hpp"

namespace lockstep::api {

namespace asio = boost::asio;
namespace beast = boost::beast;

// TCP and UNIX sockets alike.
using PlainStream = beast::basic_stream<asio::generic::stream_protocol>;
using TlsStream = asio::ssl::stream<PlainStream>;

class Connection;

// What connections share; of the I/O thread.
struct ApiShared {
  ApiShared(ServerSettings of, ApiParts parts)
      : settings(std::move(of)),
        service(std::move(parts), settings.limits.requests),
        readers(settings.limits.waiting_threads),
        actors(settings.limits.waiting_threads) {}

  ServerSettings settings;
  ApiService service;
  asio::io_context io{1};
  asio::thread_pool readers;
  asio::thread_pool actors;
  asio::thread_pool planners{1};  // one plan at a time
  TlsContext tls;
  std::uint64_t tls_read = 0;  // how often the files were
  std::set<std::shared_ptr<Connection>> connections;
  std::map<std::string, std::size_t> of_client;  // connections, by limits_key
  std::size_t handshakes = 0;
  std::size_t watches = 0;
  // Of watches that were not woken yet, and of those that have more to send and wait for their turn.
  std::vector<std::shared_ptr<Connection>> waking;
  std::deque<std::shared_ptr<Connection>> turns;
  bool wakes_again = false;  // all of them, after those
  bool gives_turns = false;  // that is posted
  bool stopping = false;
  Time logged{};               // when a refusal was
  std::size_t not_logged = 0;  // since
  asio::thread_pool& pool_of(What what) {
    return what == What::action ? actors : what == What::proposal ? planners : readers;
  }
  // The event log has news: each watch looks at it.
  void wake_all();
  // A watch that has more to send, and waits to be woken.
  void await_turn(std::shared_ptr<Connection> watch);
  void begin_turns();
  void give_turns();
  // For the metrics.
  void count_answer(std::string_view method, Http status) const {
    if (settings.metrics != nullptr) settings.metrics->answered(method, static_cast<int>(status));
  }
  void count_watch(int more) {
    watches += static_cast<std::size_t>(more);
    if (settings.metrics != nullptr) settings.metrics->watchers(more);
  }
  // Of something refused to an address: one line a second at most.
  void log_refusal(const std::string& address, const std::string& why);
};

// From outside.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void close() = 0;
  // Its watch may have something to send.
  virtual void wake() = 0;
  // Once a second: a watch whose credential has ended ends.
  virtual void check() = 0;
};

// Starts it, and adds it to `shared.connections` until it ends.
void serve_plain(ApiShared& shared, PlainStream stream, Peer peer);
void serve_tls(ApiShared& shared, PlainStream stream, Peer peer);

}  // namespace lockstep::api
