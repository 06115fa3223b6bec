// Both ends of the product: what the controller's end sends, the agent's serves.

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "drivers/agent/network.hpp"
#include "drivers/agent/wire.hpp"
#include "drivers/posix/wait.hpp"
#include "drivers/posix/wake_descriptor.hpp"
#include "reconciler/agent/server.hpp"
#include "tests/unit/agent/network_test_fixture.hpp"

namespace lockstep {
namespace {

using Effect = AgentNetwork::Effect;

class OneEvent final : public Watcher {
 public:
  OneEvent() { wake_.signal(); }
  int descriptor() const override { return wake_.number(); }
  Result<Woken> drain() override {
    wake_.clear();
    return Woken{.all = false, .devices = {"gpu1"}};
  }

 private:
  const WakeDescriptor wake_;
};

class EchoCalls final : public agent::Calls {
 public:
  agent::Reply handle(std::string_view name, const std::string& body, PeerRole /*by*/,
                      const Call& call) override {
    if (name == "observe") return {409, wire::encode(Error{ErrorKind::conflict, "the revision differs"})};
    return {200, body + (call.deadline == Time::max() ? " without" : " with") + " a deadline"};
  }
  Kind kind(std::string_view name) const override {
    return name == "apply" ? Kind::writes : name == "what" ? Kind::unknown : Kind::reads;
  }
  Result<std::shared_ptr<Watcher>> watch() override {
    return std::shared_ptr<Watcher>(std::make_shared<OneEvent>());
  }
};

class NetworkToServer : public NetworkTest {
 protected:
  NetworkToServer() {
    auto started = agent::AgentServer::start({.listen = "127.0.0.1:0", .cluster = "pod", .files = gpu1_},
                                             std::make_shared<EchoCalls>(), [](const std::string&) {});
    EXPECT_TRUE(started) << started.error().text();
    if (started) server_ = *std::move(started);
  }
  AgentAddress agent() const { return {"gpu1", {"127.0.0.1", server_->port()}}; }
  std::unique_ptr<agent::AgentServer> server_;
};

TEST_F(NetworkToServer, Calls) {
  const auto network = start({});
  for (int i = 0; i < 3; ++i) {
    const auto answer = network->call(agent(), "apply", "{}", Effect::writes, patient());
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(*answer, "{} with a deadline");
  }
  const auto conflict = network->call(agent(), "observe", "{}", Effect::reads, patient());
  EXPECT_TRUE(fails_as(conflict, ErrorKind::conflict));
  EXPECT_TRUE(says(conflict.error().text(), "the revision differs"));
  EXPECT_FALSE(network->call(agent(), "what", "{}", Effect::reads, patient()));
}

TEST_F(NetworkToServer, ReaderMayNotWrite) {
  AgentNetwork::Options options;
  options.files = ca_.issue("grafana", "lockstep://pod/reader/grafana");
  const auto network = start(options);
  EXPECT_TRUE(network->call(agent(), "hello", "{}", Effect::reads, patient()));
  EXPECT_TRUE(fails_as(network->call(agent(), "apply", "{}", Effect::writes, patient()), ErrorKind::denied));
}

TEST_F(NetworkToServer, CertificateThatTheServerRefusesIsDenied) {
  AgentNetwork::Options options;
  options.files = ca_.issue("lab", "lockstep://lab/controller/ops");
  const auto network = start(options);
  for (const Effect effect : {Effect::reads, Effect::writes})
    EXPECT_TRUE(fails_as(network->call(agent(), "apply", "{}", effect, patient()), ErrorKind::denied));
  TestCa other(folder_.path(), "other CA", "other");
  options.files = other.issue("stranger", "lockstep://pod/controller/ops");
  options.files.ca = ca_.file();
  const auto stranger = start(options);
  for (const Effect effect : {Effect::reads, Effect::writes})
    EXPECT_TRUE(fails_as(stranger->call(agent(), "apply", "{}", effect, patient()), ErrorKind::denied));
}

TEST_F(NetworkToServer, Events) {
  const auto network = start({});
  const auto watcher = network->events(agent());
  ASSERT_TRUE(watcher) << watcher.error().text();
  Woken seen;
  while (seen.devices.empty() && wait_for((*watcher)->descriptor(), POLLIN, patient())) {
    const auto woken = (*watcher)->drain();
    ASSERT_TRUE(woken);
    seen.all = seen.all || woken->all;
    seen.devices = woken->devices;
  }
  EXPECT_TRUE(seen.all);
  EXPECT_EQ(seen.devices, std::vector<std::string>{"gpu1"});
}

}  // namespace
}  // namespace lockstep
