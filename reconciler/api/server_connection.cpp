#include "reconciler/api/server_connection.hpp"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <ctime>
#include <exception>
#include <type_traits>
#include <utility>

#include "reconciler/api/http_text.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::api {
namespace {

namespace http = boost::beast::http;
using Code = boost::system::error_code;
template <class T>
using Coroutine = asio::awaitable<T>;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

constexpr std::size_t kPiece = std::size_t{16} << 10;        // a TLS record (RFC 8446 5.1)
constexpr std::size_t kWriteAtOnce = std::size_t{64} << 10;  // each has write_time
// How long the bytes of a client that got its last answer are read, so that the kernel's RST does not
// overtake the answer; as the agent's.
constexpr std::chrono::milliseconds kLinger{1'000};
constexpr std::size_t kDiscardMax = std::size_t{1} << 20;

template <class Stream>
class LiveConnection final : public Connection, public std::enable_shared_from_this<LiveConnection<Stream>> {
 public:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  template <class... Arguments>
  LiveConnection(ApiShared& shared, Peer peer, Arguments&&... stream)
      : shared_(shared),
        peer_(std::move(peer)),
        stream_(std::forward<Arguments>(stream)...),
        timer_(shared.io),
        shakes_hands_(kTls),
        tls_read_(shared.tls_read),
        buffer_(shared.settings.limits.header_max + kPiece) {}

  void start() {
    shared_.connections.insert(this->shared_from_this());
    ++shared_.of_client[peer_.limits_key];
    if (kTls) ++shared_.handshakes;
    asio::co_spawn(shared_.io, run(),
                   [self = this->shared_from_this()](std::exception_ptr problem) { self->over(problem); });
  }

  void close() override {
    closed_ = true;
    timer_.cancel();
    plain().close();
  }
  void wake() override { timer_.cancel(); }
  void check() override;

 private:
  using Parser = http::request_parser<http::buffer_body>;

  PlainStream& plain() {
    if constexpr (kTls)
      return stream_.next_layer();
    else
      return stream_;
  }
  const ServerLimits& limits() const { return shared_.settings.limits; }

  void over(const std::exception_ptr& problem);
  void end_handshake();
  void judge_certificate();

  Coroutine<void> run();
  Coroutine<bool> shake_hands();
  Coroutine<bool> serve_one();
  Coroutine<bool> read_header(Parser& parser);
  Coroutine<bool> read_body(Parser& parser, const PlannedRequest& request, std::string& body);
  std::optional<Answer> malformed(const Parser& parser) const;
  ApiService::Judged judge(const Parser& parser);
  void count(const Parser& parser, Http status) const {
    const auto method = parser.get().method_string();
    shared_.count_answer({method.data(), method.size()}, status);
  }
  Coroutine<Answer> answer_of(const PlannedRequest& request, const std::string& body);
  Coroutine<bool> send(std::string_view bytes);
  Coroutine<bool> send_answer(const Answer& answer, bool last, bool head_only);
  Coroutine<void> send_last(const Answer& answer, bool head_only);
  Coroutine<void> watch(const PlannedRequest& request);
  Coroutine<void> await_end_of_client();
  Coroutine<void> leave();

  ApiShared& shared_;
  Peer peer_;
  Stream stream_;
  asio::steady_timer timer_;
  bool closed_ = false;
  bool shakes_hands_;
  std::uint64_t tls_read_;  // when its certificate was judged last
  std::time_t certificate_until_ = 0;
  beast::flat_buffer buffer_;
  std::array<char, kPiece> piece_{};
  std::optional<AuthenticatedAs> watches_as_;
  std::string why_watch_ends_;
};

template <class Stream>
void LiveConnection<Stream>::over(const std::exception_ptr& problem) {
  try {
    if (problem) std::rethrow_exception(problem);
  } catch (const std::exception& what) {
    shared_.log_refusal(peer_.address, std::string("connection failed: ") + what.what());
  }
  close();
  end_handshake();
  const auto count = shared_.of_client.find(peer_.limits_key);
  if (count != shared_.of_client.end() && --count->second == 0) shared_.of_client.erase(count);
  shared_.connections.erase(this->shared_from_this());
}

template <class Stream>
void LiveConnection<Stream>::end_handshake() {
  if (std::exchange(shakes_hands_, false)) --shared_.handshakes;
}

// Of a watch; a request is judged when it comes.
template <class Stream>
void LiveConnection<Stream>::check() {
  if (!watches_as_) return;
  judge_certificate();
  if (!shared_.service.holds(*watches_as_))
    why_watch_ends_ = "the token was revoked";
  else if (!watches_as_->token && !peer_.certificate && !peer_.user)
    why_watch_ends_ = peer_.why_no_certificate;
  if (!why_watch_ends_.empty()) wake();
}

template <class Stream>
Coroutine<void> LiveConnection<Stream>::run() {
  bool goes_on = co_await shake_hands();
  while (goes_on && !closed_) goes_on = co_await serve_one();
}

template <class Stream>
Coroutine<bool> LiveConnection<Stream>::shake_hands() {
  if constexpr (kTls) {
    plain().expires_after(limits().handshake_time);
    const auto [code] = co_await stream_.async_handshake(asio::ssl::stream_base::server, kAwait);
    if (code && code.category() == asio::error::get_ssl_category())
      shared_.log_refusal(peer_.address,
                          "refused: " + why_handshake_failed(
                                            stream_.native_handle(),
                                            static_cast<unsigned long>(static_cast<unsigned>(code.value()))));
    if (code) co_return false;
    end_handshake();
    SSL* const tls = stream_.native_handle();
    if (SSL_get0_peer_certificate(tls) != nullptr) {
      const Result<PeerIdentity> user = verify_user(tls, shared_.settings.cluster);
      if (user) peer_.certificate = *user;
      if (!user) peer_.why_no_certificate = user.error().text();
      certificate_until_ = valid_until(tls);
    }
  }
  co_return true;
}

// Again, once its dates, its revocation list or the files say otherwise than at the handshake.
template <class Stream>
void LiveConnection<Stream>::judge_certificate() {
  if constexpr (kTls) {
    if (!peer_.certificate) return;
    if (tls_read_ == shared_.tls_read && std::time(nullptr) < certificate_until_) return;
    tls_read_ = shared_.tls_read;
    const Result<Done> good = verify_again(stream_.native_handle(), shared_.tls.get());
    if (good) return;
    peer_.certificate.reset();
    peer_.why_no_certificate = good.error().text();
  }
}

// False: there is nothing to answer.
template <class Stream>
Coroutine<bool> LiveConnection<Stream>::read_header(Parser& parser) {
  if (buffer_.size() == 0) {
    plain().expires_after(limits().idle_time);
    const auto [code, size] = co_await stream_.async_read_some(buffer_.prepare(kPiece), kAwait);
    if (code) co_return false;
    buffer_.commit(size);
  }
  plain().expires_after(limits().header_time);
  const auto [code, size] = co_await http::async_read_header(stream_, buffer_, parser, kAwait);
  if (!code) co_return true;
  std::optional<Answer> why;
  if (code == http::error::header_limit || code == http::error::buffer_overflow)
    why = failure(Http::headers_too_large,
                  "headers are larger than " + std::to_string(limits().header_max) + " bytes");
  else if (code.category() == make_error_code(http::error::bad_method).category() &&
           code != http::error::end_of_stream && code != http::error::partial_message)
    why = failure(Http::bad_request, "malformed request: " + code.message());
  if (why) {
    shared_.count_answer("", why->status);
    co_await send_last(*why, false);
  }
  co_return false;
}

// What HTTP itself asks of a request.
template <class Stream>
std::optional<Answer> LiveConnection<Stream>::malformed(const Parser& parser) const {
  const auto& request = parser.get();
  if (request.version() != 11) return failure(Http::version_not_supported, "requests must be HTTP/1.1");
  if (request.count(http::field::host) != 1)
    return failure(Http::bad_request, "a request must have one Host header");
  if (request.count(http::field::authorization) > 1)
    return failure(Http::bad_request, "a request must have one Authorization header at most");
  if (request.target().size() > limits().target_max)
    return failure(Http::uri_too_long,
                   "the request target is longer than " + std::to_string(limits().target_max) + " bytes");
  return std::nullopt;
}

template <class Stream>
ApiService::Judged LiveConnection<Stream>::judge(const Parser& parser) {
  if (auto wrong = malformed(parser)) return *std::move(wrong);
  judge_certificate();
  const auto& request = parser.get();
  const auto view = [](beast::string_view text) { return std::string_view(text.data(), text.size()); };
  const std::uint64_t length = parser.content_length().value_or(0);
  const RequestHead head{
      .method = view(request.method_string()),
      .target = view(request.target()),
      .header =
          [&](std::string_view name) { return view(request[beast::string_view(name.data(), name.size())]); },
      .has_body = length > 0 || parser.chunked()};
  auto judged = shared_.service.plan(head, peer_, std::chrono::steady_clock::now());
  if (const auto* const request_planned = std::get_if<PlannedRequest>(&judged);
      request_planned != nullptr && length > request_planned->body_max)
    return failure(Http::too_large,
                   "the body is larger than " + std::to_string(request_planned->body_max) + " bytes");
  return judged;
}

// False: the connection ends, and what there was to say was said.
template <class Stream>
Coroutine<bool> LiveConnection<Stream>::read_body(Parser& parser, const PlannedRequest& request,
                                                  std::string& body) {
  if (parser.is_done()) co_return true;
  const auto expect = parser.get()[http::field::expect];
  if (beast::iequals(expect, "100-continue")) {
    const bool sent = co_await send(kContinue);
    if (!sent) co_return false;
  }
  parser.body_limit(request.body_max);
  plain().expires_after(limits().body_time);
  Code code;
  while (!parser.is_done() && !code) {
    parser.get().body().data = piece_.data();
    parser.get().body().size = piece_.size();
    const auto [problem, size] = co_await http::async_read(stream_, buffer_, parser, kAwait);
    code = problem == http::error::need_buffer ? Code() : problem;
    const std::string_view piece(piece_.data(), piece_.size() - parser.get().body().size);
    if (request.proof)
      request.proof->add(piece);
    else
      body += piece;
  }
  if (!code) co_return true;
  std::optional<Answer> why;
  if (code == http::error::body_limit)
    why = failure(Http::too_large, "the body is larger than " + std::to_string(request.body_max) + " bytes");
  else if (code.category() == make_error_code(http::error::bad_method).category() &&
           code != http::error::partial_message)
    why = failure(Http::bad_request, "malformed body: " + code.message());
  if (why) {
    count(parser, why->status);
    co_await send_last(*why, false);
  }
  co_return false;
}

// One request; false: the connection ends.
template <class Stream>
Coroutine<bool> LiveConnection<Stream>::serve_one() {
  Parser parser;
  parser.header_limit(static_cast<std::uint32_t>(limits().header_max));
  parser.body_limit(boost::none);  // the kind of request decides, and it is not known yet
  const bool is_read = co_await read_header(parser);
  if (!is_read) co_return false;
  auto judged = judge(parser);
  if (const Answer* const refused = std::get_if<Answer>(&judged); refused != nullptr) {
    // What was not read of the request would be taken for the next one.
    const bool last = !parser.is_done() || !parser.keep_alive();
    const bool head_only = parser.get().method() == http::verb::head;
    count(parser, refused->status);
    if (last) {
      co_await send_last(*refused, head_only);
      co_return false;
    }
    const bool sent = co_await send_answer(*refused, false, head_only);
    co_return sent;
  }
  const PlannedRequest request = std::get<PlannedRequest>(std::move(judged));
  if (request.watch) {
    shared_.count_answer("WATCH", shared_.watches < limits().watches_max ? Http::ok : Http::unavailable);
    co_await watch(request);
    co_return false;
  }
  std::string body;
  const bool is_whole = co_await read_body(parser, request, body);
  if (!is_whole) co_return false;
  const Answer answer = co_await answer_of(request, body);
  count(parser, answer.status);
  if (!parser.keep_alive() || shared_.stopping) {
    co_await send_last(answer, request.head_only);
    co_return false;
  }
  const bool sent = co_await send_answer(answer, false, request.head_only);
  co_return sent;
}

// What waits, waits on a thread of a pool, and comes back to this one.
template <class Stream>
Coroutine<Answer> LiveConnection<Stream>::answer_of(const PlannedRequest& request, const std::string& body) {
  if (!request.waits) co_return shared_.service.answer(request, body);
  asio::thread_pool& pool = shared_.pool_of(request.route.what);
  const auto begin = [&](auto handler) {
    asio::post(pool, [&service = shared_.service, &request, &body, handler = std::move(handler)]() mutable {
      Answer answer = service.answer(request, body);
      const auto back = asio::get_associated_executor(handler);
      asio::post(back, [handler = std::move(handler), answer = std::move(answer)]() mutable {
        std::move(handler)(std::move(answer));
      });
    });
  };
  const Answer out =
      co_await asio::async_initiate<decltype(asio::use_awaitable), void(Answer)>(begin, asio::use_awaitable);
  co_return out;
}

template <class Stream>
Coroutine<bool> LiveConnection<Stream>::send(std::string_view bytes) {
  while (!bytes.empty()) {
    plain().expires_after(limits().write_time);
    const auto [code, size] = co_await stream_.async_write_some(
        asio::buffer(bytes.data(), std::min(bytes.size(), kWriteAtOnce)), kAwait);
    if (code || closed_) co_return false;
    bytes.remove_prefix(size);
  }
  co_return true;
}

template <class Stream>
Coroutine<bool> LiveConnection<Stream>::send_answer(const Answer& answer, bool last, bool head_only) {
  std::string bytes = answer_head(answer, last, std::time(nullptr));
  if (!head_only) bytes += answer.body;
  const bool sent = co_await send(bytes);
  co_return sent;
}

template <class Stream>
Coroutine<void> LiveConnection<Stream>::send_last(const Answer& answer, bool head_only) {
  const bool sent = co_await send_answer(answer, true, head_only);
  if (sent) co_await leave();
}

template <class Stream>
Coroutine<void> LiveConnection<Stream>::watch(const PlannedRequest& request) {
  if (shared_.watches >= limits().watches_max) {
    Answer full = failure(Http::unavailable, "all " + std::to_string(limits().watches_max) +
                                                 " watches are in use; list instead, or try again");
    full.headers.emplace_back("Retry-After", "10");
    co_await send_last(full, request.head_only);
    co_return;
  }
  const std::string head = stream_head(std::time(nullptr));
  const bool began = co_await send(head);
  if (!began || request.head_only) co_return;
  struct Count {
    ApiShared& of;
    explicit Count(ApiShared& what) : of(what) { of.count_watch(1); }
    ~Count() { of.count_watch(-1); }
    Count(const Count&) = delete;
    Count& operator=(const Count&) = delete;
  };
  const Count counted(shared_);
  watches_as_ = request.as;
  plain().expires_never();
  asio::co_spawn(shared_.io, await_end_of_client(), asio::detached);
  WatchStream stream = shared_.service.watch(*request.watch);
  bool ends = false;
  auto quiet_since = asio::steady_timer::clock_type::now();  // also while the log has news of other kinds
  while (!closed_ && !ends) {
    std::string bytes;
    if (!why_watch_ends_.empty()) {
      bytes = WatchStream::error_event(Http::unauthorized, why_watch_ends_);
      ends = true;
    } else {
      bytes = stream.next(kWriteAtOnce);
      ends = stream.has_ended();
    }
    if (bytes.empty()) {
      timer_.expires_at(quiet_since + limits().heartbeat);
      const auto [woken] = co_await timer_.async_wait(kAwait);
      if (closed_) co_return;
      if (!woken) bytes = stream.heartbeat();
    }
    if (bytes.empty()) continue;
    const std::string chunk = chunk_of(bytes);
    const bool sent = co_await send(chunk);
    if (!sent) co_return;
    quiet_since = asio::steady_timer::clock_type::now();
    if (ends) break;
    timer_.expires_at(asio::steady_timer::time_point::max());
    shared_.await_turn(this->shared_from_this());
    (void)co_await timer_.async_wait(kAwait);
  }
  if (closed_) co_return;
  const bool sent = co_await send(kLastChunk);
  if (!sent) co_return;
  // The client's end is awaited already; TLS can't be ended beside that read.
  Code ignored;
  plain().socket().shutdown(asio::socket_base::shutdown_send, ignored);
  timer_.expires_after(kLinger);
  (void)co_await timer_.async_wait(kAwait);
}

// A client has nothing to send on a stream: whatever it is, it is its end.
template <class Stream>
Coroutine<void> LiveConnection<Stream>::await_end_of_client() {
  const auto self = this->shared_from_this();
  (void)co_await stream_.async_read_some(asio::buffer(piece_), kAwait);
  close();
}

// Ends TLS, then our half of the connection: the client learns at once that this was the last answer.
template <class Stream>
Coroutine<void> LiveConnection<Stream>::leave() {
  if (closed_) co_return;
  plain().expires_after(kLinger);
  if constexpr (kTls) (void)co_await stream_.async_shutdown(kAwait);
  Code ignored;
  plain().socket().shutdown(asio::socket_base::shutdown_send, ignored);
  std::size_t discarded = 0;
  while (!closed_ && discarded < kDiscardMax) {
    const auto [code, size] = co_await plain().async_read_some(asio::buffer(piece_), kAwait);
    if (code) co_return;
    discarded += size;
  }
}

}  // namespace

void ApiShared::log_refusal(const std::string& address, const std::string& why) {
  constexpr std::chrono::seconds kPause{1};
  const Time now = std::chrono::steady_clock::now();
  if (now - logged < kPause) {
    ++not_logged;
    return;
  }
  const std::string others =
      not_logged == 0 ? "" : " (and " + std::to_string(not_logged) + " more before it)";
  logged = now;
  not_logged = 0;
  settings.log(address + ": " + printable(why) + others);
}

void serve_plain(ApiShared& shared, PlainStream stream, Peer peer) {
  std::make_shared<LiveConnection<PlainStream>>(shared, std::move(peer), std::move(stream))->start();
}

void serve_tls(ApiShared& shared, PlainStream stream, Peer peer) {
  SSL* const tls = SSL_new(shared.tls.get());
  if (tls == nullptr) return;  // no memory for another connection
  std::make_shared<LiveConnection<TlsStream>>(shared, std::move(peer), std::move(stream), tls)->start();
}

}  // namespace lockstep::api
