// Requests, lists and actions: against the API's own server, and against servers that misbehave.
#include "reconciler/client/service_client.hpp"

#include <gtest/gtest.h>

#include "expect_in.hpp"
#include "reconciler/pki/authority.hpp"
#include "scripted_server.hpp"
#include "tests/unit/api/server_fixture.hpp"

namespace lockstep::client {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using Script = ScriptedServer;

constexpr Patience kQuick{.again = milliseconds(1)};

ServiceClient client_of(Endpoint endpoint, Patience patience = kQuick) {
  auto out = ServiceClient::open(std::move(endpoint), patience);
  EXPECT_TRUE(out);
  return *std::move(out);
}
ServiceClient client_at(const std::string& address) { return client_of({.server = *parse_server(address)}); }

std::string why(const Result<Json>& result) {
  return result ? "it succeeds: " + result->dump() : result.error().text();
}
class ClientTest : public api::ApiServerTest {
 protected:
  ClientTest() { settings_.listen = {"unix:" + folder_.file("run/api.sock"), "127.0.0.1:0"}; }
  std::string socket() const { return settings_.listen[0]; }
  // Over TCP, with the token of that role.
  ServiceClient as(const std::string& role) {
    return client_of({.server = *parse_server("http://127.0.0.1:" + std::to_string(server_->port(1))),
                      .token_file = role.empty() ? "" : folder_.write("token-" + role, role + "\n")});
  }
  void set_devices(std::size_t count) {
    std::vector<std::pair<NamedDevice, std::optional<DeviceStatus>>> devices;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = "gpu" + std::to_string(10'000 + i);
      devices.push_back({{name, "host", ""}, api::device_status(name, true, i % 2, 5)});
    }
    ServiceStatus status = api::quiet_status();
    status.devices = api::snapshot_of(devices);
    desk_.set(status);
    turn();
  }
};

TEST_F(ClientTest, ReadsAWholeListOfSeveralPages) {
  set_devices(1203);
  start();
  ServiceClient client = client_at(socket());
  const Result<Json> all = client.list(device_kind(), {}, {});
  ASSERT_TRUE(all) << why(all);
  ASSERT_EQ((*all)["items"].size(), 1203U);
  for (std::size_t i = 0; i < 1203; ++i)
    ASSERT_EQ((*all)["items"][i]["metadata"]["name"], "gpu" + std::to_string(10'000 + i));
  EXPECT_EQ((*all)["kind"], "DeviceList");
  EXPECT_FALSE((*all)["metadata"].contains("continue"));
  EXPECT_EQ((*client.list(device_kind(), {.limit = 501}, {}))["items"].size(), 501U);
  const auto drifted = client.list(
      device_kind(), {.labels = "lockstep.dev/role in (host,leaf)", .fields = "status.differences=1"}, {});
  ASSERT_TRUE(drifted) << why(drifted);
  EXPECT_EQ((*drifted)["items"].size(), 601U);
}

TEST_F(ClientTest, FindsObjectsAndRevisionsByTheirStart) {
  desk_.set(api::full_status());
  turn();
  start();
  ServiceClient client = client_at(socket());
  EXPECT_EQ((*client.object(device_kind(), "leaf0", {}))["metadata"]["name"], "leaf0");
  expect_in(why(client.object(device_kind(), "gpu9", {})), "devices \"gpu9\" not found");
  expect_in(why(client.object(device_kind(), "../clusters", {})), "not found");
  EXPECT_EQ((*client.object(revision_kind(), "9c0", {}))["spec"]["source"], "9c01ff");
  EXPECT_EQ((*client.object(revision_kind(), "3f2a41", {}))["metadata"]["name"], "3f2a41")
      << "its whole name";
  expect_in(why(client.object(revision_kind(), "3f", {})), "more than one revision begins with '3f'");
  expect_in(why(client.object(revision_kind(), "77", {})), "no revision begins with '77'");
  EXPECT_EQ(*client.cluster_name({}), "pod1");
}

TEST_F(ClientTest, ActsAndPassesOnWhatTheServiceSays) {
  start();
  ServiceClient client = client_at(socket());
  const Result<Json> done = client.act(device_kind(), "leaf0", "cordon", {{"reason", "optics, \"new\""}}, {});
  ASSERT_TRUE(done) << why(done);
  EXPECT_EQ((*done)["status"], "Success");
  ASSERT_EQ(desk_.actions().size(), 1U);
  EXPECT_EQ(desk_.actions()[0].name, "leaf0");
  EXPECT_EQ(desk_.actions()[0].by.reason, "optics, \"new\"");
  expect_in(why(client.act(device_kind(), "leaf0", "cordon", Json::object(), {})), "'reason' is missing");
  desk_.answers(Error{ErrorKind::conflict, "none of these steps waits"});
  const Result<Json> conflict = client.act(device_kind(), "leaf0", "uncordon", Json::object(), {});
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().kind, ErrorKind::conflict);
  expect_in(why(conflict), "none of these steps waits");
}

TEST_F(ClientTest, SaysWhoItIsByATokenOfAFile) {
  start();
  EXPECT_TRUE(as("viewer").list(device_kind(), {}, {}));
  const Result<Json> refused = as("viewer").act(cluster_kind(), "pod1", "reconcile", Json::object(), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::denied);
  expect_in(why(refused), "viewer the-viewer may not reconcile: this needs the role operator");
  expect_in(why(as("").list(device_kind(), {}, {})), "does not know who you are");
  expect_in(why(as("stranger").list(device_kind(), {}, {})), "does not know who you are");
  const std::string open = folder_.write("open", "viewer", 0644);
  ServiceClient client = client_of({.server = *parse_server("http://127.0.0.1:1"), .token_file = open});
  expect_in(why(client.list(device_kind(), {}, {})), "chmod 600 " + open);
  folder_.write("two", "viewer\r\nX-Other: 1\n");
  client = client_of({.server = *parse_server("http://127.0.0.1:1"), .token_file = folder_.file("two")});
  expect_in(why(client.list(device_kind(), {}, {})), "is not a token in one line");
}

TEST_F(ClientTest, SaysWhyNobodyAnswers) {
  expect_in(why(client_at("unix:" + folder_.file("none")).list(device_kind(), {}, {})),
            "No such file or directory); `lockstep serve` is one");
  start();
  const std::string address = "http://127.0.0.1:" + std::to_string(server_->port(1));
  server_.reset();
  expect_in(why(client_at(address).list(device_kind(), {}, {})), "can't reach the service at " + address);
  expect_in(why(client_at("https://no-such-host.invalid").list(device_kind(), {}, {})),
            "can't reach the service");
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = client_at(address).list(device_kind(), {}, {.stop = stop.get_token()});
  EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
}

TEST_F(ClientTest, GetsAPlanOrWhatIsWrongWithTheSpecs) {
  api::PlannedProposal answer{true, R"({"kind": "Plan", "steps": []})"};
  std::map<std::string, std::string> files;
  settings_.planner = [&](const api::ProposedSpecs& specs, const ServiceStatus&,
                          const Call&) -> Result<api::PlannedProposal> {
    files = specs.files;
    return answer;
  };
  start();
  const Json body{{"files", {{"a.yaml", "x: \"1\"\n"}}}};
  const Result<Json> plan = as("viewer").plan(body, {});
  ASSERT_TRUE(plan) << why(plan);
  EXPECT_EQ((*plan)["kind"], "Plan");
  EXPECT_EQ(files.at("a.yaml"), "x: \"1\"\n");
  answer = {false, R"({"kind": "Error", "errors": [{"code": "LS1004"}]})"};
  const Result<Json> wrong = as("viewer").plan(body, {});
  ASSERT_TRUE(wrong) << why(wrong);
  EXPECT_EQ((*wrong)["errors"][0]["code"], "LS1004");
  expect_in(why(as("viewer").plan({{"files", {{"../a", ""}}}}, {})), "must not lead out of the folder");
}

class ClientTlsTest : public ClientTest {
 protected:
  ClientTlsTest() {
    EXPECT_TRUE(make_authority(ca_, "pod1", now()));
    settings_.listen = {"127.0.0.1:0"};
    settings_.tls = issued({.role = PeerRole::service, .name = "api", .addresses = {"127.0.0.1"}}, ca_);
  }
  static std::chrono::sys_seconds now() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  }
  TlsFiles issued(CertificateRequest request, const std::string& ca, std::chrono::sys_seconds at = now()) {
    const auto one = issue_certificate(ca, request, at);
    EXPECT_TRUE(one) << (one ? "" : one.error().text());
    return one ? TlsFiles{ca + "/ca.crt", one->certificate, one->key, ca + "/ca.crl"} : TlsFiles{};
  }
  // As the owner of these files.
  Result<Json> devices(const TlsFiles& files, const std::string& token = "",
                       const std::string& host = "127.0.0.1") {
    Endpoint endpoint{.server = *parse_server("https://" + host + ":" + std::to_string(port()))};
    endpoint.ca = files.ca;
    endpoint.certificate = files.certificate;
    endpoint.key = files.key;
    endpoint.token_file = token;
    return client_of(std::move(endpoint)).list(device_kind(), {}, {});
  }

  const std::string ca_ = folder_.file("ca");
};

TEST_F(ClientTlsTest, KnowsTheServiceAndIsKnown) {
  start();
  EXPECT_TRUE(devices(issued({.role = PeerRole::viewer, .name = "vic"}, ca_)));
  const TlsFiles nobody{.ca = ca_ + "/ca.crt", .certificate = "", .key = "", .revoked = ""};
  EXPECT_TRUE(devices(nobody, folder_.write("token", "viewer\n")));
  expect_in(why(devices(nobody)), "does not know who you are");
}

TEST_F(ClientTlsTest, BelievesItsOwnAuthorityAndTheRightNameAlone) {
  start();
  ASSERT_TRUE(make_authority(folder_.file("other"), "pod1", now()));
  const std::string token = folder_.write("token", "viewer\n");
  const TlsFiles other{.ca = folder_.file("other") + "/ca.crt", .certificate = "", .key = "", .revoked = ""};
  Result<Json> refused = devices(other, token);
  expect_in(why(refused), "its certificate is not accepted");
  expect_in(why(refused), other.ca);
  EXPECT_EQ(refused.error().kind, ErrorKind::denied);
  expect_in(why(devices({}, token)), "the system's authorities (`ca` of a context names others)");
  expect_in(
      why(devices({.ca = ca_ + "/ca.crt", .certificate = "", .key = "", .revoked = ""}, token, "localhost")),
      "its certificate is not accepted");
  expect_in(why(devices({.ca = folder_.file("none"), .certificate = "", .key = "", .revoked = ""}, token)),
            folder_.file("none"));
  EXPECT_EQ(said().find("viewer"), std::string::npos);
}

TEST_F(ClientTlsTest, SaysWhichCertificateIsRefused) {
  start();
  const TlsFiles old = issued({.role = PeerRole::admin, .name = "old", .life = std::chrono::days(1)}, ca_,
                              now() - std::chrono::days(2));
  expect_in(why(devices(old)), "refuses the certificate " + old.certificate);
  TlsFiles open = issued({.role = PeerRole::viewer, .name = "vic"}, ca_);
  ::chmod(open.key.c_str(), 0644);
  expect_in(why(devices(open)), "private key is accessible to others");
  ::chmod(open.key.c_str(), 0600);
  open.certificate = old.certificate;
  expect_in(why(devices(open)), open.key);
}

TEST_F(ClientTlsTest, SaysThatTheCertificateOfTheServiceHasExpired) {
  settings_.tls = issued(
      {.role = PeerRole::service, .name = "old", .addresses = {"127.0.0.1"}, .life = std::chrono::days(1)},
      ca_, now() - std::chrono::days(2));
  start();
  const Result<Json> refused = devices(issued({.role = PeerRole::viewer, .name = "vic"}, ca_));
  ASSERT_FALSE(refused);
  expect_in(why(refused), "its certificate is not accepted");
  expect_in(why(refused), "expired");
  EXPECT_EQ(refused.error().kind, ErrorKind::denied) << "trying again is of no use";
}

TEST_F(ClientTlsTest, SaysThatOneSideWantsTls) {
  start();
  const std::string plain = "http://127.0.0.1:" + std::to_string(port());
  expect_in(why(client_at(plain).list(device_kind(), {}, {})), plain);
  settings_.tls.reset();
  server_.reset();
  start();
  expect_in(why(devices({})), "no TLS 1.3 connection");
}

// Of a page with one device, and a token if there is another.
std::string page(const std::string& name, const std::string& next) {
  return Script::json(
      200,
      R"({"apiVersion":"lockstep.dev/v1alpha1","kind":"DeviceList","metadata":{"resourceVersion":"e-1")" +
          (next.empty() ? "" : R"(,"continue":")" + next + "\"") + R"(},"items":[{"metadata":{"name":")" +
          name + "\"}}]}");
}

TEST(ClientAgainstScripts, ReadsAListAnewWhereItsPagesAreGone) {
  const Script server(
      {page("old", "t&1"), Script::failure(410, "list anew"), page("new1", "t2"), page("new2", "")});
  const auto all = client_at(server.address()).list(device_kind(), {}, {});
  ASSERT_TRUE(all) << why(all);
  ASSERT_EQ((*all)["items"].size(), 2U);
  EXPECT_EQ((*all)["items"][0]["metadata"]["name"], "new1");
  expect_in(server.requests()[1], "&continue=t%261 ");
  const Script never({page("a", "t"), Script::failure(410, "list anew"), page("a", "t"),
                      Script::failure(410, "list anew"), page("a", "t"), Script::failure(410, "list anew")});
  EXPECT_EQ(client_at(never.address()).list(device_kind(), {}, {}).error().kind, ErrorKind::conflict);
}

TEST(ClientAgainstScripts, TriesAReadAgainAndAnActionNever) {
  const Script busy(
      {Script::failure(429, "too many requests"), Script::failure(429, "too many requests"), page("a", "")});
  EXPECT_TRUE(client_at(busy.address()).list(device_kind(), {}, {}));
  EXPECT_EQ(busy.requests().size(), 3U);
  const std::vector<std::string> often(10, Script::failure(429, "too many requests"));
  const Script always(often);
  expect_in(why(client_at(always.address()).list(device_kind(), {}, {})), "too many requests");
  EXPECT_EQ(always.requests().size(), 4U);
  const Script once(often);
  expect_in(why(client_at(once.address()).act(cluster_kind(), "c", "reconcile", Json::object(), {})),
            "too many requests");
  EXPECT_EQ(once.requests().size(), 1U);
}

TEST(ClientAgainstScripts, WaitsForTheTurnOfAPlan) {
  const std::string clusters = Script::json(
      200,
      R"({"apiVersion":"lockstep.dev/v1alpha1","kind":"ClusterList","metadata":{},"items":[{"metadata":{"name":"c"}}]})");
  const std::string busy = Script::failure(429, "other plans", "Retry-After: 0\r\n");
  const Script server({clusters, busy, busy, busy, busy, busy, Script::json(200, R"({"kind":"Plan"})")});
  const auto plan = client_at(server.address()).plan({{"files", {}}}, {});
  ASSERT_TRUE(plan) << why(plan);
  ASSERT_EQ(server.requests().size(), 7U);
  expect_in(server.requests()[6], "POST /api/v1alpha1/clusters/c:plan HTTP/1.1");
  const Script old({clusters, Script::failure(404, "clusters \"c:plan\" not found")});
  expect_in(why(client_at(old.address()).plan({}, {})), "not found");
  for (const std::string& odd : {Script::json(200, "[]"), Script::json(200, R"({"kind":"Error"})"),
                                 Script::json(422, R"({"kind":"Plan"})")}) {
    const Script other({clusters, odd});
    EXPECT_FALSE(client_at(other.address()).plan({}, {}));
  }
}

TEST(ClientAgainstScripts, KnowsWhatIsNoService) {
  const std::vector<std::string> others{
      "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>router</html>",
      "HTTP/1.1 502 Bad\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>proxy</html>",
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
      "SSH-2.0-OpenSSH_9.2p1\r\n",
      Script::json(200, R"({"apiVersion":"v1","kind":"PodList","metadata":{},"items":[]})"),
      Script::json(200, "[]"),
      Script::json(200, R"({"apiVersion":"lockstep.dev/v1alpha1","kind":"DeviceList"})"),
      Script::json(200, "{" + std::string(100'000, '['))};
  for (const std::string& one : others) {
    const Script server({one});
    const auto all = client_at(server.address()).list(device_kind(), {}, {});
    expect_in(why(all), "is not a Lockstep service");
    EXPECT_EQ(server.requests().size(), 1U);
  }
  const Script silent({""});
  expect_in(why(client_at(silent.address()).list(device_kind(), {}, {})), "without an answer");
  const Script cut(
      {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{\"api"});
  EXPECT_FALSE(client_at(cut.address()).list(device_kind(), {}, {}));
}

TEST(ClientAgainstScripts, SaysThatItDoesNotKnowWhatBecameOfAnAction) {
  const Script server({""});
  const auto lost = client_at(server.address()).act(cluster_kind(), "c", "suspend", {{"reason", "x"}}, {});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, ErrorKind::unknown_outcome);
  ASSERT_EQ(server.requests().size(), 1U);
  expect_in(server.requests()[0], "POST /api/v1alpha1/clusters/c:suspend HTTP/1.1");
  expect_in(server.requests()[0], "\r\n\r\n{\"reason\":\"x\"}");
}

// An answer that does not come: the time is the test's.
TEST(ClientAgainstScripts, EndsByItsDeadline) {
  const Script server({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"});
  ServiceClient client = client_of({.server = *parse_server(server.address())}, {.answer = milliseconds(0)});
  expect_in(why(client.list(device_kind(), {}, {})), "in time");
}

}  // namespace
}  // namespace lockstep::client
