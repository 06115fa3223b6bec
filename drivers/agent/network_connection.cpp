#include "drivers/agent/network_connection.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <cerrno>
#include <utility>

#include "drivers/agent/tls_verify.hpp"
#include "specs/model/ip.hpp"

namespace lockstep {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr std::uint32_t kAnswerHeaderMax = 16U << 10;
constexpr std::size_t kReadSize = 16U << 10;  // a TLS record (RFC 8446 5.1)
// A host name may have addresses that nothing answers at; the last one has the rest of the call's time.
constexpr std::chrono::milliseconds kTryOfManyMax{3'000};
// A peer that vanished without a word is noticed between two calls: after 25 s.
constexpr int kKeepAliveIdle = 10;
constexpr int kKeepAliveInterval = 5;
constexpr int kKeepAliveProbes = 3;

// Best effort: a connection works without any of them.
void set_options(asio::ip::tcp::socket& socket) {
  const int descriptor = socket.native_handle();
  const auto set = [descriptor](int level, int option, int value) {
    (void)::setsockopt(descriptor, level, option, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdle);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveInterval);
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
}

bool is_of_tls(const boost::system::error_code& code) {
  return code.category() == asio::error::get_ssl_category();
}

// With TLS 1.3 an agent refuses our certificate after our handshake has finished.
bool refuses_certificate(const boost::system::error_code& code) {
  return is_of_tls(code) && refuses_our_certificate(static_cast<unsigned long>(code.value()));
}

}  // namespace

Result<Done> TlsSource::refresh() {
  const std::string stamp = stamp_of(files_);
  if (context_ && stamp == stamp_) return Done{};
  TRY(context_, tls_context(files_, false));
  stamp_ = stamp;
  ++version_;
  return Done{};
}

Connection::Connection(NetworkShared& shared, AgentAddress agent)
    : shared_(shared), agent_(std::move(agent)), socket_(shared.io), timer_(shared.io) {}

// Runs `then` unless the connection was closed meanwhile.
template <class F>
auto Connection::kept(F then) {
  return [self = shared_from_this(), then = std::move(then)](auto&&... arguments) mutable {
    if (!self->closed_) then(std::forward<decltype(arguments)>(arguments)...);
  };
}

void Connection::open(Opened opened) {
  opened_ = std::move(opened);
  shared_.names.find(agent_.endpoint.host, agent_.endpoint.port, kept([this](Result<TcpEndpoints> found) {
                       if (!found) return fail_open(std::move(found.error()));
                       endpoints_ = *std::move(found);
                       connect_next();
                     }));
}

void Connection::connect_next() {
  if (next_endpoint_ == endpoints_.size()) return fail_open({ErrorKind::transient, why_not_connected_});
  const Tcp::endpoint& endpoint = endpoints_[next_endpoint_++];
  Code code;
  socket_.close(code);
  if (socket_.open(endpoint.protocol(), code)) {
    why_not_connected_ = "no socket: " + code.message();
    return connect_next();
  }
  set_options(socket_);
  if (next_endpoint_ < endpoints_.size()) {
    timer_.expires_after(kTryOfManyMax);
    timer_.async_wait(kept([this](Code) {
      Code ignored;
      if (is_timer_due()) socket_.close(ignored);  // the connect ends with an error
    }));
  }
  socket_.async_connect(endpoint, kept([this](Code done) { after_connect(done); }));
}

void Connection::after_connect(Code code) {
  // A timer that ran out together with the connect has closed the socket.
  if (!code && !socket_.is_open()) code = asio::error::timed_out;
  timer_.expires_at(Time::max());
  if (!code) return shake_hands();
  const Tcp::endpoint& endpoint = endpoints_[next_endpoint_ - 1];
  why_not_connected_ = "no connection to " + endpoint.address().to_string() + ": " +
                       (code == asio::error::operation_aborted ? "no answer" : code.message());
  connect_next();
}

void Connection::shake_hands() {
  if (auto read = shared_.tls.refresh(); !read) return fail_open(std::move(read.error()));
  version_ = shared_.tls.version();
  SSL* const tls = SSL_new(shared_.tls.context());
  if (tls == nullptr) return fail_open({ErrorKind::transient, "no memory for a TLS connection"});
  stream_.emplace(socket_, tls);
  // A server name is never an address (RFC 6066 3).
  const std::string& host = agent_.endpoint.host;
  if (!IpAddress::parse(host) && SSL_set_tlsext_host_name(tls, host.c_str()) != 1)
    return fail_open({ErrorKind::invalid_spec, "'" + host + "' can't be sent as a server name"});
  stream_->async_handshake(asio::ssl::stream_base::client,
                           kept([this](Code done) { after_handshake(done); }));
}

void Connection::after_handshake(Code code) {
  SSL* const tls = stream_->native_handle();
  if (code && is_of_tls(code))
    return fail_open(
        {ErrorKind::denied, why_handshake_failed(tls, static_cast<unsigned long>(code.value()))});
  if (code)
    return fail_open({ErrorKind::transient, "the connection ended in the TLS handshake: " + code.message()});
  const WantedPeer wanted{shared_.options.cluster, agent_.device, agent_.endpoint.host};
  if (auto verified = verify_agent(tls, wanted); !verified) return fail_open(std::move(verified.error()));
  valid_until_ = valid_until(tls);
  kept_alive_ = true;
  std::exchange(opened_, nullptr)(Done{});
}

void Connection::fail_open(Error error) {
  const Opened opened = std::exchange(opened_, nullptr);
  close();
  opened(std::move(error));
}

void Connection::close() {
  if (std::exchange(closed_, true)) return;
  Code ignored;
  socket_.close(ignored);
  timer_.cancel();
  opened_ = nullptr;
  growing_ = nullptr;
  answered_ = nullptr;
}

bool Connection::is_outdated() const {
  return valid_until_ && (version_ != shared_.tls.version() || std::time(nullptr) >= *valid_until_);
}

bool Connection::is_usable() {
  if (closed_ || !kept_alive_ || is_outdated()) return false;
  // Whatever an idle agent has sent, it is no answer: its farewell (close_notify), or an end.
  char byte = 0;
  return ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

void Connection::ask(std::string request, Answered answered) {
  send(std::move(request), nullptr, std::move(answered));
}

void Connection::follow(std::string request, Growing growing, Answered ended) {
  arm_silence();
  send(std::move(request), std::move(growing), std::move(ended));
}

void Connection::send(std::string request, Growing growing, Answered answered) {
  request_ = std::move(request);
  write_error_.clear();
  growing_ = std::move(growing);
  answered_ = std::move(answered);
  kept_alive_ = false;
  buffer_.clear();
  parser_.emplace();
  parser_->eager(true);
  parser_->header_limit(kAnswerHeaderMax);
  if (growing_)
    parser_->body_limit(boost::none);
  else
    parser_->body_limit(shared_.options.answer_max);
  asio::async_write(*stream_, asio::buffer(request_), kept([this](Code code, std::size_t) {
    if (code) write_error_ = code.message();
    read_on();
  }));
}

void Connection::read_on() {
  if (parser_->got_some()) arm_silence();
  stream_->async_read_some(buffer_.prepare(kReadSize),
                           kept([this](Code code, std::size_t size) { after_read(code, size); }));
}

void Connection::arm_silence() {
  const std::chrono::milliseconds silence = shared_.options.silence_max;
  timer_.expires_after(silence);
  timer_.async_wait(kept([this, silence](Code) {
    if (is_timer_due())
      fail(
          {ErrorKind::transient, "nothing came for " + std::to_string(silence.count()) + " ms of an answer"});
  }));
}

// A wait that has run out can't be cancelled any more: its handler comes, though the timer was set anew.
bool Connection::is_timer_due() const { return timer_.expiry() <= std::chrono::steady_clock::now(); }

void Connection::after_read(Code code, std::size_t size) {
  buffer_.commit(size);
  if (code == asio::error::eof && parser_->got_some()) {
    Code incomplete;
    parser_->put_eof(incomplete);
    return incomplete ? fail_cut(code) : finish();
  }
  if (code) return fail_cut(code);
  accepted_ = true;
  if (auto parsed = parse(); !parsed) return fail(std::move(parsed.error()));
  parser_->is_done() ? finish() : read_on();
}

Result<Done> Connection::parse() {
  Code code;
  buffer_.consume(parser_->put(buffer_.data(), code));
  if (code == http::error::body_limit)
    return Error{ErrorKind::refused,
                 "its answer has more than " + std::to_string(shared_.options.answer_max) + " bytes"};
  // What is left after a header is part of a chunk's header.
  if (code == http::error::header_limit || buffer_.size() > kAnswerHeaderMax)
    return Error{ErrorKind::refused,
                 "the header of its answer has more than " + std::to_string(kAnswerHeaderMax) + " bytes"};
  if (code && code != http::error::need_more)
    return Error{ErrorKind::refused, "what it answers is not HTTP/1.1: " + code.message()};
  if (growing_ && parser_->is_header_done() && parser_->get().result_int() == 200)
    return growing_(parser_->get().body());
  if (growing_ && parser_->is_header_done() && parser_->get().body().size() > shared_.options.answer_max)
    return Error{ErrorKind::refused, "its answer has no end"};
  return Done{};
}

void Connection::finish() {
  timer_.expires_at(Time::max());
  kept_alive_ = parser_->keep_alive() && buffer_.size() == 0 && write_error_.empty();
  Answer answer{parser_->get().result_int(), std::move(parser_->get().body())};
  const Answered answered = std::exchange(answered_, nullptr);
  growing_ = nullptr;
  request_ = {};
  answered(std::move(answer));
}

void Connection::fail(Error error) {
  const Answered answered = std::exchange(answered_, nullptr);
  close();
  answered(std::move(error));
}

void Connection::fail_cut(Code code) {
  if (!accepted_ && refuses_certificate(code))
    return fail({ErrorKind::denied,
                 why_handshake_failed(stream_->native_handle(), static_cast<unsigned long>(code.value()))});
  const bool ended = code == asio::error::eof || code == asio::ssl::error::stream_truncated;
  const std::string why = !write_error_.empty() ? write_error_ : ended ? "it was closed" : code.message();
  fail({ErrorKind::transient, (parser_->got_some() ? "the connection ended within its answer: "
                                                   : "the connection ended before it answered: ") +
                                  why});
}

}  // namespace lockstep
