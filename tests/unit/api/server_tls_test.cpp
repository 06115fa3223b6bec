// The API by TLS 1.3, with users' certificates of a cluster's own authority.
#include "reconciler/pki/authority.hpp"
#include "server_fixture.hpp"

namespace lockstep::api {
namespace {

class ApiTlsTest : public ApiServerTest {
 protected:
  ApiTlsTest() {
    EXPECT_TRUE(make_authority(ca_, "pod1", now()));
    settings_.tls = issued({.role = PeerRole::service, .name = "api"});
  }
  static std::chrono::sys_seconds now() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  }
  TlsFiles issued(CertificateRequest request, std::chrono::sys_seconds at = now(),
                  const std::string& ca = "") {
    const std::string from = ca.empty() ? ca_ : ca;
    const auto one = issue_certificate(from, request, at);
    EXPECT_TRUE(one) << (one ? "" : one.error().text());
    return one ? TlsFiles{from + "/ca.crt", one->certificate, one->key, from + "/ca.crl"} : TlsFiles{};
  }
  TlsFiles user(PeerRole role, const std::string& name) { return issued({.role = role, .name = name}); }

  const std::string ca_ = folder_.file("ca");
};

TEST_F(ApiTlsTest, KnowsUsersByTheirCertificates) {
  start();
  const std::string resume = "/api/v1alpha1/clusters/pod1:resume";
  EXPECT_EQ(ApiClient(port(), user(PeerRole::viewer, "vic")).get("/api/v1alpha1/devices").status, 200);
  EXPECT_EQ(ApiClient(port(), user(PeerRole::operator_, "olga")).post(resume, "{}").status, 403);
  EXPECT_EQ(ApiClient(port(), user(PeerRole::admin, "ada")).post(resume, "{}").status, 200);
  EXPECT_EQ(audited().back()["who"], "ada");
  EXPECT_EQ(audited().back()["credential"], "certificate");
  for (const PeerRole role : {PeerRole::controller, PeerRole::reader}) {
    const Reply reply =
        ApiClient(port(), user(role, role == PeerRole::reader ? "rea" : "ctl")).get("/api/v1alpha1/devices");
    EXPECT_EQ(reply.status, 401);
    EXPECT_NE(reply.body.find("is not for a viewer, operator or admin"), std::string::npos) << reply.body;
  }
}

TEST_F(ApiTlsTest, KnowsTokensWithoutACertificateToo) {
  start();
  const TlsFiles nobody;
  EXPECT_EQ(ApiClient(port(), nobody).as("viewer").get("/api/v1alpha1/devices").status, 200);
  EXPECT_EQ(ApiClient(port(), nobody).get("/api/v1alpha1/devices").status, 401);
  ApiClient plain(port());
  plain.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(plain.reply().status, 0) << "nothing is served without TLS";
}

TEST_F(ApiTlsTest, RefusesCertificatesOfOthersAndOldOnes) {
  start();
  ASSERT_TRUE(make_authority(folder_.file("other"), "pod1", now()));
  const TlsFiles foreign = issued({.role = PeerRole::admin, .name = "ada"}, now(), folder_.file("other"));
  EXPECT_EQ(ApiClient(port(), foreign).get("/api/v1alpha1/devices").status, 0);
  const TlsFiles expired = issued({.role = PeerRole::admin, .name = "old", .life = std::chrono::days(1)},
                                  now() - std::chrono::days(2));
  EXPECT_EQ(ApiClient(port(), expired).get("/api/v1alpha1/devices").status, 0);
  EXPECT_TRUE(soon_holds([&] { return said().find("refused: ") != std::string::npos; }));
}

TEST_F(ApiTlsTest, IsForUsersOfItsClusterAlone) {
  settings_.cluster = "pod2";
  start();
  const Reply reply = ApiClient(port(), user(PeerRole::admin, "ada")).get("/api/v1alpha1/devices");
  EXPECT_EQ(reply.status, 401);
  EXPECT_NE(reply.body.find("is for cluster pod1, not pod2"), std::string::npos) << reply.body;
}

TEST_F(ApiTlsTest, EndsAWatchWhenItsCertificateIsRevoked) {
  start();
  const TlsFiles files = user(PeerRole::viewer, "vic");
  ApiClient watching(port(), files);
  ApiClient waiting(port(), files);
  EXPECT_EQ(waiting.get("/api/v1alpha1/devices").status, 200);
  watching.send("GET /api/v1alpha1/devices?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(watching.head().status, 200);
  (void)watching.events_until("BOOKMARK");
  ASSERT_TRUE(revoke_certificates(ca_, {files.certificate}, now()));
  const std::string last = watching.events_until("nothing like it");
  EXPECT_NE(last.find("revoked"), std::string::npos) << last;
  EXPECT_EQ(waiting.get("/api/v1alpha1/devices").status, 401) << "on its open connection, too";
  EXPECT_EQ(ApiClient(port(), files).get("/api/v1alpha1/devices").status, 0);
}

TEST_F(ApiTlsTest, EndsAWatchWhenItsCertificateExpires) {
  settings_.limits.heartbeat =
      std::chrono::hours(1);  // one that does not end is silent, and the client gives up
  start();
  const std::chrono::days life(1);
  const TlsFiles files = issued({.role = PeerRole::viewer, .name = "brief", .life = life},
                                now() - life + std::chrono::seconds(4));
  ApiClient watching(port(), files);
  ApiClient waiting(port(), files);
  EXPECT_EQ(waiting.get("/api/v1alpha1/devices").status, 200);
  watching.send("GET /api/v1alpha1/devices?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(watching.head().status, 200);
  EXPECT_NE(watching.events_until("BOOKMARK").find("BOOKMARK"), std::string::npos);
  const std::string last = watching.events_until("nothing like it");
  EXPECT_NE(last.find("event: ERROR"), std::string::npos) << last;
  EXPECT_NE(last.find("expired"), std::string::npos) << last;
  EXPECT_TRUE(watching.is_ended());
  const Reply refused = waiting.get("/api/v1alpha1/devices");
  EXPECT_EQ(refused.status, 401) << "on its open connection, too";
  EXPECT_NE(refused.body.find("expired"), std::string::npos) << refused.body;
}

TEST_F(ApiTlsTest, LimitsHandshakesThatAreNotFinished) {
  settings_.limits.handshakes_max = 2;
  settings_.limits.handshake_time = std::chrono::hours(1);
  start();
  const TlsFiles files = user(PeerRole::viewer, "vic");
  ApiClient there(port(), files);
  EXPECT_EQ(there.get("/healthz").status, 200);
  std::vector<ApiClient> silent;
  for (int i = 0; i < 2; ++i) silent.emplace_back(port());
  EXPECT_FALSE(ApiClient(port(), files));
  EXPECT_NE(said().find("127.0.0.1: closed: too many connections without a finished TLS handshake"),
            std::string::npos)
      << said();
  EXPECT_EQ(there.get("/healthz").status, 200) << "one that is finished does not count";
  silent.pop_back();
  EXPECT_TRUE(soon_holds([&] { return ApiClient(port(), files).get("/healthz").status == 200; }));
}

TEST_F(ApiTlsTest, CutsOffWhoDoesNotFinishAHandshake) {
  settings_.limits.handshakes_max = 2;
  settings_.limits.handshake_time = std::chrono::milliseconds(200);
  start();
  const TlsFiles files = user(PeerRole::viewer, "vic");
  ApiClient silent(port());
  ApiClient half(port());
  ASSERT_TRUE(half.send("\x16\x03\x01\x02"));
  EXPECT_TRUE(silent.is_ended());
  EXPECT_TRUE(half.is_ended());
  EXPECT_TRUE(soon_holds([&] { return ApiClient(port(), files).get("/healthz").status == 200; }));
}

TEST_F(ApiTlsTest, ShowsARenewedCertificateToWhoComesAndKeepsWhoIsThere) {
  start();
  const TlsFiles files = user(PeerRole::viewer, "vic");
  ApiClient there(port(), files);
  const std::string first = there.certificate();
  ASSERT_FALSE(first.empty());
  const TlsFiles renewed = issued({.role = PeerRole::service, .name = "api", .renew = true});
  ASSERT_EQ(renewed.certificate, settings_.tls->certificate);
  EXPECT_TRUE(soon_holds([&] {
    ApiClient coming(port(), files);
    return coming.get("/api/v1alpha1/devices").status == 200 && coming.certificate() != first;
  }));
  EXPECT_EQ(there.get("/api/v1alpha1/devices").status, 200);
}

}  // namespace
}  // namespace lockstep::api
