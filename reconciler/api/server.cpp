#include "reconciler/api/server.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "reconciler/api/server_connection.hpp"
#include "specs/files/file_stamp.hpp"
#include "specs/files/secret_file.hpp"

namespace lockstep::api {
namespace {

using Code = boost::system::error_code;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;

constexpr std::chrono::seconds kTick{1};  // between two looks at files and dates
// Without descriptors, accepting would spin until somebody closes one.
constexpr std::chrono::milliseconds kAcceptPause{50};

// Of the tokens' and webhooks' files.
Result<std::map<Forge, std::string>> read_secrets(const std::map<Forge, std::string>& files) {
  std::map<Forge, std::string> out;
  for (const auto& [forge, file] : files) {
    TRY(out[forge], read_secret(file));
  }
  return out;
}

std::string stamps_of(const std::map<Forge, std::string>& files) {
  std::string out;
  for (const auto& [forge, file] : files) out += file_stamp(file) + ";";
  return out;
}

Result<TlsContext> optional_client_context(const TlsFiles& files) {
  TRY(TlsContext out, tls_context(files, true));
  // A certificate is one of several ways to say who one is; one that comes is verified all the same.
  SSL_CTX_set_verify(out.get(), SSL_VERIFY_PEER, SSL_CTX_get_verify_callback(out.get()));
  return out;
}

class RunningApi final : public ApiServer {
 public:
  RunningApi(ServerSettings settings, std::unique_ptr<AuditLog> audit, EventLog& log, ApiParts parts)
      : log_(log),
        audit_(std::move(audit)),
        shared_(std::move(settings), std::move(parts)),
        tick_(shared_.io) {}
  ~RunningApi() override { stop(); }

  Result<Done> begin();
  std::uint16_t port(std::size_t i) const override { return ports_.at(i); }

 private:
  // One place where it listens.
  template <class Protocol>
  struct Listener {
    explicit Listener(asio::io_context& io) : acceptor(io), pause(io) {}
    typename Protocol::acceptor acceptor;
    asio::steady_timer pause;
    bool tls = false;
  };

  Result<Done> listen();
  template <class Protocol>
  void accept(Listener<Protocol>& listener);
  template <class Protocol>
  void accepted(Listener<Protocol>& listener, Code code, typename Protocol::socket socket);
  void take(PlainStream stream, Peer peer, bool tls);
  void tick();
  void read_changed_files();
  void wake_watches();
  void stop();

  EventLog& log_;
  std::unique_ptr<AuditLog> audit_;
  ApiShared shared_;
  asio::steady_timer tick_;
  std::vector<std::unique_ptr<Listener<tcp>>> tcp_;
  std::vector<std::unique_ptr<Listener<Local>>> unix_;
  std::vector<SocketFile> files_;
  std::vector<std::uint16_t> ports_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
  std::string tls_stamp_;
  std::string secrets_stamp_;
  std::atomic<bool> wakes_{false};  // it is posted already
  std::thread thread_;
};

Result<Done> RunningApi::begin() {
  const ServerSettings& settings = shared_.settings;
  secrets_stamp_ = stamps_of(settings.webhook_secrets);
  TRY(auto secrets, read_secrets(settings.webhook_secrets));
  shared_.service.set_webhook_secrets(std::move(secrets));
  if (settings.tls) {
    tls_stamp_ = stamp_of(*settings.tls);
    TRY(shared_.tls, optional_client_context(*settings.tls));
  }
  TRY_DONE(listen());
  work_.emplace(shared_.io.get_executor());
  for (const auto& one : tcp_) accept(*one);
  for (const auto& one : unix_) accept(*one);
  tick();
  log_.listen([this] { wake_watches(); });
  try {
    thread_ = std::thread([this] { shared_.io.run(); });
  } catch (const std::system_error& none) {
    return Error{ErrorKind::transient, std::string("no thread for connections: ") + none.what()};
  }
  return Done{};
}

Result<Done> RunningApi::listen() {
  const ServerSettings& settings = shared_.settings;
  TRY(ListeningSockets sockets, open_sockets(settings.listen, settings.given, settings.tls.has_value()));
  for (const ListeningSocket& one : sockets.all) {
    Code code;
    // An acceptor closes what it has.
    const int descriptor = ::fcntl(one.descriptor.number(), F_DUPFD_CLOEXEC, 0);
    if (one.where.path.empty()) {
      tcp_.push_back(std::make_unique<Listener<tcp>>(shared_.io));
      tcp_.back()->tls = settings.tls.has_value();
      tcp_.back()->acceptor.assign(one.where.tcp.protocol(), descriptor, code);
    } else {
      unix_.push_back(std::make_unique<Listener<Local>>(shared_.io));
      unix_.back()->acceptor.assign(Local(), descriptor, code);
    }
    if (code) return Error{ErrorKind::transient, "wait for connections: " + code.message()};
  }
  files_ = std::move(sockets.files);
  ports_ = std::move(sockets.ports);
  return Done{};
}

template <class Protocol>
void RunningApi::accept(Listener<Protocol>& listener) {
  listener.acceptor.async_accept([this, &listener](Code code, typename Protocol::socket socket) {
    accepted<Protocol>(listener, code, std::move(socket));
  });
}

template <class Protocol>
void RunningApi::accepted(Listener<Protocol>& listener, Code code, typename Protocol::socket socket) {
  if (shared_.stopping) return;
  if (code) {
    listener.pause.expires_after(kAcceptPause);
    listener.pause.async_wait([this, &listener](Code) {
      if (!shared_.stopping) accept(listener);
    });
    return;
  }
  Peer peer;
  if constexpr (std::is_same_v<Protocol, tcp>) {
    const auto from = socket.remote_endpoint(code);
    if (!code) socket.set_option(tcp::no_delay(true), code);
    peer.limits_key = limits_key_of(from.address());
    auto address = from.address();
    if (address.is_v6() && address.to_v6().is_v4_mapped())
      address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
    peer.address = address.to_string();
  } else {
    peer.limits_key = peer.address = "this machine";
    ucred who{};
    socklen_t size = sizeof(who);
    if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0) peer.user = who.uid;
  }
  // It may be closed already.
  if (!code)
    take(PlainStream(asio::generic::stream_protocol::socket(std::move(socket))), std::move(peer),
         listener.tls);
  accept(listener);
}

void RunningApi::take(PlainStream stream, Peer peer, bool tls) {
  const ServerLimits& limits = shared_.settings.limits;
  const auto count = shared_.of_client.find(peer.limits_key);
  std::string why;
  if (shared_.connections.size() >= limits.connections_max)
    why = "all " + std::to_string(limits.connections_max) + " connections are in use";
  else if (count != shared_.of_client.end() && count->second >= limits.connections_per_client)
    why = "it has " + std::to_string(count->second) + " connections already";
  else if (tls && shared_.handshakes >= limits.handshakes_max)
    why = "too many connections without a finished TLS handshake";
  if (!why.empty()) return shared_.log_refusal(peer.address, "closed: " + why);
  if (tls)
    serve_tls(shared_, std::move(stream), std::move(peer));
  else
    serve_plain(shared_, std::move(stream), std::move(peer));
}

// The event log has new entries. Any thread.
void RunningApi::wake_watches() {
  if (wakes_.exchange(true)) return;
  asio::post(shared_.io, [this] {
    wakes_ = false;
    shared_.wake_all();
  });
}

void RunningApi::tick() {
  tick_.expires_after(kTick);
  tick_.async_wait([this](Code) {
    if (shared_.stopping) return;
    read_changed_files();
    const auto all = shared_.connections;
    for (const auto& one : all) one->check();
    tick();
  });
}

void RunningApi::read_changed_files() {
  const ServerSettings& settings = shared_.settings;
  shared_.service.refresh(settings.log);
  if (std::string stamp = stamps_of(settings.webhook_secrets); stamp != secrets_stamp_) {
    secrets_stamp_ = std::move(stamp);
    auto secrets = read_secrets(settings.webhook_secrets);
    // A secret that can't be read is nobody's, as a token is.
    settings.log(secrets ? "changed webhook secrets are in use"
                         : "no webhook is accepted: " + secrets.error().text());
    shared_.service.set_webhook_secrets(secrets ? *std::move(secrets) : std::map<Forge, std::string>());
  }
  if (!settings.tls) return;
  std::string stamp = stamp_of(*settings.tls);
  if (stamp == tls_stamp_) return;
  tls_stamp_ = std::move(stamp);
  auto context = optional_client_context(*settings.tls);
  if (!context)
    return settings.log("changed TLS files can't be used, the former ones stay in use: " +
                        context.error().text());
  shared_.tls = *std::move(context);
  ++shared_.tls_read;
  settings.log("changed TLS files are in use");
}

void RunningApi::stop() {
  log_.listen({});
  shared_.service.stop();
  asio::post(shared_.io, [this] {
    shared_.stopping = true;
    Code ignored;
    for (const auto& one : tcp_) one->acceptor.close(ignored);
    for (const auto& one : unix_) one->acceptor.close(ignored);
    for (const auto& one : tcp_) one->pause.cancel();
    for (const auto& one : unix_) one->pause.cancel();
    tick_.cancel();
    shared_.waking.clear();
    shared_.turns.clear();
    shared_.wakes_again = false;
    const auto all = shared_.connections;
    for (const auto& one : all) one->close();
  });
  shared_.actors.join();
  shared_.readers.join();
  shared_.planners.join();
  work_.reset();
  if (thread_.joinable()) thread_.join();
  files_.clear();
}

}  // namespace

void ApiShared::wake_all() {
  wakes_again = true;
  begin_turns();
}

void ApiShared::await_turn(std::shared_ptr<Connection> watch) {
  turns.push_back(std::move(watch));
  begin_turns();
}

void ApiShared::begin_turns() {
  if (!std::exchange(gives_turns, true)) asio::post(io, [this] { give_turns(); });
}

// A few at a time: requests that came meanwhile are not behind a thousand watches.
void ApiShared::give_turns() {
  // Each sends up to 64 KiB. Measured with perf_serve_fleet, 1,000 watches of 4,096 devices that all change:
  // reads have a p99 of 7 to 11 ms; with 8 at once, 40 ms.
  constexpr std::size_t kAtOnce = 2;
  gives_turns = false;
  if (stopping) return;
  if (waking.empty() && std::exchange(wakes_again, false))
    waking.assign(connections.begin(), connections.end());
  for (std::size_t i = 0; i < kAtOnce && !waking.empty(); ++i) {
    waking.back()->wake();
    waking.pop_back();
  }
  for (std::size_t i = 0; i < kAtOnce && !turns.empty(); ++i) {
    turns.front()->wake();
    turns.pop_front();
  }
  if (!waking.empty() || !turns.empty() || wakes_again) begin_turns();
}

Result<std::unique_ptr<ApiServer>> ApiServer::start(ServerSettings settings, ServiceDesk& desk,
                                                    const ObjectFeed& feed, EventLog& log) {
  TRY(TokenFile tokens, TokenFile::open(settings.tokens));
  TRY(std::unique_ptr<AuditLog> audit, AuditLog::open(settings.audit));
  AuditLog& lines = *audit;
  ServiceMetrics* const metrics = settings.metrics;
  Planner planner = settings.planner;
  auto out = std::make_unique<RunningApi>(std::move(settings), std::move(audit), log,
                                          ApiParts{desk,
                                                   feed,
                                                   log,
                                                   Authentication(std::move(tokens), ::geteuid()),
                                                   lines,
                                                   {},
                                                   metrics,
                                                   std::move(planner)});
  TRY_DONE(out->begin());
  return std::unique_ptr<ApiServer>(std::move(out));
}

}  // namespace lockstep::api
