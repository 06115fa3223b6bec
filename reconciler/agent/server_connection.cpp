#include "reconciler/agent/server_connection.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <charconv>
#include <utility>

namespace lockstep::agent {

namespace http = boost::beast::http;

namespace {

constexpr std::string_view kPrefix = "/v1/";
constexpr std::string_view kDeadlineHeader = "Lockstep-Deadline-Ms";
constexpr std::size_t kReadSize = std::size_t{16} << 10;  // a TLS record (RFC 8446 5.1)
// Bodies of all requests together, in sizes of the largest. Chosen: two controllers, and as much for readers.
constexpr std::size_t kBodiesMax = 4;
Error wrong_request(std::string what) { return Error{ErrorKind::invalid_spec, std::move(what)}; }

// Time in which a call has to end.
Result<std::chrono::milliseconds> allowed_time(std::string_view header, std::chrono::milliseconds most) {
  if (header.empty()) return most;
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(header.data(), header.data() + header.size(), value);
  if (code != std::errc() || end != header.data() + header.size() || value <= 0)
    return wrong_request("header " + std::string(kDeadlineHeader) + " is not a number of milliseconds");
  return std::min(std::chrono::milliseconds(value), most);
}

std::string answer_head(int status, std::size_t size, bool last, std::string_view headers) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " ";
  out += std::string_view(http::obsolete_reason(static_cast<http::status>(status)));
  out += "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(size) + "\r\n";
  out += headers;
  return out + (last ? "Connection: close\r\n\r\n" : "\r\n");
}

}  // namespace

ServerConnection::ServerConnection(ServerShared& shared, asio::ip::tcp::socket socket, SSL* tls,
                                   asio::ip::address address, std::uint64_t number)
    : shared_(shared),
      stream_(std::move(socket), tls),
      timer_(shared.io),
      address_(std::move(address)),
      number_(number),
      files_read_(shared.files_read),
      buffer_(shared.options.header_max + kReadSize) {}

void ServerConnection::arm(Time when) {
  timer_.expires_at(when);
  timer_.async_wait(kept([this](Code code) {
    // A timer that was set again while its handler was queued has another expiry.
    if (!code && timer_.expiry() <= std::chrono::steady_clock::now()) ran_out();
  }));
}

void ServerConnection::arm(std::chrono::milliseconds length) {
  arm(std::chrono::steady_clock::now() + length);
}

void ServerConnection::ran_out() {
  if (phase_ == Phase::calling) return run_out_of_time_waiting();
  if (phase_ == Phase::streaming && !sending_) {
    beat_ = true;
    return stream_on();
  }
  if (phase_ == Phase::handshake)
    shared_.log_refusal(address_, "no TLS handshake within " +
                                      std::to_string(shared_.options.handshake_time.count()) + " ms");
  // Bytes that it does not take would stay in the kernel for minutes after a close.
  Code ignored;
  stream_.next_layer().set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

void ServerConnection::start() {
  arm(shared_.options.handshake_time);
  stream_.async_handshake(asio::ssl::stream_base::server, kept([this](Code code) { after_handshake(code); }));
}

void ServerConnection::close() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();  // the table may hold the last reference
  phase_ = Phase::closed;
  if (job_ != 0) shared_.workers->remove(job_);
  free_body();
  Code ignored;
  timer_.cancel();
  if (events_) events_->close(ignored);
  stream_.next_layer().close(ignored);
  shared_.table.remove(*this);
}

void ServerConnection::renew() {
  if (phase_ == Phase::idle) return close();
  if (phase_ == Phase::streaming) end_events();
}

std::optional<Error> ServerConnection::why_refused_now() {
  if (!outdated() && std::time(nullptr) < valid_until_) return std::nullopt;
  const auto good = verify_again(stream_.native_handle(), shared_.tls.get());
  return good ? std::nullopt : std::optional(good.error());
}

void ServerConnection::check_certificate() {
  if (phase_ == Phase::handshake || refusal_ || expired_) return;
  const std::optional<Error> why = why_refused_now();
  if (!why) return;
  expired_ = true;
  shared_.log_refusal(address_, "closed: " + why->what);
  if (phase_ == Phase::reading) return close();
  renew();
}

void ServerConnection::log_failed_handshake(Code code) {
  // Others end the connection, as a load balancer's check of the port does: nobody was refused.
  if (code.category() != asio::error::get_ssl_category()) return;
  const auto error = static_cast<unsigned long>(static_cast<unsigned>(code.value()));
  shared_.log_refusal(address_, "refused: " + why_handshake_failed(stream_.native_handle(), error));
}

void ServerConnection::after_handshake(Code code) {
  if (code) {
    log_failed_handshake(code);
    return close();
  }
  auto who = verify_controller(stream_.native_handle(), shared_.options.cluster);
  if (!who) {
    refusal_ = who.error();
  } else {
    who_ = *std::move(who);
    valid_until_ = valid_until(stream_.native_handle());
    const ServerTable::Promotion place = shared_.table.promote(*this);
    if (place.leaves) place.leaves->close();
    if (!place.accepted)
      refusal_ = Error{ErrorKind::transient,
                       "all " + std::to_string(shared_.options.connections_max) + " connections are in use"};
  }
  if (refusal_) shared_.log_refusal(address_, "refused: " + refusal_->what);
  next_request();
}

void ServerConnection::next_request() {
  phase_ = refusal_ ? Phase::reading : Phase::idle;
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(shared_.options.header_max));
  parser_->body_limit(shared_.options.body_max);
  if (buffer_.size() > 0) return read_header();
  buffer_.shrink_to_fit();
  // Who is refused, or has been verified by former files, gets no more time than for a handshake.
  arm(refusal_ || outdated() ? shared_.options.handshake_time : shared_.options.idle_time);
  stream_.async_read_some(buffer_.prepare(kReadSize), kept([this](Code code, std::size_t size) {
                            if (code) return close();
                            buffer_.commit(size);
                            read_header();
                          }));
}

void ServerConnection::read_header() {
  phase_ = Phase::reading;
  arm(refusal_ ? shared_.options.handshake_time : shared_.options.request_time);
  http::async_read_header(stream_, buffer_, *parser_,
                          kept([this](Code code, std::size_t) { after_header(code); }));
}

void ServerConnection::after_header(Code code) {
  if (refusal_ && !code) return refuse(error_reply(*refusal_).status, *refusal_);
  if (!code) return route();
  if (code == http::error::header_limit || code == http::error::buffer_overflow)
    return refuse(431, wrong_request("headers are larger than " + std::to_string(shared_.options.header_max) +
                                     " bytes"));
  if (code == http::error::body_limit)
    return refuse(
        413, wrong_request("body is larger than " + std::to_string(shared_.options.body_max) + " bytes"));
  if (code == http::error::end_of_stream || code == http::error::partial_message) return close();
  if (code.category() == make_error_code(http::error::bad_method).category())
    return refuse(400, wrong_request("malformed request: " + code.message()));
  close();
}

void ServerConnection::route() {
  if (const auto why = why_refused_now()) return refuse(error_reply(*why).status, *why);
  const auto& request = parser_->get();
  const std::string_view target(request.target().data(), request.target().size());
  const auto method = request.method();
  if (request.version() != 11) return refuse(400, wrong_request("requests must be HTTP/1.1"));
  const Error unknown{ErrorKind::unsupported, "unknown path; this agent has protocol 1 (/v1/...)"};
  if (!target.starts_with(kPrefix)) return refuse(404, unknown);
  const std::string_view name = target.substr(kPrefix.size());
  if (name == "healthz" || name == "events") {
    if (method != http::verb::get) return refuse(405, wrong_request("method must be GET"), "Allow: GET\r\n");
    if (!parser_->is_done()) return refuse(400, wrong_request("a GET request has no body"));
    if (name == "events") return open_events();
    return answer(Reply{200, "{}"}, After::next_request);
  }
  const Calls::Kind kind = shared_.calls->kind(name);
  if (kind == Calls::Kind::unknown) return refuse(404, unknown);
  if (method != http::verb::post) return refuse(405, wrong_request("method must be POST"), "Allow: POST\r\n");
  if (kind == Calls::Kind::writes && who_.role != PeerRole::controller)
    return refuse(403, Error{ErrorKind::denied, who_.text() + " is a reader; this call needs a controller"});
  read_body(std::string(name));
}

void ServerConnection::read_body(std::string name) {
  const std::string_view header(parser_->get()[kDeadlineHeader].data(),
                                parser_->get()[kDeadlineHeader].size());
  const auto allowed = allowed_time(header, shared_.options.call_time);
  if (!allowed) return refuse(400, allowed.error());
  call_ =
      Call{std::chrono::steady_clock::now() + *allowed, shared_.stopping.get_token(), shared_.wake.number()};
  const std::size_t size = parser_->is_done()          ? 0
                           : parser_->content_length() ? static_cast<std::size_t>(*parser_->content_length())
                                                       : shared_.options.body_max;
  const std::size_t most =
      shared_.options.body_max * (who_.role == PeerRole::reader ? kBodiesMax / 2 : kBodiesMax);
  if (shared_.body_bytes + size > most)
    return refuse(503, Error{ErrorKind::transient, "too many large requests are being served; try again"});
  body_bytes_ = size;
  shared_.body_bytes += size;
  http::async_read(stream_, buffer_, *parser_, kept([this, name = std::move(name)](Code code, std::size_t) {
                     if (!code) return dispatch(name);
                     after_header(code);
                   }));
}

void ServerConnection::free_body() {
  shared_.body_bytes -= body_bytes_;
  body_bytes_ = 0;
}

void ServerConnection::dispatch(const std::string& name) {
  if (const auto why = why_refused_now()) return refuse(error_reply(*why).status, *why);
  phase_ = Phase::calling;
  arm(call_.deadline);
  auto body = std::make_shared<const std::string>(std::move(parser_->get().body()));
  job_ = shared_.workers->add(who_.role == PeerRole::reader,
                              [self = shared_from_this(), name, body = std::move(body), call = call_] {
                                Reply reply = self->shared_.calls->handle(name, *body, self->role(), call);
                                asio::post(self->shared_.io, self->kept([self, reply = std::move(reply)] {
                                  self->job_ = 0;
                                  self->answer(reply, After::next_request);
                                }));
                              });
}

// A call that runs ends by itself at its deadline.
void ServerConnection::run_out_of_time_waiting() {
  if (!shared_.workers->remove(job_)) return;
  job_ = 0;
  answer(error_reply(Error{ErrorKind::transient, "the deadline passed while other calls ran"}),
         After::next_request);
}

// Leaves, as what was not read of the request would be taken for the next one.
void ServerConnection::refuse(int status, const Error& error, std::string_view headers) {
  Reply reply = error_reply(error);
  reply.status = status;
  answer(reply, After::leave, headers);
}

void ServerConnection::answer(const Reply& reply, After after, std::string_view headers) {
  phase_ = Phase::writing;
  const bool last = after == After::leave || !parser_->keep_alive() || outdated() || expired_;
  free_body();
  send(answer_head(reply.status, reply.body.size(), last, headers) + reply.body, [this, last] {
    if (last) return leave();
    next_request();
  });
}

void ServerConnection::send(std::string bytes, std::function<void()> then) {
  out_ = std::move(bytes);
  written_ = 0;
  after_write_ = std::move(then);
  write_until_ = std::chrono::steady_clock::now() + shared_.options.call_time;
  write_on();
}

// In parts, as a client on a slow path has to take some bytes of each request_time, and not all of them.
void ServerConnection::write_on() {
  arm(std::min(write_until_, std::chrono::steady_clock::now() + shared_.options.request_time));
  stream_.async_write_some(asio::buffer(out_) + written_, kept([this](Code code, std::size_t size) {
                             if (code) return close();
                             written_ += size;
                             if (written_ < out_.size()) return write_on();
                             out_ = {};
                             std::exchange(after_write_, nullptr)();
                           }));
}

// Ends TLS, then our half of TCP: the client learns at once that this was the last answer.
void ServerConnection::leave() {
  phase_ = Phase::leaving;
  arm(kLinger);
  stream_.async_shutdown(kept([this](Code) {
    Code ignored;
    stream_.next_layer().shutdown(asio::socket_base::shutdown_send, ignored);
    discard();
  }));
}

void ServerConnection::discard() {
  stream_.next_layer().async_read_some(asio::buffer(discards_), kept([this](Code code, std::size_t size) {
                                         discarded_ += size;
                                         if (code || discarded_ > shared_.options.body_max) return close();
                                         discard();
                                       }));
}

}  // namespace lockstep::agent
