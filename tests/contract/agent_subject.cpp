#include "tests/contract/agent_subject.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "drivers/agent/driver.hpp"
#include "drivers/linux/driver.hpp"
#include "drivers/posix/wait.hpp"
#include "reconciler/agent/calls.hpp"
#include "reconciler/agent/server.hpp"
#include "tests/unit/agent/pki.hpp"

namespace lockstep::contract {
namespace {

constexpr const char* kCluster = "contract";
constexpr const char* kDevice = "gpu1";

Call within(std::chrono::seconds time) {
  return Call{.deadline = std::chrono::steady_clock::now() + time, .stop = {}};
}

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().text());
  return *std::move(result);
}

// The device's calls, with a hook between what a write does and its answer.
class HookedCalls final : public agent::Calls {
 public:
  explicit HookedCalls(std::unique_ptr<agent::Calls> calls) : calls_(std::move(calls)) {}
  agent::Reply handle(std::string_view name, const std::string& body, PeerRole by,
                      const Call& call) override {
    agent::Reply out = calls_->handle(name, body, by, call);
    if (kind(name) != Kind::writes) return out;
    const std::lock_guard lock(mutex_);
    if (after_write_) after_write_();
    return out;
  }
  Kind kind(std::string_view name) const override { return calls_->kind(name); }
  Result<std::shared_ptr<Watcher>> watch() override { return calls_->watch(); }
  void after_write(std::function<void()> act) {
    const std::lock_guard lock(mutex_);
    after_write_ = std::move(act);
  }

 private:
  const std::unique_ptr<agent::Calls> calls_;
  std::mutex mutex_;
  std::function<void()> after_write_;  // under mutex_
};

// Previews and offers are the driver's own, without a machine.
Attached offline_linux() {
  LinuxTarget target;
  target.device = kDevice;
  target.netns_path = target.root = "/nonexistent";
  target.restart_lldpd = [](const Call&) { return Done{}; };
  return make_linux_driver(std::move(target));
}

class Agent final : public AgentSubject {
 public:
  Agent(std::unique_ptr<Subject> machine, std::string its_netns) : machine_(std::move(machine)) {
    netns = std::move(its_netns);
    is_real = machine_->is_real;
    never_unset = machine_->never_unset;
    keeps_a_default = machine_->keeps_a_default;
    one_row_of_a_kind = true;
    arms_all = true;
    epoch = std::make_shared<CurrentEpoch>();
    (void)must(epoch->take(1));
    serve();
    network_ = must(AgentNetwork::start(
        {.files = ca_.issue("ops", "lockstep://contract/controller/ops"), .cluster = kCluster}));
    attached = make_agent_driver(
        network_, {.agent = address(), .driver = "linux", .epoch = epoch, .offline = offline_linux()});
    attached.watch = [open = attached.watch] { return begun(open); };
  }
  ~Agent() override {
    attached = {};
    network_ = nullptr;
  }

  std::string foreign() override { return machine_->foreign(); }
  void touch() override { machine_->touch(); }
  std::vector<Change> break_effects() override { return machine_->break_effects(); }
  bool lose_replies(bool on) override {
    after_write(on ? [this] { relay_->cut_after(TcpRelay::To::controller, 0); } : std::function<void()>{});
    return true;
  }
  bool hang(bool on) override {
    relay_->hang(on);
    return true;
  }
  void pass(std::chrono::milliseconds time) override {
    boot_time_ += std::chrono::nanoseconds(time).count();
    dead_man_->keep_time();
  }
  // The network ends the connection of a call that was left before it begins another call.
  void come_to_rest() override {
    const auto greeted = network_->call(address(), "hello", "{}", AgentNetwork::Effect::reads,
                                        within(std::chrono::seconds(10)));
    EXPECT_TRUE(greeted) << greeted.error().text();
    EXPECT_TRUE(relay_->rest()) << "a connection that was left does not end";
  }

  TcpRelay& relay() override { return *relay_; }
  void after_write(std::function<void()> act) override { calls_->after_write(std::move(act)); }
  agent::JournalState journal() override {
    std::ostringstream text;
    text << std::ifstream(agent::journal_file(folder_.path() / "journal")).rdbuf();
    return must(agent::parse_journal(text.str()));
  }

 private:
  void serve() {
    const std::map<std::string, Attached*> drivers{{"linux", &machine_->attached}};
    agent::Machine clock{.boot_time = [this] { return std::chrono::nanoseconds(boot_time_.load()); },
                         .boot_id = "11111111-1111-4111-8111-111111111111"};
    dead_man_ = std::make_shared<agent::DeadMan>(must(agent::AgentJournal::open(folder_.path() / "journal")),
                                                 drivers, std::move(clock));
    dead_man_->keep_time();
    calls_ = std::make_shared<HookedCalls>(std::make_unique<agent::DeviceCalls>(
        agent::DeviceCalls::Identity{.cluster = kCluster, .device = kDevice}, dead_man_, drivers));
    agent::ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.cluster = kCluster;
    options.files = ca_.issue(kDevice, "lockstep://contract/device/gpu1");
    server_ = must(agent::AgentServer::start(std::move(options), calls_, [](const std::string&) {}));
    relay_ = std::make_unique<TcpRelay>(server_->port());
  }

  AgentAddress address() const { return {kDevice, {"127.0.0.1", relay_->port()}}; }

  // A stream of events begins some time after it was asked for, and then wakes once.
  static Result<std::shared_ptr<Watcher>> begun(
      const std::function<Result<std::shared_ptr<Watcher>>()>& open) {
    TRY(auto watcher, open());
    TRY_DONE(wait_for(watcher->descriptor(), POLLIN, within(std::chrono::seconds(10))));
    return watcher;
  }

  const std::unique_ptr<Subject> machine_;
  TemporaryFolder folder_;
  TestCa ca_{folder_.path(), "contract CA", "ca"};
  std::atomic<std::int64_t> boot_time_{std::chrono::nanoseconds(std::chrono::hours(1)).count()};
  std::shared_ptr<agent::DeadMan> dead_man_;
  std::shared_ptr<HookedCalls> calls_;
  std::unique_ptr<agent::AgentServer> server_;
  std::unique_ptr<TcpRelay> relay_;
  std::shared_ptr<AgentNetwork> network_;
};

}  // namespace

std::unique_ptr<AgentSubject> make_agent_subject(std::unique_ptr<Subject> machine, std::string netns) {
  return std::make_unique<Agent>(std::move(machine), std::move(netns));
}

}  // namespace lockstep::contract
