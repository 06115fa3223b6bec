#include "reconciler/agent/server.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <future>

#include "drivers/posix/in_namespace.hpp"
#include "tests/loopback.hpp"
#include "tests/needs.hpp"
#include "tests/unit/agent/server_test_fixture.hpp"

namespace lockstep::agent {
namespace {

using namespace std::chrono_literals;

TEST_F(ServerTest, ServesSeveralCallsOnOneConnection) {
  start();
  RawClient ops = client(controller_);
  for (int i = 0; i < 3; ++i) {
    const auto got = ops.call("apply", "body " + std::to_string(i));
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.body, "{\"got\":\"body " + std::to_string(i) + "\"}");
    EXPECT_EQ(got.headers.at("Content-Type"), "application/json");
    EXPECT_FALSE(got.headers.contains("Connection"));
  }
  EXPECT_EQ(calls_->calls(), (std::vector<std::string>{"apply body 0", "apply body 1", "apply body 2"}));
}

TEST_F(ServerTest, ServesChunkedBodyAndHealth) {
  start();
  RawClient ops = client(controller_);
  ASSERT_TRUE(ops.send(
      "POST /v1/hello HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"));
  EXPECT_EQ(ops.answer().body, R"({"got":"abcde"})");
  ASSERT_TRUE(ops.get("/v1/healthz"));
  EXPECT_EQ(ops.answer().status, 200);
  ASSERT_TRUE(ops.send("GET /v1/healthz HTTP/1.1\r\nConnection: close\r\n\r\n"));
  EXPECT_EQ(ops.answer().headers.at("Connection"), "close");
  EXPECT_TRUE(ops.closed());
}

TEST_F(ServerTest, ReaderMayNotWrite) {
  start();
  EXPECT_EQ(client(reader_).call("observe", "{}").status, 200);
  const auto refused = client(reader_).call("apply", "{}");
  EXPECT_EQ(refused.status, 403);
  EXPECT_HAS(refused.body, R"("kind":"denied")");
  EXPECT_HAS(refused.body, "lockstep://pod/reader/grafana is a reader");
  EXPECT_EQ(calls_->calls(), std::vector<std::string>{"observe {}"}) << "the write never began";
}

TEST_F(ServerTest, RefusesUnknownPathsAndMethods) {
  start();
  for (const auto& [request, status] :
       std::vector<std::pair<std::string, int>>{{"POST /v1/reboot", 404},
                                                {"POST /v1/", 404},
                                                {"POST /v2/hello", 404},
                                                {"POST /", 404},
                                                {"POST /v1/hello/", 404},
                                                {"POST /v1/Hello", 404},
                                                {"GET /v1/hello", 405},
                                                {"PUT /v1/apply", 405},
                                                {"DELETE /v1/apply", 405},
                                                {"POST /v1/events", 405},
                                                {"HEAD /v1/healthz", 405},
                                                {"POST /v1/hello?x=1", 404}}) {
    RawClient ops = client(controller_);
    ASSERT_TRUE(ops.send(request + " HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"));
    const auto got = ops.answer();
    EXPECT_EQ(got.status, status) << request;
    EXPECT_EQ(got.headers.contains("Allow"), status == 405) << request;
  }
  EXPECT_TRUE(calls_->calls().empty());
}

TEST_F(ServerTest, StatusFollowsTheKindOfError) {
  for (const auto& [kind, status] : std::vector<std::pair<ErrorKind, int>>{{ErrorKind::invalid_spec, 400},
                                                                           {ErrorKind::denied, 403},
                                                                           {ErrorKind::conflict, 409},
                                                                           {ErrorKind::refused, 422},
                                                                           {ErrorKind::unsupported, 422},
                                                                           {ErrorKind::transient, 503},
                                                                           {ErrorKind::cancelled, 503},
                                                                           {ErrorKind::unknown_outcome, 500}})
    EXPECT_EQ(error_reply(Error{kind, "x"}).status, status) << to_string(kind);
  EXPECT_HAS(error_reply(Error{ErrorKind::conflict, "stale"}).body, "\"what\":\"stale\"");
}

TEST_F(ServerTest, DeadlineIsTheClientsButNoLongerThanOurs) {
  std::atomic<std::int64_t> left{0};
  calls_->on_call = [&](std::string_view, const std::string&, const Call& call) {
    left = std::chrono::ceil<std::chrono::seconds>(call.deadline - std::chrono::steady_clock::now()).count();
    return Reply{200, "{}"};
  };
  options_.call_time = 100'000ms;
  start();
  RawClient ops = client(controller_);
  for (const auto& [header, most] :
       std::vector<std::pair<std::string, int>>{{"Lockstep-Deadline-Ms: 40000\r\n", 40},
                                                {"Lockstep-Deadline-Ms: 99999999999\r\n", 100},
                                                {"", 100}}) {
    ASSERT_EQ(ops.call("hello", "", header).status, 200);
    EXPECT_LE(left, most) << header;
    EXPECT_GT(left, most - 30) << header << "this machine lost half a minute, or the deadline is another";
  }
  for (const char* const value : {"0", "-5", "x", "5s", "99999999999999999999", "1.5"})
    EXPECT_EQ(
        client(controller_).call("hello", "", "Lockstep-Deadline-Ms: " + std::string(value) + "\r\n").status,
        400)
        << value;
}

// As of AgentServer's log, and as OpenSSL's client names the alert that it gets.
TEST_F(ServerTest, RefusesHandshakesAndLogsWhy) {
  TestCa other(folder_.path(), "other CA", "other-ca");
  const TlsFiles revoked = ca_.issue("revoked", "lockstep://pod/controller/revoked");
  files_.revoked = ca_.revoke({revoked.certificate});
  const auto dated = [&](const std::string& name, std::chrono::seconds from, std::chrono::seconds until) {
    return ca_.issue(
        name, CertificateForm{.uris = {"lockstep://pod/controller/" + name}, .from = from, .until = until});
  };
  struct Case {
    TlsFiles files;
    int version;
    std::string log;
    std::string alert;
  };
  int host = 10;
  for (const Case& one : std::vector<Case>{
           {other.issue("x", "lockstep://pod/controller/x"), TLS1_3_VERSION, "was not signed by our CA",
            "unknown ca"},
           {dated("old", -48h, -24h), TLS1_3_VERSION, "lockstep://pod/controller/old expired on",
            "certificate expired"},
           {dated("early", 24h, 48h), TLS1_3_VERSION, "early is not valid before", "bad certificate"},
           {revoked, TLS1_3_VERSION, "lockstep://pod/controller/revoked was revoked", "certificate revoked"},
           {TlsFiles{}, TLS1_3_VERSION, "sent no certificate", "certificate required"},
           {controller_, TLS1_2_VERSION, "does not support TLS 1.3", "protocol version"}}) {
    start();
    const std::string from = "127.0.0." + std::to_string(++host);
    RawClient bad(port(), one.files, {.from = from, .version = one.version});
    EXPECT_EQ(bad.call("hello", "{}").status, 0) << one.log;
    EXPECT_HAS(bad.failure(), one.alert);
    EXPECT_TRUE(soon([&] { return logged(from + ": refused: "); })) << one.log;
    EXPECT_TRUE(logged(one.log)) << log();
    EXPECT_EQ(client(controller_).call("hello", "{}").status, 200) << "others are served";
  }
  for (const std::string& called : calls_->calls()) EXPECT_EQ(called, "hello {}");
  EXPECT_EQ(calls_->calls().size(), 6U) << "no refused client was served";
}

TEST_F(ServerTest, RefusesOtherIdentitiesOfOurCa) {
  int host = 50;
  for (const auto& [uri, why] : std::vector<std::pair<std::string, std::string>>{
           {"lockstep://lab/controller/ops", "is for cluster lab, not pod"},
           {"lockstep://pod/device/gpu2", "is for a device, not for a controller or reader"},
           {"lockstep://pod/root/x", "not device, controller, reader, viewer, operator, admin or service"},
           {"lockstep://pod/admin/x", "is for a service or its users"},
           {"spiffe://pod/x", "has no identity"}}) {
    start();
    const std::string from = "127.0.0." + std::to_string(++host);
    RawClient bad(port(), ca_.issue("bad", uri), {.from = from});
    const auto got = bad.call("hello", "{}");
    EXPECT_EQ(got.status, 403) << uri;
    EXPECT_HAS(got.body, why);
    EXPECT_TRUE(bad.closed());
    EXPECT_TRUE(logged(from + ": refused: ")) << log();
    EXPECT_TRUE(logged(why)) << log();
  }
  EXPECT_TRUE(calls_->calls().empty());
}

TEST_F(ServerTest, LogsOneRefusalASecondForEachAddress) {
  start();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(RawClient(port(), TlsFiles{}, {.from = "127.0.0.5"}).closed());
  EXPECT_FALSE(RawClient(port(), TlsFiles{}, {.from = "127.0.0.6", .version = TLS1_2_VERSION}));
  ASSERT_TRUE(soon([&] { return logged("127.0.0.6: refused"); }));
  const std::lock_guard lock(mutex_);
  const auto of = [&](const char* address) {
    return std::count_if(log_.begin(), log_.end(),
                         [&](const std::string& line) { return line.starts_with(address); });
  };
  EXPECT_GE(of("127.0.0.5:"), 1);
  EXPECT_LT(of("127.0.0.5:"), 20) << "twenty handshakes take less than twenty seconds";
}

class ServerEvents : public ServerTest {
 protected:
  void SetUp() override { calls_->pipe = std::make_shared<Pipe>(); }
  void wake(const std::string& bytes) const {
    EXPECT_EQ(::write(calls_->pipe->writer.number(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
};

TEST_F(ServerEvents, StreamsALineForEachWake) {
  start();
  RawClient ops = client(reader_);
  ASSERT_TRUE(ops.get("/v1/events"));
  const auto head = ops.head();
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("Transfer-Encoding"), "chunked");
  for (const auto& [bytes, part] : std::vector<std::pair<std::string, std::string>>{
           {"7", "\"7\""}, {"a", "\"all\":true"}, {"8", "\"8\""}}) {
    wake(bytes);
    const std::string line = ops.chunk();
    EXPECT_HAS(line, part);
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  }
  EXPECT_EQ(client(controller_).call("hello", "").status, 200) << "others are served beside it";
}

TEST_F(ServerEvents, SendsHeartbeats) {
  options_.heartbeat = 20ms;
  start();
  RawClient ops = client(controller_);
  ASSERT_TRUE(ops.get("/v1/events"));
  EXPECT_EQ(ops.head().status, 200);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ops.chunk(), "{}\n");
  wake("7");
  std::string line = ops.chunk();
  while (line == "{}\n") line = ops.chunk();
  EXPECT_HAS(line, "\"7\"");
}

TEST_F(ServerEvents, EndsWithItsWatcher) {
  start();
  RawClient ops = client(controller_);
  ASSERT_TRUE(ops.get("/v1/events"));
  EXPECT_EQ(ops.head().status, 200);
  wake("x");
  EXPECT_EQ(ops.chunk(), "") << "the last chunk of a complete answer";
  EXPECT_TRUE(ops.closed());
}

TEST_F(ServerEvents, ReportsThatThereAreNone) {
  calls_->pipe = nullptr;
  start();
  RawClient ops = client(controller_);
  ASSERT_TRUE(ops.get("/v1/events"));
  const auto got = ops.answer();
  EXPECT_EQ(got.status, 422);
  EXPECT_HAS(got.body, "no events on this device");
}

TEST_F(ServerEvents, WatchEndsWithItsClient) {
  start();
  {
    RawClient ops = client(controller_);
    ASSERT_TRUE(ops.get("/v1/events"));
    EXPECT_EQ(ops.head().status, 200);
    EXPECT_GT(calls_->pipe.use_count(), 1);
  }
  EXPECT_TRUE(soon([&] { return calls_->pipe.use_count() == 1; }));
}

class ServerTlsFiles : public ServerEvents {
 protected:
  void replace(const TlsFiles& with) const {
    for (const auto& [from, to] :
         {std::pair(with.key, files_.key), std::pair(with.certificate, files_.certificate)})
      std::filesystem::rename(from, to);
  }
};

TEST_F(ServerTlsFiles, RenewedCertificateNeedsNoRestart) {
  start();
  RawClient before = client(controller_);
  ASSERT_EQ(before.call("hello", "").status, 200);
  replace(ca_.issue("renewed", "lockstep://pod/device/gpu1"));
  RawClient after = client(controller_);
  EXPECT_EQ(after.call("hello", "").status, 200);
  EXPECT_NE(after.server_serial(), before.server_serial());
}

TEST_F(ServerTlsFiles, NewRevocationEndsWhatIsOpen) {
  files_.revoked = ca_.revoke({});
  start();
  RawClient idle = client(controller_);
  RawClient stream = client(controller_);
  RawClient reading = client(controller_);
  ASSERT_EQ(idle.call("hello", "").status, 200);
  ASSERT_TRUE(reading.send("POST /v1/apply HTTP/1.1\r\nContent-Length: 2\r\n\r\n{"));
  ASSERT_TRUE(stream.get("/v1/events"));
  ASSERT_EQ(stream.head().status, 200);
  ca_.revoke({controller_.certificate});
  EXPECT_EQ(stream.chunk(), "");
  EXPECT_TRUE(idle.closed());
  EXPECT_TRUE(reading.closed());
  EXPECT_EQ(calls_->calls(), std::vector<std::string>{"hello "});
  EXPECT_EQ(client(controller_).call("hello", "").status, 0);
  EXPECT_TRUE(soon([&] { return logged("lockstep://pod/controller/ops was revoked"); })) << log();
  EXPECT_EQ(client(reader_).call("hello", "").status, 200);
}

// The same, of what nobody has changed.
TEST_F(ServerTlsFiles, AnExpiredCertificateEndsWhatIsOpen) {
  std::promise<void> begun;
  std::promise<void> go_on;
  calls_->on_call = [&](std::string_view name, const std::string&, const Call&) {
    if (name == "apply") {
      begun.set_value();
      go_on.get_future().wait();
    }
    return Reply{200, "{}"};
  };
  start();
  const TlsFiles brief =
      ca_.issue("brief", CertificateForm{.uris = {"lockstep://pod/controller/brief"}, .until = 5s});
  const std::time_t until = std::time(nullptr) + 4;
  RawClient idle = client(brief);
  RawClient stream = client(brief);
  RawClient reading = client(brief);
  RawClient calling = client(brief);
  ASSERT_EQ(idle.call("hello", "").status, 200);
  ASSERT_TRUE(stream.get("/v1/events"));
  ASSERT_EQ(stream.head().status, 200);
  ASSERT_TRUE(reading.send("POST /v1/hello HTTP/1.1\r\nContent-Length: 2\r\n\r\n{"));
  ASSERT_TRUE(calling.post("apply", "x"));
  begun.get_future().wait();
  EXPECT_TRUE(idle.closed());
  EXPECT_GE(std::time(nullptr), until);
  EXPECT_EQ(stream.chunk(), "");
  EXPECT_TRUE(stream.closed());
  EXPECT_TRUE(reading.closed());
  go_on.set_value();
  const auto answer = calling.answer();
  EXPECT_EQ(answer.status, 200) << "what runs is answered";
  EXPECT_EQ(answer.headers.at("Connection"), "close");
  EXPECT_TRUE(calling.closed());
  EXPECT_TRUE(logged("closed: the certificate of lockstep://pod/controller/brief expired on")) << log();
  EXPECT_EQ(calls_->calls(), (std::vector<std::string>{"hello ", "apply x"}));
  EXPECT_EQ(client(controller_).call("hello", "").status, 200);
}

TEST_F(ServerTlsFiles, UnusableOnesDoNotReplaceGoodOnes) {
  start();
  write_file(files_.certificate, "garbage\n");
  EXPECT_EQ(client(controller_).call("hello", "").status, 200);
  EXPECT_TRUE(logged("changed TLS files can't be used")) << log();
  EXPECT_TRUE(logged(files_.certificate + ": has no PEM certificate")) << log();
}

class ServerListens : public ServerTest {
 protected:
  ErrorKind kind_{};  // of the last refusal
  std::string refused() {
    options_.files = files_;
    options_.cluster = "pod";
    const auto server = AgentServer::start(options_, calls_, [](const std::string&) {});
    if (server) return "";
    kind_ = server.error().kind;
    return server.error().text();
  }
};

TEST_F(ServerListens, OnIpv4AndIpv6) {
  options_.listen = "[::]:0";
  start();
  EXPECT_EQ(client(controller_).call("hello", "").status, 200) << "over IPv4";
}

TEST_F(ServerListens, RefusesWhatItCanNotListenOn) {
  for (const char* const listen :
       {"", ":7443", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1", "::1:7443",
        "[127.0.0.1]:7443", "localhost:7443", "[::1]", "127.0.0.1:80 "}) {
    options_.listen = listen;
    EXPECT_HAS(refused(), "is not ADDRESS:PORT") << listen;
    EXPECT_EQ(kind_, ErrorKind::invalid_spec);
  }
  options_.listen = "127.0.0.1:0";
  start();
  options_.listen = "127.0.0.1:" + std::to_string(port());
  EXPECT_HAS(refused(), "Address already in use");
  EXPECT_EQ(kind_, ErrorKind::transient) << "it may be free later";
  options_.listen = "192.0.2.1:0";
  EXPECT_HAS(refused(), "192.0.2.1:0: Cannot assign requested address");
  EXPECT_EQ(kind_, ErrorKind::transient);
  options_.listen = "127.0.0.1:0";
  options_.netns_path = (folder_.path() / "no-namespace").string();
  EXPECT_HAS(refused(), "no-namespace: No such file or directory");
  options_.netns_path = "";
  files_.key = controller_.key;
  EXPECT_HAS(refused(), "is not the key of the certificate");
  EXPECT_EQ(kind_, ErrorKind::denied);
}

TEST_F(ServerListens, InAnotherNetworkNamespace) {
  LOCKSTEP_NEEDS_ROOT("makes a network namespace");
  Descriptor netns;
  ASSERT_TRUE(in_throwaway_namespace([&] {
    netns = Descriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(bring_loopback_up());
  }));
  options_.netns_path = "/proc/self/fd/" + std::to_string(netns.number());
  start();
  EXPECT_FALSE(connect_to(port())) << "nothing listens outside";
  ASSERT_TRUE(in_namespace(options_.netns_path,
                           [&] { EXPECT_EQ(client(controller_).call("hello", "").status, 200); }));
}

}  // namespace
}  // namespace lockstep::agent
