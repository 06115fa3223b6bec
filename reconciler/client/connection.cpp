#include "reconciler/client/connection.hpp"

#include <curl/curl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "reconciler/client/why_failed.hpp"
#include "specs/files/secret_file.hpp"

namespace lockstep::client {
namespace {

// A page of 1,000 objects has some MB; revisions with 1,000 steps of 50 changes have some more each.
constexpr std::size_t kBodyMax = std::size_t{256} << 20;
constexpr std::chrono::milliseconds kLook{200};  // how late a stop without a descriptor may be noticed

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// What one request collects.
struct Receiving {
  CURL* easy = nullptr;
  HttpReply reply{};
  const Connection::Piece* piece = nullptr;
  Time last{};  // when something came
  bool ended_by_reader = false;
  bool too_large = false;
};

std::size_t take_body(char* bytes, std::size_t one, std::size_t count, void* into) {
  auto& to = *static_cast<Receiving*>(into);
  const std::string_view text(bytes, one * count);
  to.last = std::chrono::steady_clock::now();
  long status = 0;
  curl_easy_getinfo(to.easy, CURLINFO_RESPONSE_CODE, &status);
  if (to.piece != nullptr && status == 200) {
    to.ended_by_reader = !(*to.piece)(text);
    return to.ended_by_reader ? 0 : text.size();
  }
  to.too_large = to.reply.body.size() + text.size() > kBodyMax;
  if (to.too_large) return 0;
  to.reply.body += text;
  return text.size();
}

class CurlConnection final : public Connection {
 public:
  CurlConnection(Endpoint endpoint, Patience patience)
      : endpoint_(std::move(endpoint)),
        patience_(patience),
        multi_(curl_multi_init()),
        easy_(curl_easy_init()) {}
  bool is_usable() const { return multi_ && easy_; }
  Result<HttpReply> send(const HttpRequest& request, const Call& call) override {
    Call bounded = call;
    bounded.deadline = std::min(call.deadline, std::chrono::steady_clock::now() + patience_.answer);
    return exchange(request, bounded, nullptr);
  }
  Result<HttpReply> stream(const HttpRequest& request, const Call& call, const Piece& piece) override {
    return exchange(request, call, &piece);
  }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    if (curl_easy_setopt(easy_.get(), option, value) != CURLE_OK) unset_ = true;
  }
  Result<Done> prepare(const HttpRequest& request, bool streams);
  Result<Done> prepare_tls();
  Result<Done> add_headers(const HttpRequest& request, bool streams);
  Result<HttpReply> exchange(const HttpRequest& request, const Call& call, const Piece* piece);
  Result<CURLcode> perform(const Call& call, const Receiving& got);
  Error failed(CURLcode code, const Receiving& got, const HttpRequest& request);

  const Endpoint endpoint_;
  const Patience patience_;
  std::unique_ptr<CURLM, FreeMulti> multi_;  // keeps connections between requests
  std::unique_ptr<CURL, FreeEasy> easy_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::array<char, CURL_ERROR_SIZE> why_{};
  bool unset_ = false;  // an option could not be set
};

Result<Done> CurlConnection::prepare_tls() {
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_3));
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  if (!endpoint_.ca.empty()) {
    set(CURLOPT_CAINFO, endpoint_.ca.c_str());
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  if (endpoint_.certificate.empty()) return Done{};
  TRY_DONE(check_secret_file(endpoint_.key, "private key"));
  set(CURLOPT_SSLCERT, endpoint_.certificate.c_str());
  set(CURLOPT_SSLKEY, endpoint_.key.c_str());
  set(CURLOPT_KEYPASSWD, "");  // nobody is asked for a passphrase
  return Done{};
}

Result<Done> CurlConnection::add_headers(const HttpRequest& request, bool streams) {
  headers_.reset();
  const auto add = [this](const std::string& line) {
    curl_slist* const longer = curl_slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) {
      unset_ = true;
      return;
    }
    (void)headers_.release();
    headers_.reset(longer);
  };
  add(streams ? "Accept: text/event-stream, application/json" : "Accept: application/json");
  if (request.method == "POST") add("Content-Type: application/json");
  if (!request.last_event_id.empty()) add("Last-Event-ID: " + request.last_event_id);
  if (!endpoint_.token_file.empty()) {
    TRY(const std::string token, read_secret(endpoint_.token_file));
    // RFC 6750 2.1, b64token, and no more: nothing in it may be another header.
    const auto is_token = [](unsigned char c) { return c > ' ' && c < 0x7F; };
    if (!std::ranges::all_of(token, is_token))
      return Error{ErrorKind::denied, endpoint_.token_file + ": is not a token in one line"};
    add("Authorization: Bearer " + token);
  }
  set(CURLOPT_HTTPHEADER, headers_.get());
  return Done{};
}

Result<Done> CurlConnection::prepare(const HttpRequest& request, bool streams) {
  curl_easy_reset(easy_.get());
  unset_ = false;
  why_.front() = '\0';
  set(CURLOPT_ERRORBUFFER, why_.data());
  set(CURLOPT_URL, (endpoint_.server.origin + request.target).c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "lockstep");
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(patience_.connect.count()));
  set(CURLOPT_WRITEFUNCTION, take_body);
  if (!endpoint_.server.tls) set(CURLOPT_PROXY, "");
  if (!endpoint_.server.socket.empty()) set(CURLOPT_UNIX_SOCKET_PATH, endpoint_.server.socket.c_str());
  if (endpoint_.server.tls) TRY_DONE(prepare_tls());
  if (request.method == "POST") {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_COPYPOSTFIELDS, request.body.c_str());
    // On a kept connection that the server has just closed, libcurl would send it twice.
    set(CURLOPT_FRESH_CONNECT, 1L);
  }
  TRY_DONE(add_headers(request, streams));
  if (unset_) return Error{ErrorKind::refused, "libcurl can't do what a connection needs"};
  return Done{};
}

Result<CURLcode> CurlConnection::perform(const Call& call, const Receiving& got) {
  if (curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK)
    return Error{ErrorKind::transient, "libcurl takes no request"};
  Result<CURLcode> out = CURLE_OK;
  while (true) {
    int running = 0;
    if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) {
      out = Error{ErrorKind::transient, "libcurl fails"};
      break;
    }
    if (running == 0) {
      int left = 0;
      const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left);
      out = message != nullptr && message->msg == CURLMSG_DONE ? message->data.result : CURLE_RECV_ERROR;
      break;
    }
    const Time now = std::chrono::steady_clock::now();
    if (call.stop.stop_requested()) {
      out = Error{ErrorKind::cancelled, "interrupted"};
      break;
    }
    if (now >= call.deadline || (got.piece != nullptr && now - got.last > patience_.silence)) {
      out = CURLE_OPERATION_TIMEDOUT;
      break;
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(std::min<Time::duration>(call.deadline - now, kLook));
    curl_waitfd also{.fd = call.wake_fd, .events = CURL_WAIT_POLLIN, .revents = 0};
    curl_multi_poll(multi_.get(), &also, call.wake_fd >= 0 ? 1 : 0, static_cast<int>(left.count()), nullptr);
  }
  curl_multi_remove_handle(multi_.get(), easy_.get());
  return out;
}

Error CurlConnection::failed(CURLcode code, const Receiving& got, const HttpRequest& request) {
  if (got.too_large)
    return Error{ErrorKind::refused, endpoint_.server.text + ": an answer of more than 256 MiB"};
  Failure failure{.code = code, .said = why_.data()};
  long number = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &number);
  failure.system_error = static_cast<int>(number);
  curl_easy_getinfo(easy_.get(), CURLINFO_REQUEST_SIZE, &number);
  failure.was_sent = number > 0;
  if (request.method == "POST" && failure.was_sent && !failure.is_alert())
    return Error{
        ErrorKind::unknown_outcome,
        endpoint_.server.text + ": no answer came; whether it was done can be seen by `lockstep events`"};
  return why_failed(endpoint_, failure);
}

Result<HttpReply> CurlConnection::exchange(const HttpRequest& request, const Call& call, const Piece* piece) {
  TRY_DONE(prepare(request, piece != nullptr));
  Receiving got{.easy = easy_.get(), .piece = piece, .last = std::chrono::steady_clock::now()};
  set(CURLOPT_WRITEDATA, &got);
  TRY(const CURLcode code, perform(call, got));
  if (code != CURLE_OK && !got.ended_by_reader) return failed(code, got, request);
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  got.reply.status = static_cast<int>(status);
  const char* type = nullptr;
  if (curl_easy_getinfo(easy_.get(), CURLINFO_CONTENT_TYPE, &type) == CURLE_OK && type != nullptr)
    got.reply.type = type;
  curl_off_t wait = 0;
  if (curl_easy_getinfo(easy_.get(), CURLINFO_RETRY_AFTER, &wait) == CURLE_OK && wait > 0)
    got.reply.retry_after = std::chrono::seconds(wait);
  return std::move(got.reply);
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(Endpoint endpoint, Patience patience) {
  static const CURLcode begun = curl_global_init(CURL_GLOBAL_DEFAULT);
  auto out = std::make_unique<CurlConnection>(std::move(endpoint), patience);
  if (begun != CURLE_OK || !out->is_usable())
    return Error{ErrorKind::refused, "libcurl can't be used on this machine"};
  return std::unique_ptr<Connection>(std::move(out));
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // RFC 3986 2.3, unreserved.
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
        std::string_view("-._~").find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    }
  }
  return out;
}

}  // namespace lockstep::client
