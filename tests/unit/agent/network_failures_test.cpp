// An agent that fails in whatever way costs its own call only, and that call reports whether something may
// have been written.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "drivers/agent/network.hpp"
#include "drivers/posix/wake_descriptor.hpp"
#include "tests/unit/agent/network_test_fixture.hpp"

namespace lockstep {
namespace {

using std::chrono::milliseconds;
using Effect = AgentNetwork::Effect;
using Reply = ScriptedAgent::Reply;
using Request = ScriptedAgent::Request;
using Then = ScriptedAgent::Then;

struct Failing {
  const char* name;
  Reply reply;
  ErrorKind reading;
  const char* says;
};

const std::string kHead = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";

// What an agent may do to a request that it has read.
const std::vector<Failing>& failing() {
  static const std::vector<Failing> kAll{
      {"no answer", {"", Then::cut}, ErrorKind::transient, "ended before it answered"},
      {"a farewell", {"", Then::close}, ErrorKind::transient, "ended before it answered"},
      {"cut in the status line", {"HTTP/1.1 2", Then::cut}, ErrorKind::transient, "ended within its answer"},
      {"cut in a header",
       {"HTTP/1.1 200 OK\r\nContent-Le", Then::cut},
       ErrorKind::transient,
       "ended within its answer"},
      {"cut before the body", {kHead, Then::cut}, ErrorKind::transient, "ended within its answer"},
      {"cut in the body", {kHead + "12345", Then::cut}, ErrorKind::transient, "ended within its answer"},
      {"a farewell in the body",
       {kHead + "12345", Then::close},
       ErrorKind::transient,
       "ended within its answer"},
      {"cut where only the end of the connection ends the body",
       {"HTTP/1.1 200 OK\r\n\r\n{}", Then::cut},
       ErrorKind::transient,
       "ended within its answer"},
      {"silence in the status line", {"HTTP/1.1 2", Then::hang}, ErrorKind::transient, "nothing came for"},
      {"silence in the body", {kHead + "12345", Then::hang}, ErrorKind::transient, "nothing came for"},
      {"no HTTP", {"220 smtp.example ESMTP\r\n\r\n", Then::hang}, ErrorKind::refused, "not HTTP/1.1"},
      {"HTTP/1.1 with a wrong length",
       {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", Then::hang},
       ErrorKind::refused,
       "not HTTP/1.1"},
      {"a body that is announced too long",
       {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", Then::hang},
       ErrorKind::refused,
       "more than 100000 bytes"},
      {"a status of no error", {http("", "204 No Content")}, ErrorKind::refused, "HTTP status 204"},
      {"a redirection",
       {http("", "302 Found", "Location: https://10.0.0.9/\r\n")},
       ErrorKind::refused,
       "HTTP status 302"},
      {"an internal error",
       {http("oops", "500 Internal Server Error")},
       ErrorKind::transient,
       "HTTP status 500"},
      {"an agent that stops",
       {http(R"({"error": {"kind": "cancelled", "what": "the agent stops"}})", "503 Service Unavailable")},
       ErrorKind::transient,
       "the agent stops"},
  };
  return kAll;
}

// A read may be tried again; of a write nobody knows.
TEST_F(NetworkTest, ReportsWhetherSomethingMayHaveBeenWritten) {
  AgentNetwork::Options options;
  options.answer_max = 100'000;
  options.silence_max = milliseconds(100);
  const auto network = start(options);
  for (const Failing& one : failing()) {
    SCOPED_TRACE(one.name);
    ScriptedAgent agent(gpu1_, greets_and(one.reply));
    for (const auto& [effect, kind] :
         {std::pair{Effect::reads, one.reading}, std::pair{Effect::writes, ErrorKind::unknown_outcome}}) {
      const auto answer = network->call(agent.address(), "apply", "{}", effect, patient());
      EXPECT_TRUE(fails_as(answer, kind));
      EXPECT_TRUE(
          says(answer.error().what, "gpu1 (https://127.0.0.1:" + std::to_string(agent.port()) + "): "));
      EXPECT_TRUE(says(answer.error().what, one.says));
    }
    // It can be reached again, over a new connection where the old one is of no use.
    const auto again = network->call(agent.address(), "hello", "{}", Effect::reads, patient());
    EXPECT_TRUE(again) << again.error().text();
    EXPECT_TRUE(agent.wait([&] { return agent.open_connections() == 1; }));
  }
}

TEST_F(NetworkTest, AnswersWithoutEndCostTheirOwnConnection) {
  struct Endless {
    std::string bytes;
    std::string again;
    const char* part;
  };
  AgentNetwork::Options options;
  options.answer_max = 100'000;
  const auto network = start(options);
  const std::string line = "HTTP/1.1 200 OK\r\n";
  const std::string chunked = line + "Transfer-Encoding: chunked\r\n\r\n";
  const std::string some(1000, 'x');
  for (const Endless& one : {Endless{"HTTP/1.1 200 ", some, "the header of its answer has more than 16384"},
                             {line, "X: y\r\n", "the header of its answer has more than 16384 bytes"},
                             {line + "X: ", some, "the header of its answer has more than 16384 bytes"},
                             {line + "\r\n", some, "its answer has more than 100000 bytes"},
                             {chunked, "3e8\r\n" + some + "\r\n", "its answer has more than 100000 bytes"},
                             {chunked + "ffffff\r\n", some, "its answer has more than 100000 bytes"},
                             {chunked + "1;", some, "the header of its answer has more than 16384 bytes"},
                             {chunked + "0\r\n", "X: y\r\n", "the header of its answer has more than"}}) {
    SCOPED_TRACE(one.bytes + one.again.substr(0, 10));
    ScriptedAgent agent(gpu1_, greets_and({one.bytes, Then::flood, false, one.again}));
    const auto answer = network->call(agent.address(), "observe", "{}", Effect::reads, patient());
    EXPECT_TRUE(fails_as(answer, ErrorKind::refused));
    EXPECT_TRUE(says(answer.error().what, one.part));
    EXPECT_TRUE(agent.wait([&] { return agent.open_connections() == 0; }));
  }
}

// An agent that never answers, and one that does.
class Hanging : public NetworkTest {
 protected:
  ScriptedAgent hanging_{gpu1_, greets_and({"", Then::hang})};
  ScriptedAgent well_{gpu2_, [](const Request&) { return Reply{http("{}")}; }};
  std::shared_ptr<AgentNetwork> network_ = start({});

  std::future<Result<std::string>> hang(Effect effect, const Call& call) {
    const std::size_t before = hanging_.requests().size();
    auto out = std::async(std::launch::async, [this, effect, call] {
      return network_->call(hanging_.address(), "apply", "{}", effect, call);
    });
    EXPECT_TRUE(hanging_.wait([&] {
      const auto requests = hanging_.requests();
      return requests.size() > before && is_call(requests.back(), "apply");
    }));
    return out;
  }
  void expect_well() {
    const auto answer = network_->call(well_.address("gpu2"), "observe", "{}", Effect::reads, patient());
    EXPECT_TRUE(answer) << answer.error().text();
  }
  void expect_reachable_again() {
    const auto answer = network_->call(hanging_.address(), "hello", "{}", Effect::reads, patient());
    EXPECT_TRUE(answer) << answer.error().text();
    EXPECT_TRUE(hanging_.wait([this] { return hanging_.open_connections() == 1; }));
  }
};

TEST_F(Hanging, CallEndsWhenItsDeadlinePasses) {
  for (const auto& [effect, kind] : {std::pair{Effect::reads, ErrorKind::transient},
                                     std::pair{Effect::writes, ErrorKind::unknown_outcome}}) {
    auto call = std::async(std::launch::async, [this, effect = effect] {
      return network_->call(hanging_.address(), "apply", "{}", effect, within(milliseconds(500)));
    });
    expect_well();
    const auto answer = call.get();
    EXPECT_TRUE(fails_as(answer, kind));
    EXPECT_TRUE(says(answer.error().what, "the deadline passed before it answered apply"));
    expect_reachable_again();
  }
}

TEST_F(Hanging, CallEndsWhenItIsStopped) {
  for (const auto& [effect, kind] : {std::pair{Effect::reads, ErrorKind::cancelled},
                                     std::pair{Effect::writes, ErrorKind::unknown_outcome}}) {
    std::stop_source stop;
    Call call = patient();
    call.stop = stop.get_token();
    auto hung = hang(effect, call);
    expect_well();
    stop.request_stop();
    const auto answer = hung.get();
    EXPECT_TRUE(fails_as(answer, kind));
    EXPECT_TRUE(says(answer.error().what, "asked to stop before it answered apply"));
    expect_reachable_again();
  }
}

TEST_F(Hanging, CallEndsWhenItIsWoken) {
  for (const auto& [effect, kind] : {std::pair{Effect::reads, ErrorKind::cancelled},
                                     std::pair{Effect::writes, ErrorKind::unknown_outcome}}) {
    const WakeDescriptor wake;
    Call call = patient();
    call.wake_fd = wake.number();
    auto hung = hang(effect, call);
    wake.signal();
    const auto answer = hung.get();
    EXPECT_TRUE(fails_as(answer, kind));
    expect_reachable_again();
  }
}

// Behind a call that hangs, nothing of the next is sent.
TEST_F(Hanging, CallThatWaitsForAnotherHasDoneNothing) {
  std::stop_source stop;
  Call call = patient();
  call.stop = stop.get_token();
  auto hung = hang(Effect::writes, call);
  const auto behind =
      network_->call(hanging_.address(), "remedy", "{}", Effect::writes, within(milliseconds(50)));
  EXPECT_TRUE(fails_as(behind, ErrorKind::transient));
  EXPECT_TRUE(says(behind.error().what, "the deadline passed before it was begun"));
  stop.request_stop();
  EXPECT_TRUE(fails_as(hung.get(), ErrorKind::unknown_outcome));
  expect_reachable_again();
  for (const Request& one : hanging_.requests()) EXPECT_FALSE(is_call(one, "remedy"));
}

// Over a kept connection, where a request could be sent at once.
TEST_F(Hanging, CallThatHasEndedBeforeItsStartSendsNothing) {
  expect_well();
  std::stop_source stop;
  stop.request_stop();
  const WakeDescriptor wake;
  wake.signal();
  Call stopped = patient();
  stopped.stop = stop.get_token();
  Call woken = patient();
  woken.wake_fd = wake.number();
  for (int i = 0; i < 50; ++i)
    for (const auto& [call, kind] :
         {std::pair{stopped, ErrorKind::cancelled}, std::pair{woken, ErrorKind::cancelled},
          std::pair{within(milliseconds(-1)), ErrorKind::transient}}) {
      const auto answer = network_->call(well_.address("gpu2"), "apply", "{}", Effect::writes, call);
      ASSERT_TRUE(fails_as(answer, kind));
    }
  expect_well();
  EXPECT_EQ(well_.requests().size(), 2U);
}

// Whenever it ends: every few microseconds from before it begins until it would be answered.
TEST_F(Hanging, CallThatIsNoUnknownOutcomeWasNotRead) {
  constexpr int kCalls = 300;
  std::vector<std::string> not_sent;
  for (int i = 0; i < kCalls; ++i) {
    const WakeDescriptor wake;
    Call call = patient();
    call.wake_fd = wake.number();
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(3 * i);
    std::thread waker([&wake, until] {
      while (std::chrono::steady_clock::now() < until) continue;
      wake.signal();
    });
    const std::string body = "{\"call\": " + std::to_string(i) + "}";
    const auto answer = network_->call(well_.address("gpu2"), "apply", body, Effect::writes, call);
    waker.join();
    if (answer || answer.error().kind == ErrorKind::unknown_outcome) continue;
    EXPECT_TRUE(fails_as(answer, ErrorKind::cancelled));
    not_sent.push_back(body);
  }
  expect_well();
  EXPECT_FALSE(not_sent.empty());
  for (const Request& one : well_.requests())
    EXPECT_EQ(std::ranges::count(not_sent, one.body), 0) << one.body;
}

// The kernel accepts the connection, and no handshake follows.
TEST_F(Hanging, HandshakeThatNeverEndsHasDoneNothing) {
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.number(), 8), 0);
  ASSERT_EQ(::getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const AgentAddress mute{"gpu1", {"127.0.0.1", ntohs(address.sin_port)}};
  const auto answer = network_->call(mute, "apply", "{}", Effect::writes, within(milliseconds(300)));
  EXPECT_TRUE(fails_as(answer, ErrorKind::transient));
  EXPECT_TRUE(says(answer.error().what, "the deadline passed while it connected"));
  expect_well();
}

}  // namespace
}  // namespace lockstep
