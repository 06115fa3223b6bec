// The API over sockets: HTTP as it may come, who may do what, and what actions leave.
#include <sys/socket.h>
#include <sys/stat.h>

#include <thread>

#include "server_fixture.hpp"

namespace lockstep::api {
namespace {

constexpr const char* kDevices = "/api/v1alpha1/devices";
constexpr const char* kCordon = "/api/v1alpha1/devices/gpu1:cordon";
constexpr const char* kReason = R"({"reason": "optics"})";

TEST_F(ApiServerTest, ServesListsAndObjectsToViewers) {
  start();
  ApiClient one = client("viewer");
  const Reply list = one.get(kDevices);
  EXPECT_EQ(list.status, 200);
  EXPECT_EQ(list.headers.at("Content-Type"), "application/json");
  EXPECT_EQ(Json::parse(list.body)["items"].size(), 2U);
  EXPECT_EQ(Json::parse(one.get(std::string(kDevices) + "/gpu1").body)["metadata"]["name"], "gpu1");
  EXPECT_EQ(Json::parse(one.get(std::string(kDevices) + "?fieldSelector=metadata.name%3Dleaf0").body)["items"]
                .size(),
            1U);
  for (const KindRow& kind : kinds())
    EXPECT_EQ(Json::parse(one.get("/api/v1alpha1/" + std::string(kind.plural)).body)["kind"],
              std::string(kind.name) + "List");
  const Reply missing = one.get(std::string(kDevices) + "/gpu9");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(Json::parse(missing.body)["message"], "devices \"gpu9\" not found");
  EXPECT_EQ(Json::parse(missing.body)["reason"], "NotFound");
  EXPECT_EQ(one.get("/api/v1alpha1/changes/1").status, 404);
  EXPECT_EQ(one.get("/api/v1alpha1/devices?labelSelector=%3D").status, 400);
  EXPECT_EQ(one.get("/api/v1alpha1/devices?continue=e0-1.67").status, 410);
}

TEST_F(ApiServerTest, AnswersEveryMethodAsHttpHasIt) {
  start();
  ApiClient one = client("viewer");
  const Reply head = one.get(kDevices, "", "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("Content-Length"), std::to_string(one.get(kDevices).body.size()));
  const Reply options = one.get(kDevices, "", "OPTIONS");
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.headers.at("Allow"), "GET, HEAD, OPTIONS");
  EXPECT_FALSE(options.headers.contains("Content-Length"));
  EXPECT_EQ(one.get("*", "", "OPTIONS").status, 204);
  for (const char* const method : {"DELETE", "PUT", "PATCH", "POST", "TRACE", "FOO"}) {
    const Reply reply = one.get(kDevices, "", method);
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_EQ(reply.headers.at("Allow"), "GET, HEAD, OPTIONS");
  }
  EXPECT_EQ(one.get(kCordon).status, 405);
  EXPECT_EQ(one.get("/nothing").status, 404);
  EXPECT_EQ(one.get("/nothing", "", "DELETE").status, 404) << "an unknown path tells nothing of its methods";
  EXPECT_EQ(one.get(kDevices, "Accept: text/html\r\n").status, 406);
  EXPECT_EQ(one.get(std::string(kDevices) + "?watch=1", "Accept: application/json\r\n").status, 406);
  EXPECT_EQ(one.get(std::string(kDevices) + "/%ff").status, 400);
}

TEST_F(ApiServerTest, RefusesRequestsThatAreNotHttp) {
  start();
  const std::string host = "Host: api\r\nAuthorization: Bearer viewer\r\n";
  const std::string big(settings_.limits.header_max + 1, 'a');
  const std::vector<std::pair<std::string, int>> cases{
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"GET /healthz HTTP/1.0\r\n" + host + "\r\n", 505},
      {"GET /healthz HTTP/2.0\r\n" + host + "\r\n", 400},
      {"GET healthz HTTP/1.1\r\n" + host + "\r\n", 400},
      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
      {std::string("GET /\0 HTTP/1.1\r\n\r\n", 20), 400},
      {"GET /healthz HTTP/1.1\r\n" + host + std::string("X: a\0b\r\n\r\n", 10), 400},
      {"GET /healthz HTTP/1.1\r\n" + host + "X : a\r\n\r\n", 400},
      {"GET /healthz HTTP/1.1\r\n" + host + "X: " + big + "\r\n\r\n", 431},
      {"GET /" + std::string(settings_.limits.target_max, 'a') + " HTTP/1.1\r\n" + host + "\r\n", 414},
      {"GET /healthz HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n", 400},
      {"GET /healthz HTTP/1.1\r\n" + host + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400},
      {"POST " + std::string(kCordon) + " HTTP/1.1\r\n" + host +
           "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       400},
      {"GET /healthz HTTP/1.1\r\n" + host + "Authorization: Bearer admin\r\n\r\n", 400},
      {"GET /healthz HTTP/1.1\r\n" + host + "Content-Length: 2\r\n\r\n{}", 400}};
  for (const auto& [bytes, status] : cases) {
    ApiClient one = client();
    ASSERT_TRUE(one.send(bytes));
    const Reply reply = one.reply();
    EXPECT_EQ(reply.status, status) << bytes.substr(0, 80);
    EXPECT_EQ(Json::parse(reply.body)["kind"], "Status") << bytes.substr(0, 80);
  }
  EXPECT_EQ(client().get("/healthz").status, 200) << "nobody else is harmed";
}

TEST_F(ApiServerTest, ServesPipelinedRequestsInTheirOrder) {
  start();
  ApiClient one = client();
  const std::string host = "Host: api\r\nAuthorization: Bearer operator\r\n";
  one.send("GET /healthz HTTP/1.1\r\n" + host + "\r\nPOST " + kCordon + " HTTP/1.1\r\n" + host +
           "Content-Type: application/json\r\nTransfer-Encoding: "
           "chunked\r\n\r\n5\r\n{\"rea\r\n9;x=y\r\nson\":\"a\"}\r\n0\r\nT: 1\r\n\r\n" +
           "GET /nothing HTTP/1.1\r\n" + host + "\r\nGET /healthz HTTP/1.1\r\n" + host +
           "Connection: close\r\n\r\n");
  EXPECT_EQ(one.reply().body, "ok\n");
  EXPECT_EQ(one.reply().status, 200);
  EXPECT_EQ(one.reply().status, 404);
  EXPECT_EQ(one.reply().headers.at("Connection"), "close");
  EXPECT_TRUE(one.is_ended());
  ASSERT_EQ(desk_.actions().size(), 1U);
  EXPECT_EQ(desk_.actions()[0].by.reason, "a");
}

// Else a body could be a request of its own, which a proxy before the server has not seen.
TEST_F(ApiServerTest, NeverTakesABodyThatItRefusedForARequest) {
  start();
  const std::string inside = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const char* const target : {"/nothing", kDevices, kCordon}) {
    ApiClient one = client();
    one.send("POST " + std::string(target) + " HTTP/1.1\r\nHost: a\r\nContent-Length: " +
             std::to_string(inside.size()) + "\r\n\r\n" + inside);
    const Reply reply = one.reply();
    EXPECT_GE(reply.status, 400) << target;
    EXPECT_EQ(reply.headers.at("Connection"), "close") << target;
    EXPECT_EQ(one.reply().status, 0) << target;
  }
}

TEST_F(ApiServerTest, KnowsNobodyWithoutACredential) {
  start();
  ApiClient stranger = client();
  for (const char* const target : {kDevices, "/api/v1alpha1/clusters/pod1", "/api/v1alpha1/events?watch=1"}) {
    const Reply reply = stranger.get(target);
    EXPECT_EQ(reply.status, 401) << target;
    EXPECT_EQ(reply.headers.at("WWW-Authenticate"), "Bearer");
  }
  EXPECT_EQ(client().post(kCordon, kReason).status, 401) << "from this machine as from any";
  EXPECT_EQ(client("wrong").get(kDevices).status, 401);
  for (const char* const open : {"/healthz", "/readyz", "/openapi.json"})
    EXPECT_EQ(client().get(open).status, 200) << open;
  EXPECT_TRUE(desk_.actions().empty());
  EXPECT_TRUE(audited().empty());
}

TEST_F(ApiServerTest, LetsEachRoleDoWhatItMayAndNoMore) {
  start();
  for (const ActionRow& action : actions()) {
    const std::string name = action.kind == Kind::cluster  ? "pod1"
                             : action.kind == Kind::device ? "gpu1"
                                                           : "3f2a";
    const std::string target = "/api/v1alpha1/" + std::string(row_of(action.kind).plural) + "/" + name + ":" +
                               std::string(action.word);
    for (const Role role : {Role::viewer, Role::operator_, Role::admin}) {
      const std::size_t before = desk_.actions().size();
      const Reply reply = client(std::string(to_string(role))).post(target, kReason);
      const bool may = role >= action.role;
      EXPECT_EQ(reply.status, may ? 200 : 403) << target << " " << to_string(role) << " " << reply.body;
      EXPECT_EQ(desk_.actions().size(), before + (may ? 1 : 0));
      EXPECT_EQ(audited().back()["code"], may ? 200 : 403);
    }
    EXPECT_EQ(desk_.actions().back().verb, action.verb);
    EXPECT_EQ(desk_.actions().back().name, name);
    EXPECT_EQ(desk_.actions().back().by.who, "admin the-admin");
  }
}

TEST_F(ApiServerTest, RecordsAnActionBeforeAndAfterIt) {
  start();
  ASSERT_EQ(
      client("operator")
          .post("/api/v1alpha1/revisions/3f2a:approve", R"({"steps":["sha256:aabb"],"reason":"window"})")
          .status,
      200);
  desk_.answers(Error{ErrorKind::conflict, "none of these steps waits"});
  const Reply refused = client("operator").post("/api/v1alpha1/revisions/3f2a:approve", "{}");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(Json::parse(refused.body)["message"], "none of these steps waits");
  const auto lines = audited();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0]["stage"], "RequestReceived");
  EXPECT_EQ(lines[0]["steps"], Json::array({"sha256:aabb"}));
  EXPECT_EQ(lines[0]["id"], lines[1]["id"]);
  EXPECT_NE(lines[0]["id"], lines[2]["id"]);
  EXPECT_EQ(lines[1]["outcome"], "done");
  EXPECT_EQ(lines[1]["from"], "127.0.0.1");
  EXPECT_EQ(lines[3]["outcome"], "none of these steps waits");
  EXPECT_EQ(lines[3]["code"], 409);
}

TEST_F(ApiServerTest, DoesNothingThatItCanNotRecord) {
  start();
  ASSERT_EQ(::unlink(folder_.file("audit").c_str()), 0);
  ASSERT_EQ(::mkdir(folder_.file("audit").c_str(), 0700), 0);
  const Reply reply = client("operator").post(kCordon, kReason);
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find("audit log can't be written"), std::string::npos);
  EXPECT_TRUE(desk_.actions().empty());
  EXPECT_EQ(client("viewer").get(kDevices).status, 200) << "reading goes on";
}

TEST_F(ApiServerTest, WithdrawsAnActionThatTheEngineDoesNotTake) {
  settings_.limits.requests.action_time = std::chrono::milliseconds(200);
  desk_.answers(std::nullopt);
  start();
  const Reply reply = client("operator").post(kCordon, kReason);
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find("nothing was done"), std::string::npos);
  EXPECT_EQ(audited().back()["code"], 503);
  EXPECT_FALSE(desk_.begin()) << "nor is it done later";
}

TEST_F(ApiServerTest, WaitsForWhatTheEngineHasBegun) {
  settings_.limits.requests.action_time = std::chrono::milliseconds(200);
  desk_.answers(std::nullopt);
  start();
  Reply reply;
  std::jthread other([&] { reply = client("operator").post(kCordon, kReason); });
  ASSERT_TRUE(soon_holds([&] { return !desk_.actions().empty(); }));
  ASSERT_TRUE(desk_.begin());
  const auto late = std::chrono::steady_clock::now() + 2 * settings_.limits.requests.action_time;
  ASSERT_TRUE(soon_holds([&] { return std::chrono::steady_clock::now() > late; }));
  desk_.finish(Done{});
  other.join();
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(audited().back()["outcome"], "done");
}

TEST_F(ApiServerTest, RefusesBodiesThatAreNotAnActions) {
  start();
  const auto status = [&](const std::string& body, const std::string& headers) {
    return client("operator").post(kCordon, body, headers).status;
  };
  const std::string json = "Content-Type: application/json\r\n";
  EXPECT_EQ(status(kReason, ""), 415);
  EXPECT_EQ(status(kReason, "Content-Type: application/x-www-form-urlencoded\r\n"), 415);
  EXPECT_EQ(status(kReason, json + "Content-Encoding: gzip\r\n"), 415);
  EXPECT_EQ(status("{", json), 400);
  EXPECT_EQ(status("{}", json), 400);
  EXPECT_EQ(status(std::string(settings_.limits.requests.body_max + 1, ' '), json), 413);
  EXPECT_EQ(client("operator").post("/api/v1alpha1/devices/gpu9:cordon", kReason).status, 404);
  EXPECT_EQ(client("operator").post("/api/v1alpha1/clusters/pod2:suspend", kReason).status, 404);
  EXPECT_EQ(client("operator").post("/api/v1alpha1/revisions/ffff:reject", kReason).status, 404);
  ApiClient chunked = client("operator");
  chunked.send("POST " + std::string(kCordon) + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer operator\r\n" +
               json + "Transfer-Encoding: chunked\r\n\r\n");
  const std::string piece(1 << 16, ' ');
  for (int i = 0; i < 17 && chunked.send("10000\r\n" + piece + "\r\n"); ++i) {
  }
  EXPECT_EQ(chunked.reply().status, 413) << "also where no length says so before";
  ApiClient broken = client("operator");
  broken.send("POST " + std::string(kCordon) + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer operator\r\n" +
              json + "Transfer-Encoding: chunked\r\n\r\nzz\r\n");
  EXPECT_EQ(broken.reply().status, 400);
  ApiClient cut = client("operator");
  cut.send("POST " + std::string(kCordon) + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer operator\r\n" +
           json + "Content-Length: 20\r\n\r\n{\"reason\": \"");
  ::shutdown(cut.socket(), SHUT_WR);
  EXPECT_TRUE(cut.is_ended());
  EXPECT_TRUE(desk_.actions().empty());
}

TEST_F(ApiServerTest, SaysThatABodyMayComeWhereAClientAsks) {
  start();
  ApiClient one = client();
  one.send("POST " + std::string(kCordon) + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer operator\r\n" +
           "Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: " +
           std::to_string(std::string(kReason).size()) + "\r\n\r\n");
  EXPECT_EQ(one.head().status, 100);
  one.send(kReason);
  EXPECT_EQ(one.reply().status, 200);
}

TEST_F(ApiServerTest, WakesTheFetchForASignedDelivery) {
  settings_.webhook_secrets = {{Forge::github, folder_.write("github", "It's a Secret to Everybody\n")},
                               {Forge::gitlab, folder_.write("gitlab", "s3cr3t")}};
  start();
  const std::string signed_ =
      "X-Hub-Signature-256: sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17\r\n";
  EXPECT_EQ(client().post("/webhooks/github", "Hello, World!", signed_).status, 202);
  EXPECT_EQ(desk_.fetches(), 1);
  EXPECT_EQ(client().post("/webhooks/github", "Hello, World", signed_).status, 401);
  EXPECT_EQ(client().post("/webhooks/github", "Hello, World!", "").status, 401);
  EXPECT_EQ(client().post("/webhooks/gitlab", "{\"deep\": [[[[", "X-Gitlab-Token: s3cr3t\r\n").status, 202)
      << "nothing of it is read";
  EXPECT_EQ(client().post("/webhooks/gitlab", "", "X-Gitlab-Token: s3cr3\r\n").status, 401);
  EXPECT_EQ(client().post("/webhooks/gitea", "", "X-Gitea-Signature: 00\r\n").status, 404)
      << "it has no secret";
  EXPECT_EQ(desk_.fetches(), 2);
  folder_.write("gitlab", "another");
  EXPECT_TRUE(soon_holds(
      [&] { return client().post("/webhooks/gitlab", "", "X-Gitlab-Token: another\r\n").status == 202; }));
  EXPECT_EQ(client().post("/webhooks/gitlab", "", "X-Gitlab-Token: s3cr3t\r\n").status, 401);
}

TEST_F(ApiServerTest, IsReadyWhenTheServiceCanWork) {
  start();
  EXPECT_EQ(client().get("/readyz").status, 200);
  ServiceStatus status = quiet_status();
  status.leads = false;
  desk_.set(status);
  EXPECT_EQ(client().get("/readyz").status, 200) << "it follows";
  const std::vector<std::pair<const char*, std::function<void(ServiceStatus&)>>> cases{
      {"[-]source", [](ServiceStatus& s) { s.source.fetched.reset(); }},
      {"[-]specs", [](ServiceStatus& s) { s.cluster.clear(); }},
      {"[-]record", [](ServiceStatus& s) { s.record_trouble = "/secret/path: disk full"; }}};
  for (const auto& [check, change] : cases) {
    status = quiet_status();
    change(status);
    desk_.set(status);
    const Reply reply = client().get("/readyz");
    EXPECT_EQ(reply.status, 503) << check;
    EXPECT_NE(reply.body.find(check), std::string::npos) << reply.body;
    EXPECT_EQ(reply.body.find("secret"), std::string::npos) << "it is for anybody to read";
  }
}

}  // namespace
}  // namespace lockstep::api
