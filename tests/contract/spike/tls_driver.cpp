#include "tests/contract/spike/tls_driver.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>

#include "drivers/posix/wait.hpp"
#include "tests/contract/spike/wire.hpp"

namespace lockstep::contract {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using wire::Json;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

// One line in, one line out. The connection lasts over calls, and not over an error: its answer could still
// come and be taken for the next call's.
class TlsDriver final : public Driver {
 public:
  TlsDriver(std::string device, SSL_CTX* expected, std::uint16_t port)
      : device_(std::move(device)), expected_(expected), port_(port) {}

  Result<Traits> traits(const Call& call) override {
    return ask<Traits>({{"call", "traits"}}, Writes::no, call, wire::traits_from);
  }
  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
    return ask<Observation>({{"call", "observe"}, {"scope", wire::to_json(scope)}, {"if_not", if_not}},
                            Writes::no, call, wire::observation_from);
  }
  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override {
    return ask<Receipt>(
        {{"call", "apply"}, {"changes", wire::to_json(changes)}, {"guard", wire::to_json(guard)}},
        Writes::yes, call, wire::receipt_from);
  }
  Result<Done> settle(std::string_view transaction, Settlement settlement, const Call& call) override {
    return ask<Done>(
        {{"call", "settle"}, {"transaction", transaction}, {"settlement", static_cast<int>(settlement)}},
        Writes::yes, call, [](const Json&) { return Done{}; });
  }

 private:
  enum class Writes : bool { no, yes };

  template <class T, class Read>
  Result<T> ask(Json question, Writes writes, const Call& call, Read read) {
    const std::lock_guard lock(mutex_);
    auto answer = exchange(std::move(question), writes, call);
    if (!answer) {
      channel_.reset();
      return wrap(device_, std::move(answer.error()));
    }
    try {
      const Json said = Json::parse(*answer);
      if (said.contains("error")) return wire::error_from(said.at("error"));
      return read(said.at("done"));
    } catch (const std::exception& wrong) {  // a lying peer is input
      channel_.reset();
      return Error{writes == Writes::yes ? ErrorKind::unknown_outcome : ErrorKind::refused,
                   device_ + " answers with what is no answer: " + wrong.what()};
    }
  }

  Result<std::string> exchange(Json question, Writes writes, const Call& call) {
    TRY_DONE(connect(call));
    if (call.deadline != Time::max())
      question["within_ms"] = std::chrono::ceil<milliseconds>(call.deadline - steady_clock::now()).count();
    if (auto ended = call.why_ended(steady_clock::now())) return *std::move(ended);
    // Half of a line is no question: the server drops it. But whether half of it went, TLS does not tell.
    auto answer = [&]() -> Result<std::string> {
      TRY_DONE(channel_->write_line(question.dump(), call));
      return channel_->read_line(call);
    }();
    if (!answer && writes == Writes::yes)
      return wrap("the write was sent", Error{ErrorKind::unknown_outcome, answer.error().text()});
    return answer;
  }

  Result<Done> connect(const Call& call) {
    if (auto ended = call.why_ended(steady_clock::now())) return *std::move(ended);
    if (channel_) return Done{};
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_in address = loopback(port_);
    if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      if (errno != EINPROGRESS) return Error{ErrorKind::transient, "no connection"};
      TRY_DONE(wait_for(socket.number(), POLLOUT, call));
    }
    channel_.emplace(expected_, std::move(socket), TlsChannel::End::client);
    // With the first line that both exchange the handshake is over, and a failure of it is no lost write.
    auto greeted = [&]() -> Result<std::string> {
      TRY_DONE(channel_->write_line(R"({"call": "hello"})", call));
      return channel_->read_line(call);
    }();
    if (!greeted) return std::move(greeted.error());
    return Done{};
  }

  const std::string device_;
  SSL_CTX* const expected_;
  const std::uint16_t port_;
  std::mutex mutex_;
  std::optional<TlsChannel> channel_;
};

template <class T>
Json answer_of(const Result<T>& result) {
  if (!result) return {{"error", wire::to_json(result.error())}};
  if constexpr (std::is_same_v<T, Done>)
    return {{"done", true}};
  else
    return {{"done", wire::to_json(*result)}};
}

Json answer_to(const Json& asked, Driver& device) {
  Call call;
  if (asked.contains("within_ms"))
    call.deadline = steady_clock::now() + milliseconds(asked.at("within_ms").get<std::int64_t>());
  const auto what = asked.at("call").get<std::string>();
  if (what == "hello") return {{"done", true}};
  if (what == "traits") return answer_of(device.traits(call));
  if (what == "observe")
    return answer_of(
        device.observe(wire::scope_from(asked.at("scope")), asked.at("if_not").get<std::string>(), call));
  if (what == "apply")
    return answer_of(
        device.apply(wire::changes_from(asked.at("changes")), wire::guard_from(asked.at("guard")), call));
  if (what == "settle") {
    const int settlement = asked.at("settlement").get<int>();
    if (settlement < 0 || settlement > static_cast<int>(Settlement::extend))
      throw wire::WrongWire("no such settlement");
    return answer_of(
        device.settle(asked.at("transaction").get<std::string>(), static_cast<Settlement>(settlement), call));
  }
  return {{"error", wire::to_json(Error{ErrorKind::unsupported, "there is no call '" + what + "'"})}};
}

}  // namespace

TlsServer::TlsServer(Driver& device, TlsContext context)
    : device_(device),
      context_(std::move(context)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  ::signal(SIGPIPE, SIG_IGN);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  if (::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener_.number(), SOMAXCONN) != 0 ||
      ::getsockname(listener_.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("listen on 127.0.0.1");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

TlsServer::~TlsServer() {
  ends_.request_stop();
  ended_.signal();
  thread_.join();
}

void TlsServer::hang(bool on) {
  hangs_ = on;
  resumed_.signal();
}

void TlsServer::at_device(const std::function<void()>& act) {
  const std::lock_guard lock(mutex_);
  act();
  // The dead-man needs no client: what is overdue is undone here.
  (void)device_.observe({}, "", Call{});
}

bool TlsServer::readable(int descriptor) {
  for (;;) {
    std::array<pollfd, 3> waits{{{ended_.number(), POLLIN, 0},
                                 {resumed_.number(), POLLIN, 0},
                                 {hangs_ ? -1 : descriptor, POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return false;
    if (waits[0].revents != 0) return false;
    if (waits[1].revents != 0) resumed_.clear();
    if (waits[2].revents != 0 && !hangs_) return true;
  }
}

void TlsServer::serve() {
  while (readable(listener_.number()))
    if (Descriptor client(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC)); client)
      converse(TlsChannel(context_.get(), std::move(client), TlsChannel::End::server));
}

void TlsServer::converse(TlsChannel client) {
  const Call call{.deadline = Time::max(), .stop = ends_.get_token(), .wake_fd = ended_.number()};
  while (readable(client.descriptor())) {
    const auto line = client.read_line(call);
    if (!line) return;
    // Whoever asked has gone meanwhile, and counts on it that nothing begins any more.
    pollfd gone{client.descriptor(), POLLRDHUP, 0};
    if (::poll(&gone, 1, 0) != 0) return;
    const std::string said = answer(*line);
    if (loses_ && line->find(R"("call":"apply")") != line->npos) {
      (void)client.write(said.substr(0, said.size() / 2), call);
      return;
    }
    if (!client.write_line(said, call)) return;
  }
}

std::string TlsServer::answer(const std::string& line) {
  const std::lock_guard lock(mutex_);
  try {
    return answer_to(Json::parse(line), device_).dump();
  } catch (const std::exception& wrong) {  // a lying client is input
    const Error why{ErrorKind::invalid_spec, std::string("the question is none: ") + wrong.what()};
    return Json{{"error", wire::to_json(why)}}.dump();
  }
}

Attached make_tls_driver(const std::string& device, SSL_CTX* expected, std::uint16_t port) {
  Attached out;
  out.driver = std::make_unique<TlsDriver>(device, expected, port);
  return out;
}

}  // namespace lockstep::contract
