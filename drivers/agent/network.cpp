#include "drivers/agent/network.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include "drivers/agent/network_calls.hpp"
#include "drivers/agent/network_events.hpp"
#include "drivers/posix/wait.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kTick{1};  // between two looks at the TLS files and the dates

// Of the calling thread, for good. Not in_namespace(): sockets are opened as long as the thread lives.
Result<Done> enter(const std::string& netns_path) {
  if (netns_path.empty()) return Done{};
  const Descriptor file(::open(netns_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file && ::setns(file.number(), CLONE_NEWNET) == 0) return Done{};
  const int code = errno;
  const ErrorKind kind = code == EPERM || code == EACCES ? ErrorKind::denied
                         : code == EINVAL                ? ErrorKind::refused  // no network namespace
                                                         : ErrorKind::transient;
  return Error{kind, "network namespace " + netns_path + ": " + std::strerror(code)};
}

Error named(const AgentAddress& agent, const Error& error) {
  return {error.kind, agent.text() + ": " + error.what, error.cause};
}

// Ends before it has begun.
std::optional<Error> has_ended(const Call& call) {
  if (auto ended = call.why_ended(std::chrono::steady_clock::now())) return ended;
  pollfd wake{call.wake_fd, POLLIN, 0};
  if (call.wake_fd >= 0 && ::poll(&wake, 1, 0) > 0) return Error{ErrorKind::cancelled, "asked to stop"};
  return std::nullopt;
}

class AsioNetwork final : public AgentNetwork {
 public:
  explicit AsioNetwork(Options options)
      : shared_(std::make_shared<NetworkShared>(std::move(options))),
        work_(shared_->io.get_executor()),
        tick_(shared_->io) {}
  ~AsioNetwork() override;
  AsioNetwork(const AsioNetwork&) = delete;
  AsioNetwork& operator=(const AsioNetwork&) = delete;

  Result<Done> begin();
  const std::string& cluster() const override { return shared_->options.cluster; }
  Result<std::string> call(const AgentAddress& agent, std::string_view name, const std::string& body,
                           Effect effect, const Call& call) override;
  Result<std::shared_ptr<Watcher>> events(const AgentAddress& agent) override;

 private:
  // What the I/O thread has for an agent.
  struct Agent {
    explicit Agent(NetworkShared& shared, const AgentAddress& address) : calls(shared, address) {}
    AgentCalls calls;
    std::unique_ptr<EventStream> events;
  };

  void serve(std::promise<Result<Done>>& entered);
  void tick();
  Agent& agent(const AgentAddress& address);

  // Shared with watchers, which may outlive the network: what they post then never runs.
  const std::shared_ptr<NetworkShared> shared_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer tick_;
  bool ended_ = false;                                    // on the I/O thread
  std::map<std::string, std::unique_ptr<Agent>> agents_;  // the I/O thread's
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<EventWatcher>> watchers_;  // under mutex_
  std::thread thread_;
};

Result<Done> AsioNetwork::begin() {
  TRY_DONE(shared_->tls.refresh());
  std::promise<Result<Done>> entered;
  // Signals are for other threads; this one inherits the mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::optional<Error> none;
  try {
    thread_ = std::thread([this, &entered] { serve(entered); });
  } catch (const std::system_error& failed) {
    none = Error{ErrorKind::transient, std::string("no thread for the network: ") + failed.what()};
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (none) return *std::move(none);
  return entered.get_future().get();
}

void AsioNetwork::serve(std::promise<Result<Done>>& entered) {
  auto done = enter(shared_->options.netns_path);
  const bool well = static_cast<bool>(done);
  entered.set_value(std::move(done));
  if (!well) return;
  tick();
  shared_->io.run();
}

// Connections that nobody uses end as well when what the agent was verified by is replaced or expires.
void AsioNetwork::tick() {
  tick_.expires_after(kTick);
  tick_.async_wait([this](boost::system::error_code code) {
    if (code || ended_) return;
    (void)shared_->tls.refresh();  // the next call reports what can't be read
    for (const auto& [key, agent] : agents_) {
      agent->calls.check_certificate();
      if (agent->events) agent->events->check_certificate();
    }
    tick();
  });
}

AsioNetwork::~AsioNetwork() {
  asio::post(shared_->io, [this] {
    for (const auto& [key, agent] : agents_) {
      agent->calls.close();
      agent->events.reset();
    }
    ended_ = true;
    tick_.cancel();
  });
  work_.reset();
  if (thread_.joinable()) thread_.join();
}

AsioNetwork::Agent& AsioNetwork::agent(const AgentAddress& address) {
  std::unique_ptr<Agent>& out = agents_[address.text()];
  if (!out) out = std::make_unique<Agent>(*shared_, address);
  return *out;
}

Result<std::string> AsioNetwork::call(const AgentAddress& address, std::string_view name,
                                      const std::string& body, Effect effect, const Call& call) {
  if (const auto ended = has_ended(call)) return named(address, *ended);
  const auto exchange = std::make_shared<Exchange>(std::string(name), body, effect, call.deadline);
  if (!exchange->done())
    return named(address, {ErrorKind::transient, std::string("no descriptor for a call: ") +
                                                     std::strerror(exchange->done().error())});
  asio::post(shared_->io, [this, address, exchange] { agent(address).calls.add(exchange); });
  const std::stop_callback stopped(call.stop, [&exchange] { exchange->done().signal(); });
  const Result<Done> waited = wait_for(exchange->done().number(), POLLIN, call);
  auto result = exchange->leave(waited ? Error{ErrorKind::cancelled, "asked to stop"} : waited.error());
  if (result) return result;
  if (exchange->is_left())
    asio::post(shared_->io, [this, address, exchange] { agent(address).calls.drop(exchange); });
  return named(address, result.error());
}

Result<std::shared_ptr<Watcher>> AsioNetwork::events(const AgentAddress& address) {
  const std::string key = address.text();
  const std::lock_guard lock(mutex_);
  std::weak_ptr<EventWatcher>& known = watchers_[key];
  // Drivers of one device share its watcher.
  if (auto watcher = known.lock()) return std::shared_ptr<Watcher>(std::move(watcher));
  auto inbox = std::make_shared<EventInbox>();
  if (!inbox->wake())
    return named(address, {ErrorKind::transient,
                           std::string("no descriptor for events: ") + std::strerror(inbox->wake().error())});
  auto watcher = std::make_shared<EventWatcher>(inbox, [this, shared = shared_, address, inbox] {
    asio::post(shared->io, [this, address, inbox] {
      std::unique_ptr<EventStream>& stream = agent(address).events;
      if (stream && stream->is_for(inbox)) stream.reset();
    });
  });
  known = watcher;
  asio::post(shared_->io, [this, address, inbox] {
    std::unique_ptr<EventStream>& stream = agent(address).events;
    stream = std::make_unique<EventStream>(*shared_, address, inbox);
    stream->connect();
  });
  return std::shared_ptr<Watcher>(std::move(watcher));
}

}  // namespace

Result<std::shared_ptr<AgentNetwork>> AgentNetwork::start(Options options) {
  auto out = std::make_shared<AsioNetwork>(std::move(options));
  TRY_DONE(out->begin());
  return std::shared_ptr<AgentNetwork>(std::move(out));
}

}  // namespace lockstep
