#include "reconciler/agent/server.hpp"

#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>
#include <charconv>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "drivers/posix/in_namespace.hpp"
#include "reconciler/agent/server_connection.hpp"

namespace lockstep::agent {
namespace {

using Code = boost::system::error_code;
using asio::ip::tcp;

constexpr std::chrono::seconds kTick{1};  // between two looks at the TLS files and the dates
constexpr std::chrono::seconds kLogPause{1};
constexpr std::size_t kLoggedMax = 1024;
// Without descriptors, accepting would spin until somebody closes one.
constexpr std::chrono::milliseconds kAcceptPause{50};

Result<tcp::endpoint> parse_listen(const std::string& text) {
  const Error wrong{ErrorKind::invalid_spec,
                    "listen address '" + text + "' is not ADDRESS:PORT or [ADDRESS]:PORT"};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return wrong;
  std::string host = text.substr(0, colon);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  Code code;
  const auto address = asio::ip::make_address(host, code);
  if (code || address.is_v6() != brackets) return wrong;
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data() + colon + 1, end, port);
  if (problem != std::errc() || stop != end) return wrong;
  return tcp::endpoint(address, port);
}

class RunningServer final : public AgentServer {
 public:
  explicit RunningServer(ServerOptions options)
      : shared_(std::move(options)), acceptor_(shared_.io), pause_(shared_.io), tick_(shared_.io) {}
  ~RunningServer() override { stop(); }
  std::uint16_t port() const override { return port_; }

  Result<Done> start(std::shared_ptr<Calls> calls, std::function<void(const std::string&)> log);

 private:
  Result<Done> listen();
  Result<Done> run();
  void stop();
  void accept();
  void accepted(Code code, tcp::socket socket);
  void take(tcp::socket socket);
  void tick();
  void read_changed_files();

  ServerShared shared_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  asio::steady_timer tick_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
  std::string stamp_;  // of the files that were tried last
  std::uint64_t connections_ = 0;
  std::uint16_t port_ = 0;
  bool stopped_ = false;  // on the I/O thread
  std::thread thread_;
};

Result<Done> RunningServer::start(std::shared_ptr<Calls> calls, std::function<void(const std::string&)> log) {
  shared_.calls = std::move(calls);
  shared_.log = std::move(log);
  if (!shared_.wake)
    return Error{ErrorKind::transient, std::string("no descriptor: ") + std::strerror(shared_.wake.error())};
  stamp_ = stamp_of(shared_.options.files);
  TRY(shared_.tls, tls_context(shared_.options.files, true));
  TRY_DONE(listen());
  TRY(shared_.workers, Workers::start(shared_.options.calls_max));
  return run();
}

Result<Done> RunningServer::listen() {
  TRY(const tcp::endpoint where, parse_listen(shared_.options.listen));
  Code code;
  // Connections that it accepts later are in the namespace of this socket.
  TRY_DONE(in_namespace(shared_.options.netns_path, [&] {
    if (acceptor_.open(where.protocol(), code)) return;
    if (acceptor_.set_option(asio::socket_base::reuse_address(true), code)) return;
    if (where.address().is_v6() && acceptor_.set_option(asio::ip::v6_only(false), code)) return;
    if (acceptor_.bind(where, code)) return;
    if (acceptor_.listen(asio::socket_base::max_listen_connections, code)) return;
    port_ = acceptor_.local_endpoint(code).port();
  }));
  if (code) return Error{ErrorKind::transient, "listen on " + shared_.options.listen + ": " + code.message()};
  return Done{};
}

Result<Done> RunningServer::run() {
  work_.emplace(shared_.io.get_executor());
  accept();
  tick();
  try {
    thread_ = std::thread([this] { shared_.io.run(); });
  } catch (const std::system_error& none) {
    return Error{ErrorKind::transient, std::string("no thread for connections: ") + none.what()};
  }
  return Done{};
}

void RunningServer::stop() {
  shared_.stopping.request_stop();
  shared_.wake.signal();
  asio::post(shared_.io, [this] {
    stopped_ = true;
    Code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    tick_.cancel();
    for (const auto& one : shared_.table.all()) one->close();
  });
  if (shared_.workers) shared_.workers->stop();
  work_.reset();
  if (thread_.joinable()) thread_.join();
}

void RunningServer::accept() {
  acceptor_.async_accept([this](Code code, tcp::socket socket) { accepted(code, std::move(socket)); });
}

void RunningServer::accepted(Code code, tcp::socket socket) {
  if (stopped_) return;
  if (!code) {
    take(std::move(socket));
    return accept();
  }
  if (code == asio::error::connection_aborted) return accept();
  if (const auto oldest = shared_.table.oldest_stranger()) oldest->close();
  pause_.expires_after(kAcceptPause);
  pause_.async_wait([this](Code) {
    if (!stopped_) accept();
  });
}

void RunningServer::take(tcp::socket socket) {
  read_changed_files();
  Code code;
  const auto from = socket.remote_endpoint(code);
  if (code) return;  // it is closed already
  socket.set_option(tcp::no_delay(true), code);
  auto address = from.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  SSL* const tls = SSL_new(shared_.tls.get());
  if (tls == nullptr) return;  // no memory for another connection
  const auto one =
      std::make_shared<ServerConnection>(shared_, std::move(socket), tls, address, ++connections_);
  if (const auto leaves = shared_.table.add(one)) {
    shared_.log_refusal(leaves->address(), "closed: too many connections without a finished TLS handshake");
    leaves->close();
  }
  if (one->phase() != ServerConnection::Phase::closed) one->start();
}

void RunningServer::tick() {
  tick_.expires_after(kTick);
  tick_.async_wait([this](Code) {
    if (stopped_) return;
    read_changed_files();
    for (const auto& one : shared_.table.all()) one->check_certificate();
    tick();
  });
}

void RunningServer::read_changed_files() {
  std::string stamp = stamp_of(shared_.options.files);
  if (stamp == stamp_) return;
  stamp_ = std::move(stamp);
  auto context = tls_context(shared_.options.files, true);
  if (!context) {
    shared_.log("changed TLS files can't be used, the former ones stay in use: " + context.error().text());
    return;
  }
  shared_.tls = *std::move(context);
  ++shared_.files_read;
  shared_.log("changed TLS files are in use");
  for (const auto& one : shared_.table.all()) one->renew();
}

}  // namespace

void ServerShared::log_refusal(const asio::ip::address& address, const std::string& why) {
  const Time now = std::chrono::steady_clock::now();
  const AddressKey key = key_of(address);
  const auto before = logged.find(key);
  if (before != logged.end() && now - before->second < kLogPause) return;
  if (logged.size() >= kLoggedMax)
    std::erase_if(logged, [&](const auto& one) { return now - one.second >= kLogPause; });
  if (logged.size() >= kLoggedMax) return;
  logged[key] = now;
  log(address.to_string() + ": " + why);
}

Result<std::unique_ptr<AgentServer>> AgentServer::start(ServerOptions options, std::shared_ptr<Calls> calls,
                                                        std::function<void(const std::string&)> log) {
  auto out = std::make_unique<RunningServer>(std::move(options));
  TRY_DONE(out->start(std::move(calls), std::move(log)));
  return std::unique_ptr<AgentServer>(std::move(out));
}

}  // namespace lockstep::agent
