// Connection: one TLS connection to an agent, on the I/O thread. Part of network.cpp.
//
// Contract: every callback comes on the I/O thread, once, never from inside the function that was given it,
// and not after close(). Nothing is sent before the agent's chain and identity are verified. Errors are
// `transient` (no connection, the connection ended), `denied` (identity, on either side) or `refused` (what
// was sent is no answer, or exceeds a bound); after one the connection is closed.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "drivers/agent/network.hpp"
#include "drivers/agent/network_lookup.hpp"

namespace lockstep {

// The context of the TLS files, read again when they change.
class TlsSource {
 public:
  explicit TlsSource(TlsFiles files) : files_(std::move(files)) {}
  Result<Done> refresh();
  SSL_CTX* context() const { return context_.get(); }
  // Another one after each time that the files were read.
  std::uint64_t version() const { return version_; }

 private:
  TlsFiles files_;
  TlsContext context_;
  std::string stamp_;
  std::uint64_t version_ = 0;
};

// What the I/O thread owns.
struct NetworkShared {
  explicit NetworkShared(AgentNetwork::Options of) : options(std::move(of)), tls(options.files) {}
  AgentNetwork::Options options;
  boost::asio::io_context io{1};
  TlsSource tls;
  NameLookup names{io};
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Answer {
    unsigned status = 0;
    std::string body;
  };
  using Opened = std::function<void(Result<Done>)>;
  using Answered = std::function<void(Result<Answer>)>;
  // Takes what it wants of the body as it grows; an error ends the connection.
  using Growing = std::function<Result<Done>(std::string& body)>;

  Connection(NetworkShared& shared, AgentAddress agent);

  void open(Opened opened);
  // Of an HTTP/1.1 request.
  void ask(std::string request, Answered answered);
  // An answer without end: `growing` takes its body while the status is 200; `ended` gets the error, another
  // status, or the end.
  void follow(std::string request, Growing growing, Answered ended);
  // Whether another request may be sent: kept by both ends, of the present TLS files, verified by what has
  // not expired since, and not ended by the agent meanwhile.
  bool is_usable();
  // Whether the agent has accepted our certificate: with TLS 1.3 it is known only once it has answered.
  bool is_accepted() const { return accepted_; }
  // Whether the agent was verified by other TLS files, or by what has expired since.
  bool is_outdated() const;
  void close();

 private:
  using Code = boost::system::error_code;
  using Tcp = boost::asio::ip::tcp;
  using Parser = boost::beast::http::response_parser<boost::beast::http::string_body>;

  template <class F>
  auto kept(F then);
  void connect_next();
  void after_connect(Code code);
  void shake_hands();
  void after_handshake(Code code);
  void fail_open(Error error);
  void send(std::string request, Growing growing, Answered answered);
  void read_on();
  void after_read(Code code, std::size_t size);
  Result<Done> parse();
  void finish();
  void fail(Error error);
  void fail_cut(Code code);
  void arm_silence();
  bool is_timer_due() const;

  NetworkShared& shared_;
  const AgentAddress agent_;
  Tcp::socket socket_;
  std::optional<boost::asio::ssl::stream<Tcp::socket&>> stream_;
  boost::asio::steady_timer timer_;
  TcpEndpoints endpoints_;
  std::size_t next_endpoint_ = 0;
  std::string why_not_connected_;
  std::uint64_t version_ = 0;
  std::optional<std::time_t> valid_until_;  // none: the agent isn't verified yet
  bool closed_ = false;
  bool kept_alive_ = false;
  bool accepted_ = false;
  Opened opened_;

  std::string request_;
  std::string write_error_;  // the answer may be there in spite of it
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  Growing growing_;
  Answered answered_;
};

}  // namespace lockstep
