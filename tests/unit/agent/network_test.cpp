// The controller's end of calls that are answered, and whom it calls.

#include "drivers/agent/network.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include "tests/unit/agent/network_test_fixture.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using Effect = AgentNetwork::Effect;
using Reply = ScriptedAgent::Reply;
using Request = ScriptedAgent::Request;
using Then = ScriptedAgent::Then;

TEST_F(NetworkTest, CallsOverOneKeptConnection) {
  ScriptedAgent agent(gpu1_, [](const Request& request) { return Reply{http("to " + request.body)}; });
  const auto network = start({});
  for (const std::string body : {"one", "two", "three"}) {
    const auto answer =
        network->call(agent.address(), "observe", body, Effect::reads, within(milliseconds(30'000)));
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(*answer, "to " + body);
  }
  EXPECT_EQ(agent.connections(), 1U);
  const auto requests = agent.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].line, "POST /v1/observe HTTP/1.1");
  EXPECT_TRUE(says(requests[0].headers, "Host: 127.0.0.1:" + std::to_string(agent.port())));
  EXPECT_TRUE(says(requests[0].headers, "Content-Type: application/json"));
  EXPECT_EQ(requests[0].peer, "lockstep://pod/controller/ops");
  constexpr std::string_view kField = "Lockstep-Deadline-Ms: ";
  const std::size_t at = requests[0].headers.find(kField);
  ASSERT_NE(at, std::string::npos) << requests[0].headers;
  const int left = std::stoi(requests[0].headers.substr(at + kField.size()));
  EXPECT_GT(left, 0);
  EXPECT_LE(left, 30'000);
}

TEST_F(NetworkTest, GreetsBeforeTheFirstCallThatMayWrite) {
  ScriptedAgent agent(gpu1_, greets_and({http("{}")}));
  const auto network = start({});
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(network->call(agent.address(), "apply", "{}", Effect::writes, patient()));
  const auto requests = agent.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_TRUE(is_call(requests[0], "hello"));
  EXPECT_TRUE(is_call(requests[1], "apply"));
  EXPECT_TRUE(is_call(requests[2], "apply"));
}

TEST_F(NetworkTest, QueuesCallsToOneAgent) {
  std::promise<void> go;
  const std::shared_future<void> gone(go.get_future());
  ScriptedAgent agent(gpu1_, [gone](const Request& request) {
    gone.wait();
    return Reply{http(request.body)};
  });
  const auto network = start({});
  std::vector<std::future<Result<std::string>>> calls;
  for (int i = 0; i < 4; ++i)
    calls.push_back(std::async(std::launch::async, [&, i] {
      return network->call(agent.address(), "observe", std::to_string(i), Effect::reads, patient());
    }));
  ASSERT_TRUE(agent.wait_for_requests(1));
  go.set_value();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto answer = calls[i].get();
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(*answer, std::to_string(i));
  }
  EXPECT_EQ(agent.connections(), 1U);
}

TEST_F(NetworkTest, ReadsAnswersByteByByte) {
  for (const std::string& bytes : {http("{\"a\": 1}"), std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: "
                                                                   "chunked\r\n\r\n4\r\n{\"a\"\r\n4\r\n: 1}"
                                                                   "\r\n0\r\n\r\n")}) {
    ScriptedAgent agent(gpu1_, [&](const Request&) { return Reply{bytes, Then::keep, true}; });
    const auto network = start({});
    for (int i = 0; i < 2; ++i) {
      const auto answer = network->call(agent.address(), "observe", "{}", Effect::reads, patient());
      ASSERT_TRUE(answer) << answer.error().text();
      EXPECT_EQ(*answer, "{\"a\": 1}");
    }
    EXPECT_EQ(agent.connections(), 1U);
  }
}

TEST_F(NetworkTest, PassesOnTheAgentsOwnErrors) {
  const auto network = start({});
  for (const auto& [kind, word] :
       {std::pair{ErrorKind::denied, "denied"}, std::pair{ErrorKind::conflict, "conflict"},
        std::pair{ErrorKind::transient, "transient"}, std::pair{ErrorKind::unsupported, "unsupported"},
        std::pair{ErrorKind::refused, "refused"}, std::pair{ErrorKind::unknown_outcome, "unknownOutcome"}}) {
    const std::string body =
        std::string(R"({"error": {"kind": ")") + word + R"(", "what": "epoch 7 is older than 9"}})";
    ScriptedAgent agent(gpu1_, greets_and({http(body, "409 Conflict")}));
    const auto answer = network->call(agent.address(), "apply", "{}", Effect::writes, patient());
    EXPECT_TRUE(fails_as(answer, kind));
    EXPECT_EQ(answer.error().what, agent.address().text() + ": epoch 7 is older than 9");
  }
}

TEST_F(NetworkTest, StatusOfARefusalIsItsKind) {
  const auto network = start({});
  for (const auto& [status, kind] :
       {std::pair{"403 Forbidden", ErrorKind::denied}, std::pair{"404 Not Found", ErrorKind::unsupported},
        std::pair{"413 Content Too Large", ErrorKind::refused},
        std::pair{"429 Too Many Requests", ErrorKind::transient}}) {
    ScriptedAgent agent(gpu1_, greets_and({http("<html>", status)}));
    const auto answer = network->call(agent.address(), "apply", "{}", Effect::writes, patient());
    EXPECT_TRUE(fails_as(answer, kind));
    EXPECT_TRUE(says(answer.error().what,
                     std::string("answers apply with HTTP status ") + std::string(status).substr(0, 3)));
  }
}

TEST_F(NetworkTest, ReplacesConnectionThatTheAgentClosedBetweenCalls) {
  ScriptedAgent agent(gpu1_, [](const Request&) { return Reply{http("{}")}; });
  const auto network = start({});
  for (std::size_t i = 1; i <= 3; ++i) {
    for (const Effect effect : {Effect::reads, Effect::writes}) {
      const auto answer = network->call(agent.address(), "apply", "{}", effect, patient());
      ASSERT_TRUE(answer) << answer.error().text();
    }
    EXPECT_EQ(agent.connections(), i);
    agent.cut_connections();
  }
}

TEST_F(NetworkTest, ReplacesConnectionThatTheAgentDoesNotKeep) {
  ScriptedAgent agent(gpu1_, [](const Request& request) {
    return request.connection == 1 ? Reply{http("{}", "200 OK", "Connection: close\r\n"), Then::hang}
                                   : Reply{http("{}")};
  });
  const auto network = start({});
  ASSERT_TRUE(network->call(agent.address(), "observe", "{}", Effect::reads, patient()));
  EXPECT_TRUE(agent.wait([&] { return agent.open_connections() == 0; }));
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(network->call(agent.address(), "observe", "{}", Effect::reads, patient()));
  EXPECT_EQ(agent.connections(), 2U);
}

TEST_F(NetworkTest, TakesNothingForAnAnswerThatCameUnasked) {
  ScriptedAgent agent(gpu1_, [](const Request& request) {
    return request.connection == 1 ? Reply{http("first") + http("unasked")} : Reply{http("second")};
  });
  const auto network = start({});
  for (const std::string expected : {"first", "second"}) {
    const auto answer = network->call(agent.address(), "observe", "{}", Effect::reads, patient());
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(*answer, expected);
  }
}

TEST_F(NetworkTest, UnreachableAgentIsTransient) {
  std::uint16_t port = 0;
  {
    const ScriptedAgent gone(gpu1_, nullptr);
    port = gone.port();
  }
  const auto network = start({});
  const auto refused = network->call({"gpu1", {"127.0.0.1", port}}, "apply", "{}", Effect::writes, patient());
  EXPECT_TRUE(fails_as(refused, ErrorKind::transient));
  EXPECT_TRUE(says(refused.error().what, "no connection to 127.0.0.1: Connection refused"));
  // A label of more than 63 characters: no server is asked for it (RFC 1035 2.3.4).
  const std::string name(64, 'a');
  const auto nowhere = network->call({"gpu1", {name, 7443}}, "apply", "{}", Effect::writes, patient());
  EXPECT_TRUE(fails_as(nowhere, ErrorKind::transient));
  EXPECT_TRUE(says(nowhere.error().what, "host name " + name + " can't be resolved"));
}

TEST_F(NetworkTest, ReachesAgentsByName) {
  ScriptedAgent agent(gpu1_, [](const Request&) { return Reply{http("{}")}; });
  const auto network = start({});
  const auto answer =
      network->call(agent.address("gpu1", "localhost"), "observe", "{}", Effect::reads, patient());
  EXPECT_TRUE(answer) << answer.error().text();
}

TEST_F(NetworkTest, SendsNothingToAnyoneButTheWantedAgent) {
  const auto network = start({});
  TestCa forged(folder_.path(), "pod CA", "forged");
  const std::string uri = "lockstep://pod/device/gpu1";
  for (const auto& [files, part] :
       {std::pair{forged.issue("forged-gpu1", uri), "was not signed by our CA"},
        std::pair{gpu2_, "is for device gpu2, not gpu1"},
        std::pair{ca_.issue("lab", "lockstep://lab/device/gpu1"), "is for cluster lab, not pod"},
        std::pair{controller_, "is not for a device"},
        std::pair{ca_.issue("old", {.uris = {uri}, .until = std::chrono::seconds(-60)}), "expired on"},
        std::pair{ca_.issue("elsewhere", {.uris = {uri}, .dns = {}, .ips = {"10.0.0.1"}}),
                  "is for 10.0.0.1, not 127.0.0.1"}}) {
    ScriptedAgent agent(
        files, [](const Request&) { return Reply{http("{}")}; }, ca_.file());
    for (const Effect effect : {Effect::reads, Effect::writes}) {
      const auto answer = network->call(agent.address(), "apply", "{}", effect, patient());
      EXPECT_TRUE(fails_as(answer, ErrorKind::denied));
      EXPECT_TRUE(says(answer.error().what, part));
    }
    EXPECT_TRUE(agent.requests().empty()) << part;
  }
}

TEST_F(NetworkTest, RefusesWhatIsNotTls) {
  const auto network = start({});
  ScriptedAgent agent(gpu1_, nullptr, "", "HTTP/1.1 400 Bad Request\r\n\r\n");
  const auto answer = network->call(agent.address(), "apply", "{}", Effect::writes, patient());
  EXPECT_TRUE(fails_as(answer, ErrorKind::denied));
  EXPECT_TRUE(says(answer.error().what, "TLS"));
}

// With TLS 1.3 the agent refuses after our end of the handshake.
TEST_F(NetworkTest, CertificateThatTheAgentRefusesIsNoUnknownOutcome) {
  TestCa other(folder_.path(), "other CA", "other");
  ScriptedAgent agent(
      gpu1_, [](const Request&) { return Reply{http("{}")}; }, other.file());
  const auto network = start({});
  for (const Effect effect : {Effect::reads, Effect::writes})
    for (int i = 0; i < 5; ++i) {
      const auto answer = network->call(agent.address(), "apply", "{}", effect, patient());
      ASSERT_FALSE(answer);
      // Where the agent's end is faster than its alert, only the end is seen.
      EXPECT_TRUE(answer.error().kind == ErrorKind::denied || answer.error().kind == ErrorKind::transient)
          << answer.error().text();
      if (answer.error().kind == ErrorKind::denied) {
        EXPECT_TRUE(says(answer.error().what, "the other end refused our certificate"));
      }
    }
  EXPECT_TRUE(agent.requests().empty());
}

TEST_F(NetworkTest, ReadsItsFilesAgainWhenTheyChange) {
  ScriptedAgent agent(gpu1_, [](const Request&) { return Reply{http("{}")}; });
  const auto network = start({});
  const auto peer = [&] {
    const auto answer = network->call(agent.address(), "observe", "{}", Effect::reads, patient());
    EXPECT_TRUE(answer) << answer.error().text();
    return agent.requests().back().peer;
  };
  EXPECT_EQ(peer(), "lockstep://pod/controller/ops");
  const TlsFiles renewed = ca_.issue("renewed", "lockstep://pod/controller/renewed");
  std::filesystem::rename(renewed.key, controller_.key);
  const auto half = network->call(agent.address(), "observe", "{}", Effect::reads, patient());
  EXPECT_TRUE(fails_as(half, ErrorKind::denied));
  EXPECT_TRUE(says(half.error().what, "is not the key of the certificate"));
  std::filesystem::rename(renewed.certificate, controller_.certificate);
  EXPECT_EQ(peer(), "lockstep://pod/controller/renewed");
}

TEST_F(NetworkTest, KeptConnectionEndsWithARevocation) {
  ScriptedAgent agent(gpu1_, [](const Request&) { return Reply{http("{}")}; });
  AgentNetwork::Options options;
  options.files = controller_;
  options.files.revoked = ca_.revoke({});
  const auto network = start(options);
  const auto call = [&] { return network->call(agent.address(), "apply", "{}", Effect::writes, patient()); };
  const auto before = call();
  ASSERT_TRUE(before) << before.error().text();
  ASSERT_EQ(ca_.revoke({gpu1_.certificate}), options.files.revoked);
  const std::size_t requests = agent.requests().size();
  const auto after = call();
  EXPECT_TRUE(fails_as(after, ErrorKind::denied));
  EXPECT_TRUE(says(after.error().what, "was revoked"));
  EXPECT_EQ(agent.requests().size(), requests);
}

TEST_F(NetworkTest, RefusesToStartWithoutItsFiles) {
  AgentNetwork::Options options{.files = controller_, .cluster = "pod"};
  options.files.key = "/nonexistent";
  const auto out = AgentNetwork::start(options);
  EXPECT_TRUE(fails_as(out, ErrorKind::denied));
  EXPECT_TRUE(says(out.error().text(), "/nonexistent"));
}

}  // namespace
}  // namespace lockstep
