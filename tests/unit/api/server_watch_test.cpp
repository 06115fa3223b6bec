// Watches over sockets: resumption, resets, slow and revoked watchers; and the limits of the server.
#include <sys/socket.h>
#include <sys/stat.h>

#include "server_fixture.hpp"

namespace lockstep::api {
namespace {

using std::chrono::milliseconds;
constexpr const char* kWatch = "/api/v1alpha1/devices?watch=1";

class ApiWatchTest : public ApiServerTest {
 protected:
  // A watch whose head has come.
  ApiClient watch(const std::string& role, const std::string& query = "", const std::string& headers = "",
                  int receive_buffer = 0, const std::string& of = "devices") {
    ApiClient out(port(), receive_buffer);
    out.send("GET /api/v1alpha1/" + of + "?watch=1" + query +
             " HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer " + role + "\r\n" + headers + "\r\n");
    const Reply head = out.head();
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.headers.contains("Content-Type") ? head.headers.at("Content-Type") : "",
              "text/event-stream");
    return out;
  }
};

TEST_F(ApiWatchTest, TellsChangesAsTheyHappenAndResumes) {
  start();
  ApiClient one = watch("viewer");
  const std::string first = one.events_until("BOOKMARK");
  EXPECT_NE(first.find("event: ADDED"), std::string::npos);
  drift(3);
  const std::string second = one.events_until("MODIFIED");
  EXPECT_NE(second.find("\"differences\":3"), std::string::npos) << second;
  const std::size_t id = second.find("id: ") + 4;
  const std::string position = second.substr(id, second.find('\n', id) - id);
  drift(4);
  drift(5);
  ApiClient again = watch("viewer", "", "Last-Event-ID: " + position + "\r\n");
  const std::string rest = again.events_until("\"differences\":5");
  EXPECT_NE(rest.find("\"differences\":4"), std::string::npos);
  EXPECT_EQ(rest.find("\"differences\":3"), std::string::npos);
  EXPECT_EQ(rest.find("ADDED"), std::string::npos);
  ApiClient by_version = watch("viewer", "&resourceVersion=" + position);
  EXPECT_NE(by_version.events_until("\"differences\":5").find("\"differences\":4"), std::string::npos);
  ApiClient reset = watch("viewer", "&resourceVersion=e0-1");
  EXPECT_NE(reset.events_until("nothing like it").find("event: ERROR"), std::string::npos);
  EXPECT_TRUE(reset.is_ended());
  EXPECT_EQ(client("viewer").get(std::string(kWatch), "", "HEAD").status, 200);
}

TEST_F(ApiWatchTest, TellsOneObjectOrOneSelection) {
  start();
  ApiClient one = watch("viewer", "", "", 0, "devices/leaf0");
  const std::string first = one.events_until("BOOKMARK");
  EXPECT_NE(first.find("\"name\":\"leaf0\""), std::string::npos);
  EXPECT_EQ(first.find("\"name\":\"gpu1\""), std::string::npos);
}

TEST_F(ApiWatchTest, SendsSignsOfLife) {
  settings_.limits.heartbeat = milliseconds(20);
  start();
  ApiClient one = watch("viewer");
  (void)one.events_until("BOOKMARK");
  EXPECT_NE(one.events_until(": still here").find(": still here"), std::string::npos);
}

// Proxies cut what is silent, and nothing happens to the revisions.
TEST_F(ApiWatchTest, SendsSignsOfLifeWhileOtherKindsHaveNews) {
  settings_.limits.heartbeat = milliseconds(200);
  start();
  ApiClient quiet = watch("viewer", "", "", 0, "revisions");
  (void)quiet.events_until("BOOKMARK");
  // Its sign of life is another bookmark, as its place in the log is another one.
  const std::jthread busy([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any pause;
    for (std::size_t i = 1; !stop.stop_requested(); ++i) {
      drift(i % 9);
      pause.wait_for(lock, stop, milliseconds(20), [] { return false; });
    }
  });
  EXPECT_NE(quiet.events_until("BOOKMARK").find("BOOKMARK"), std::string::npos);
}

TEST_F(ApiWatchTest, EndsWhenItsTokenIsRevokedAndLetsOthersGoOn) {
  start();
  ApiClient viewer = watch("viewer");
  ApiClient admin = watch("admin");
  (void)viewer.events_until("BOOKMARK");
  (void)admin.events_until("BOOKMARK");
  write_tokens({"admin"});
  const std::string last = viewer.events_until("nothing like it");
  EXPECT_NE(last.find("event: ERROR"), std::string::npos) << last;
  EXPECT_NE(last.find("revoked"), std::string::npos) << last;
  EXPECT_TRUE(viewer.is_ended());
  EXPECT_EQ(client("viewer").get("/api/v1alpha1/devices").status, 401);
  drift(7);
  EXPECT_NE(admin.events_until("\"differences\":7").find("MODIFIED"), std::string::npos);
}

// It takes nothing of what it asked for; the log keeps 100 entries.
TEST_F(ApiWatchTest, CutsOffAWatcherThatDoesNotRead) {
  settings_.limits.write_time = milliseconds(300);
  settings_.limits.watches_max = 2;
  start();
  ApiClient slow = watch("viewer", "", "", 4096);
  ApiClient other = watch("viewer");
  (void)other.events_until("BOOKMARK");
  ServiceStatus status = quiet_status();
  const auto grow = [&](int round) {
    std::vector<std::pair<NamedDevice, std::optional<DeviceStatus>>> devices;
    for (int i = 0; i < 20; ++i) {
      const std::string name = "gpu" + std::to_string(i);
      DeviceStatus one = device_status(name, false, 0, ++observed_);
      one.why_incomplete = std::string(30'000, 'w') + std::to_string(round);
      devices.push_back({{name, "host", ""}, one});
    }
    status.devices = snapshot_of(devices);
    desk_.set(status);
    turn();
  };
  for (int round = 0; round < 10; ++round) grow(round);
  EXPECT_TRUE(soon_holds([&] {
    ApiClient next = client("viewer");
    next.send("GET " + std::string(kWatch) + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer viewer\r\n\r\n");
    return next.head().status == 200;
  })) << "its place is another's, while it still reads nothing";
  EXPECT_TRUE(slow.is_ended());
  drift(3);
  EXPECT_NE(other.events_until("\"differences\":3").find("event: "), std::string::npos)
      << "who reads is told";
}

TEST_F(ApiWatchTest, AreLimitedInNumber) {
  settings_.limits.watches_max = 2;
  start();
  ApiClient one = watch("viewer");
  ApiClient two = watch("viewer");
  (void)one.events_until("BOOKMARK");
  (void)two.events_until("BOOKMARK");
  const Reply third = client("viewer").get(kWatch);
  EXPECT_EQ(third.status, 503);
  EXPECT_TRUE(third.headers.contains("Retry-After"));
  ::shutdown(one.socket(), SHUT_RDWR);
  EXPECT_TRUE(soon_holds([&] {
    ApiClient next = client("viewer");
    next.send("GET " + std::string(kWatch) + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer viewer\r\n\r\n");
    return next.head().status == 200;
  })) << "a watcher that leaves makes room";
}

TEST_F(ApiServerTest, LimitsRequestsOfEachClient) {
  settings_.limits.requests.requests_per_second = 0.01;
  settings_.limits.requests.requests_burst = 3;
  start();
  ApiClient one = client("viewer");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(one.get("/api/v1alpha1/devices").status, 200);
  const Reply over = one.get("/api/v1alpha1/devices");
  EXPECT_EQ(over.status, 429);
  EXPECT_EQ(Json::parse(over.body)["reason"], "TooManyRequests");
  EXPECT_TRUE(over.headers.contains("Retry-After"));
  EXPECT_EQ(client("viewer").get("/api/v1alpha1/devices").status, 429) << "also on another connection";
  EXPECT_EQ(client("operator").get("/api/v1alpha1/devices").status, 200) << "others have their own";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client("wrong").get("/api/v1alpha1/devices").status, 401);
  EXPECT_EQ(client("wrong").get("/api/v1alpha1/devices").status, 429);
  EXPECT_EQ(client().get("/healthz").status, 429) << "strangers of one address share";
}

TEST_F(ApiServerTest, LimitsConnectionsOfEachClient) {
  settings_.limits.connections_per_client = 3;
  start();
  std::vector<ApiClient> open;
  for (int i = 0; i < 3; ++i) {
    open.push_back(client());
    EXPECT_EQ(open.back().get("/healthz").status, 200);
  }
  EXPECT_TRUE(client().is_ended());
  EXPECT_NE(said().find("127.0.0.1: closed: it has 3 connections already"), std::string::npos);
  open.pop_back();
  EXPECT_TRUE(soon_holds([&] { return client().get("/healthz").status == 200; }));
}

// Whoever they are from: each of these clients has fewer than it may.
TEST_F(ApiServerTest, LimitsConnectionsInAll) {
  settings_.listen.push_back("unix:" + folder_.file("run/api.sock"));
  settings_.limits.connections_max = 3;
  settings_.limits.connections_per_client = 3;
  start();
  ApiClient of_machine(folder_.file("run/api.sock"));
  EXPECT_EQ(of_machine.get("/healthz").status, 200);
  std::vector<ApiClient> open;
  for (int i = 0; i < 2; ++i) {
    open.push_back(client());
    EXPECT_EQ(open.back().get("/healthz").status, 200);
  }
  EXPECT_EQ(client().get("/healthz").status, 0);
  EXPECT_NE(said().find("127.0.0.1: closed: all 3 connections are in use"), std::string::npos) << said();
  EXPECT_EQ(ApiClient(folder_.file("run/api.sock")).get("/healthz").status, 0);
  EXPECT_EQ(of_machine.get("/healthz").status, 200) << "those that are there are served";
  open.pop_back();
  EXPECT_TRUE(soon_holds([&] { return client().get("/healthz").status == 200; }));
}

TEST_F(ApiServerTest, CutsOffWhoIsTooSlow) {
  settings_.limits.header_time = milliseconds(100);
  settings_.limits.idle_time = milliseconds(100);
  start();
  ApiClient header = client();
  header.send("GET /healthz HTTP/1.1\r\nHost:");
  EXPECT_TRUE(header.is_ended());
  ApiClient idle = client();
  EXPECT_TRUE(idle.is_ended());
  server_.reset();
  settings_.limits.header_time = std::chrono::hours(1);
  settings_.limits.body_time = milliseconds(100);
  start();
  ApiClient body = client();
  body.send(
      "POST /api/v1alpha1/devices/gpu1:cordon HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer operator\r\n"
      "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
  EXPECT_TRUE(body.is_ended());
  EXPECT_TRUE(desk_.actions().empty());
}

TEST_F(ApiServerTest, StopsWhileClientsAreAtIt) {
  desk_.answers(std::nullopt);
  start();
  ApiClient idle = client("viewer");
  EXPECT_EQ(idle.get("/api/v1alpha1/devices").status, 200);
  ApiClient watching = client("viewer");
  watching.send(
      "GET /api/v1alpha1/devices?watch=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer viewer\r\n\r\n");
  EXPECT_EQ(watching.head().status, 200);
  ApiClient acting = client("operator");
  acting.send(
      "POST /api/v1alpha1/devices/gpu1:cordon HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer operator\r\n"
      "Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"reason\": \"optics\"}");
  EXPECT_TRUE(soon_holds([&] { return !desk_.actions().empty(); }));
  const auto before = std::chrono::steady_clock::now();
  server_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - before, settings_.limits.requests.action_time);
  EXPECT_EQ(audited().back()["outcome"], "nothing was done: the service did not take it in time");
}

TEST_F(ApiServerTest, RefusesToStartWhereTokensCouldBeRead) {
  for (const char* const where : {"0.0.0.0:0", "[::]:0", "192.0.2.1:7445"}) {
    settings_.listen = {where};
    EXPECT_NE(why_not_started().find("is not loopback"), std::string::npos) << where;
  }
  for (const char* const where : {"localhost:80", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999", "::1:80",
                                  "unix:api", "unix:", "[127.0.0.1]:80", ""}) {
    settings_.listen = {where};
    EXPECT_NE(why_not_started().find("listen address '"), std::string::npos) << where;
  }
  settings_.listen = {"127.0.0.1:0", "[::1]:0"};
  EXPECT_EQ(why_not_started(), "");
  settings_.tokens = folder_.file("none");
  EXPECT_NE(why_not_started(), "");
  settings_.tokens = "";
  settings_.audit = folder_.file("no/audit");
  EXPECT_NE(why_not_started(), "");
}

TEST_F(ApiServerTest, BelievesItsOwnUserOnAUnixSocketInAFolderOfItsOwn) {
  settings_.listen = {"unix:" + folder_.file("run/api.sock")};
  start();
  struct stat found {};
  ASSERT_EQ(::stat(folder_.file("run").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700U);
  ApiClient one(folder_.file("run/api.sock"));
  EXPECT_EQ(one.get("/api/v1alpha1/devices").status, 200);
  EXPECT_EQ(one.post("/api/v1alpha1/clusters/pod1:resume", "{}").status, 200);
  EXPECT_EQ(audited().back()["credential"], "user");
  EXPECT_EQ(audited().back()["from"], "this machine");
  EXPECT_EQ(ApiClient(folder_.file("run/api.sock"))
                .as("viewer")
                .post("/api/v1alpha1/clusters/pod1:resume", "{}")
                .status,
            403);
  EXPECT_NE(why_not_started().find("another process listens there"), std::string::npos);
  server_.reset();
  EXPECT_NE(::stat(folder_.file("run/api.sock").c_str(), &found), 0) << "it is gone with the server";
  ::chmod(folder_.file("run").c_str(), 0750);
  EXPECT_NE(why_not_started().find("others may enter it"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::api
