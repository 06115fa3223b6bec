// Event streams: what an agent reports wakes the watcher of its device, and whatever happens to a stream, no
// change goes unnoticed.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include "drivers/agent/network.hpp"
#include "drivers/posix/in_namespace.hpp"
#include "tests/loopback.hpp"
#include "tests/needs.hpp"
#include "tests/unit/agent/network_test_fixture.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using Effect = AgentNetwork::Effect;
using Reply = ScriptedAgent::Reply;
using Request = ScriptedAgent::Request;
using Then = ScriptedAgent::Then;

const std::string kStreamHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(const std::string& text) {
  char size[20];
  std::snprintf(size, sizeof(size), "%zx\r\n", text.size());
  return size + text + "\r\n";
}

class EventsTest : public NetworkTest {
 protected:
  static Reply stream(const Request& request) {
    return request.line == "GET /v1/events HTTP/1.1" ? Reply{kStreamHead, Then::hang} : Reply{http("{}")};
  }
  std::shared_ptr<AgentNetwork> start_quickly(AgentNetwork::Options options = {}) {
    options.reconnect_min = milliseconds(1);
    return start(std::move(options));
  }
  static std::shared_ptr<Watcher> watch(AgentNetwork& network, const AgentAddress& agent) {
    auto out = network.events(agent);
    EXPECT_TRUE(out) << out.error().text();
    return *out;
  }
  // The next that it has; after 20 s, nothing.
  static Woken next(Watcher& watcher) {
    pollfd readable{watcher.descriptor(), POLLIN, 0};
    if (::poll(&readable, 1, 20'000) != 1) return {};
    auto out = watcher.drain();
    EXPECT_TRUE(out) << out.error().text();
    return *out;
  }
  static std::string text(const Woken& woken) {
    std::string out = woken.all ? "all" : "";
    for (const std::string& one : woken.devices) out += (out.empty() ? "" : " ") + one;
    return out;
  }
};

TEST_F(EventsTest, WakesForAllOnceConnectedAndThenForTheDevice) {
  ScriptedAgent agent(gpu1_, stream);
  const auto network = start_quickly();
  const auto watcher = watch(*network, agent.address());
  EXPECT_EQ(text(next(*watcher)), "all");
  agent.send(chunk("{\"devices\": [\"gpu1\"]}\n"));
  EXPECT_EQ(text(next(*watcher)), "gpu1");
  EXPECT_EQ(text(*watcher->drain()), "");
  agent.send(chunk("{\"all\": true}\n"));
  EXPECT_EQ(text(next(*watcher)), "gpu1");
  EXPECT_EQ(agent.requests().front().line, "GET /v1/events HTTP/1.1");
}

// Cut into pieces that no line respects; heartbeats of both kinds, a name of another device, and fields of a
// newer agent between.
TEST_F(EventsTest, HeartbeatsAndOtherDevicesWakeNobody) {
  ScriptedAgent agent(gpu1_, stream);
  const auto network = start_quickly();
  const auto watcher = watch(*network, agent.address());
  EXPECT_EQ(text(next(*watcher)), "all");
  for (const char* const piece :
       {"\n", "\r\n", "{}\n", "{\"devi", "ces\": [\"gpu2\"]}\n{}", "\n\n{\"load\": 3}\n"})
    agent.send(chunk(piece));
  pollfd readable{watcher->descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&readable, 1, 50), 0);
  agent.send(chunk("{\"devices\": [\"gpu2\", \"gpu1\"]}\n"));
  EXPECT_EQ(text(next(*watcher)), "gpu1");
  EXPECT_EQ(agent.connections(), 1U);
}

TEST_F(EventsTest, ReconnectsAndWakesForAllAgain) {
  ScriptedAgent agent(gpu1_, stream);
  const auto network = start_quickly();
  const auto watcher = watch(*network, agent.address());
  for (std::size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(text(next(*watcher)), "all");
    EXPECT_EQ(agent.connections(), i);
    agent.cut_connections();
  }
}

TEST_F(EventsTest, ReconnectsAfterWhateverIsNoStream) {
  const std::string long_line(70'000, 'x');
  for (const Reply& bad : {Reply{http("{}")},
                           {http("oops", "500 Internal Server Error")},
                           {"HTTP/1.1 200", Then::cut},
                           {kStreamHead, Then::close},
                           {kStreamHead, Then::hang},  // and silence
                           {"", Then::hang},
                           {kStreamHead + chunk("no JSON\n"), Then::hang},
                           {kStreamHead + chunk("{\"devices\": 7}\n"), Then::hang},
                           {kStreamHead + chunk(std::string(100'000, '[') + "\n"), Then::hang},
                           {kStreamHead + chunk(long_line), Then::hang},
                           {kStreamHead + "x", Then::hang}}) {
    SCOPED_TRACE(bad.bytes.substr(0, 80));
    AgentNetwork::Options options;
    options.silence_max = milliseconds(200);
    ScriptedAgent agent(
        gpu1_, [&bad](const Request& request) { return request.connection <= 2 ? bad : stream(request); });
    const auto network = start_quickly(options);
    const auto watcher = watch(*network, agent.address());
    ASSERT_TRUE(agent.wait_for_requests(3));
    EXPECT_EQ(text(next(*watcher)), "all");
  }
}

TEST_F(EventsTest, ComesToAnAgentThatStartsLater) {
  std::uint16_t port = 0;
  {
    const ScriptedAgent gone(gpu1_, nullptr);
    port = gone.port();
  }
  const auto network = start_quickly();
  const auto watcher = watch(*network, {"gpu1", {"127.0.0.1", port}});
  ScriptedAgent agent(gpu1_, stream, "", "", port);
  EXPECT_EQ(text(next(*watcher)), "all");
}

TEST_F(EventsTest, UsesAConnectionOfItsOwnBesideCalls) {
  ScriptedAgent agent(gpu1_, stream);
  const auto network = start_quickly();
  const auto watcher = watch(*network, agent.address());
  EXPECT_EQ(text(next(*watcher)), "all");
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(network->call(agent.address(), "observe", "{}", Effect::reads, patient()));
  EXPECT_EQ(agent.connections(), 2U);
}

// A device with two drivers.
TEST_F(EventsTest, SharesOneWatcherAndEndsTheStreamWithIt) {
  ScriptedAgent agent(gpu1_, stream);
  const auto network = start_quickly();
  auto watcher = watch(*network, agent.address());
  auto same = watch(*network, agent.address());
  EXPECT_EQ(watcher, same);
  EXPECT_EQ(text(next(*watcher)), "all");
  EXPECT_EQ(agent.connections(), 1U);
  watcher = nullptr;
  agent.send(chunk("{\"devices\": [\"gpu1\"]}\n"));
  EXPECT_EQ(text(next(*same)), "gpu1");
  same = nullptr;
  EXPECT_TRUE(agent.wait([&] { return agent.open_connections() == 0; }));
  const auto another = watch(*network, agent.address());
  EXPECT_EQ(text(next(*another)), "all");
}

TEST_F(EventsTest, WatcherMayOutliveTheNetwork) {
  ScriptedAgent agent(gpu1_, stream);
  auto network = start_quickly();
  const auto watcher = watch(*network, agent.address());
  EXPECT_EQ(text(next(*watcher)), "all");
  network = nullptr;
  EXPECT_TRUE(agent.wait([&] { return agent.open_connections() == 0; }));
  EXPECT_EQ(text(*watcher->drain()), "");
}

TEST_F(EventsTest, ReconnectsAfterALineWithoutEnd) {
  ScriptedAgent agent(gpu1_, [](const Request& request) {
    return request.connection == 1 ? Reply{kStreamHead, Then::flood, false, chunk(std::string(1000, 'x'))}
                                   : stream(request);
  });
  const auto network = start_quickly();
  const auto watcher = watch(*network, agent.address());
  EXPECT_TRUE(agent.wait_for_requests(2));
}

// At the agent's next heartbeat.
TEST_F(EventsTest, ConnectsAnewWithNewFiles) {
  ScriptedAgent agent(gpu1_, stream);
  AgentNetwork::Options options;
  options.silence_max = std::chrono::minutes(10);
  const auto network = start_quickly(options);
  const auto watcher = watch(*network, agent.address());
  EXPECT_EQ(text(next(*watcher)), "all");
  const TlsFiles renewed = ca_.issue("renewed", "lockstep://pod/controller/renewed");
  std::filesystem::rename(renewed.key, controller_.key);
  std::filesystem::rename(renewed.certificate, controller_.certificate);
  EXPECT_EQ(text(next(*watcher)), "all") << "though the agent is silent";
  EXPECT_EQ(agent.requests().back().peer, "lockstep://pod/controller/renewed");
}

// Those of another agent go on.
TEST_F(EventsTest, ConnectionsEndWhenTheAgentsCertificateExpires) {
  const std::time_t until = std::time(nullptr) + 4;
  ScriptedAgent brief(ca_.issue("brief", CertificateForm{.uris = {"lockstep://pod/device/gpu1"},
                                                         .until = std::chrono::seconds(5)}),
                      stream);
  ScriptedAgent other(gpu2_, stream);
  AgentNetwork::Options options;
  options.silence_max = std::chrono::minutes(10);
  const auto network = start_quickly(options);
  const auto watcher = watch(*network, brief.address());
  const auto other_watcher = watch(*network, other.address("gpu2"));
  EXPECT_EQ(text(next(*watcher)), "all");
  EXPECT_EQ(text(next(*other_watcher)), "all");
  ASSERT_TRUE(network->call(brief.address(), "observe", "{}", Effect::reads, patient()));
  ASSERT_TRUE(network->call(other.address("gpu2"), "observe", "{}", Effect::reads, patient()));
  EXPECT_TRUE(brief.wait([&] { return brief.open_connections() == 0; })) << "of the call and of the events";
  EXPECT_GE(std::time(nullptr), until);
  const auto answer = network->call(brief.address(), "observe", "{}", Effect::reads, patient());
  EXPECT_TRUE(fails_as(answer, ErrorKind::denied));
  EXPECT_TRUE(says(answer.error().what, "lockstep://pod/device/gpu1 expired on"));
  EXPECT_EQ(other.open_connections(), 2U);
}

TEST_F(EventsTest, ConnectsFromTheGivenNetworkNamespace) {
  LOCKSTEP_NEEDS_ROOT("makes network namespaces");
  std::unique_ptr<ScriptedAgent> agent;
  Descriptor netns;
  const auto made = inside_new_namespace("test", [&]() -> Result<Done> {
    EXPECT_TRUE(bring_loopback_up());
    netns = Descriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    agent = std::make_unique<ScriptedAgent>(gpu1_, stream);
    return Done{};
  });
  if (!made) LOCKSTEP_NOT_TESTED_BUT_ON_CI(made.error().text());
  AgentNetwork::Options options;
  options.netns_path = "/proc/self/fd/" + std::to_string(netns.number());
  const auto inside = start_quickly(options);
  const auto outside = start_quickly();
  for (const char* const host : {"127.0.0.1", "localhost"}) {
    const AgentAddress address = agent->address("gpu1", host);
    const auto answer = inside->call(address, "observe", "{}", Effect::reads, patient());
    EXPECT_TRUE(answer) << answer.error().text();
    EXPECT_TRUE(
        fails_as(outside->call(address, "observe", "{}", Effect::reads, patient()), ErrorKind::transient));
  }
  const auto watcher = watch(*inside, agent->address());
  EXPECT_EQ(text(next(*watcher)), "all");
}

TEST_F(EventsTest, RefusesToStartInWhatIsNoNetworkNamespace) {
  LOCKSTEP_NEEDS_ROOT("enters network namespaces");
  AgentNetwork::Options options{.files = controller_, .cluster = "pod"};
  for (const auto& [path, kind] : {std::pair{"/proc/self/status", ErrorKind::refused},
                                   std::pair{"/nonexistent", ErrorKind::transient}}) {
    options.netns_path = path;
    const auto out = AgentNetwork::start(options);
    EXPECT_TRUE(fails_as(out, kind));
    EXPECT_TRUE(says(out.error().what, std::string("network namespace ") + path));
  }
}

}  // namespace
}  // namespace lockstep
