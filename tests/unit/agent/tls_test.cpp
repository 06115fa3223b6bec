// Handshakes in memory: one end is the product's, the other OpenSSL with hand-made settings, which checks
// nothing unless a test says so.

#include "drivers/agent/tls.hpp"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "tests/unit/agent/pki.hpp"
#include "tests/unit/agent/server_test_client.hpp"

namespace lockstep {
namespace {

using std::chrono::hours;

struct FreeTls {
  void operator()(SSL* tls) const { SSL_free(tls); }
};
using OwnedTls = std::unique_ptr<SSL, FreeTls>;

TlsContext other_end(const TlsFiles& files, int version = TLS1_3_VERSION) {
  TlsContext out(SSL_CTX_new(TLS_method()));
  SSL_CTX_set_max_proto_version(out.get(), version);
  if (files.certificate.empty()) return out;
  EXPECT_EQ(SSL_CTX_use_certificate_chain_file(out.get(), files.certificate.c_str()), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey_file(out.get(), files.key.c_str(), SSL_FILETYPE_PEM), 1);
  return out;
}

// Both ends in one thread, joined by memory.
class Handshake {
 public:
  Handshake(SSL_CTX* client, SSL_CTX* server) : client_(SSL_new(client)), server_(SSL_new(server)) {
    BIO* one = nullptr;
    BIO* other = nullptr;
    EXPECT_EQ(BIO_new_bio_pair(&one, 0, &other, 0), 1);
    SSL_set_bio(client_.get(), one, one);
    SSL_set_bio(server_.get(), other, other);
    SSL_set_connect_state(client_.get());
    SSL_set_accept_state(server_.get());
    // A full handshake takes five; a client learns of a refusal only when it reads afterwards.
    for (int round = 0; round < 20; ++round) {
      step(client_.get(), client_failure_);
      step(server_.get(), server_failure_);
    }
  }
  SSL* client() const { return client_.get(); }
  SSL* server() const { return server_.get(); }
  const std::string& client_failure() const { return client_failure_; }
  const std::string& server_failure() const { return server_failure_; }
  bool finished() const {
    return SSL_is_init_finished(client()) == 1 && SSL_is_init_finished(server()) == 1 &&
           client_failure_.empty() && server_failure_.empty();
  }

 private:
  static void step(SSL* tls, std::string& failure) {
    if (!failure.empty()) return;
    ERR_clear_error();
    char byte = 0;
    const int done = SSL_is_init_finished(tls) == 1 ? SSL_read(tls, &byte, 1) : SSL_do_handshake(tls);
    if (done > 0) return;
    const int error = SSL_get_error(tls, done);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) failure = why_handshake_failed(tls);
  }
  OwnedTls client_;
  OwnedTls server_;
  std::string client_failure_;
  std::string server_failure_;
};

std::string day(std::chrono::seconds from_now) {
  const std::time_t at = std::time(nullptr) + static_cast<std::time_t>(from_now.count());
  std::string out(10, ' ');
  std::tm when{};
  ::gmtime_r(&at, &when);
  std::snprintf(out.data(), out.size() + 1, "%04d-%02d-%02d", when.tm_year + 1900, when.tm_mon + 1,
                when.tm_mday);
  return out;
}

class Tls : public ::testing::Test {
 protected:
  // Why the product's agent refuses this client; empty: it accepts it.
  std::string agent_refuses(const TlsFiles& client, int version = TLS1_3_VERSION,
                            const std::string& revoked = "") {
    TlsFiles own = device_;
    own.revoked = revoked;
    const auto server = tls_context(own, true);
    EXPECT_TRUE(server) << server.error().text();
    const TlsContext other = other_end(client, version);
    const Handshake both(other.get(), server->get());
    if (!both.server_failure().empty()) return both.server_failure();
    EXPECT_TRUE(both.finished()) << both.client_failure();
    const auto who = verify_controller(both.server(), "pod");
    return who ? "" : who.error().what;
  }
  // Why the product's controller refuses this server.
  std::string controller_refuses(const TlsFiles& server, const WantedPeer& wanted,
                                 int version = TLS1_3_VERSION, const std::string& revoked = "") {
    TlsFiles own = controller_;
    own.revoked = revoked;
    const auto client = tls_context(own, false);
    EXPECT_TRUE(client) << client.error().text();
    const TlsContext other = other_end(server, version);
    const Handshake both(client->get(), other.get());
    if (!both.client_failure().empty()) return both.client_failure();
    EXPECT_TRUE(both.finished()) << both.server_failure();
    const auto good = verify_agent(both.client(), wanted);
    return good ? "" : good.error().what;
  }
  TlsFiles issue(const std::string& uri, const CertificateForm& form = {}) {
    CertificateForm with = form;
    with.uris.push_back(uri);
    return ca_.issue("issued-" + std::to_string(++issued_), with);
  }

  TemporaryFolder folder_;
  TestCa ca_{folder_.path(), "pod CA", "ca"};
  TestCa other_ca_{folder_.path(), "other CA", "other-ca"};
  TlsFiles device_ = ca_.issue("gpu1", "lockstep://pod/device/gpu1");
  TlsFiles controller_ = ca_.issue("ops", "lockstep://pod/controller/ops");
  const WantedPeer gpu1_{.cluster = "pod", .device = "gpu1", .host = "127.0.0.1"};
  int issued_ = 0;
};

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(Tls, AcceptsEachOther) {
  const auto client = tls_context(controller_, false);
  const auto server = tls_context(device_, true);
  ASSERT_TRUE(client) << client.error().text();
  ASSERT_TRUE(server) << server.error().text();
  const Handshake both(client->get(), server->get());
  ASSERT_TRUE(both.finished()) << both.client_failure() << both.server_failure();
  for (const char* const host : {"127.0.0.1", "::1", "0:0:0:0:0:0:0:1", "localhost", "LocalHost"}) {
    const auto good = verify_agent(both.client(), {.cluster = "pod", .device = "gpu1", .host = host});
    EXPECT_TRUE(good) << host << ": " << good.error().text();
  }
  const auto who = verify_controller(both.server(), "pod");
  ASSERT_TRUE(who) << who.error().text();
  EXPECT_EQ(who->text(), "lockstep://pod/controller/ops");
  EXPECT_STREQ(SSL_get_version(both.client()), "TLSv1.3");
}

TEST_F(Tls, AcceptsReaderAndIntermediateCa) {
  EXPECT_EQ(agent_refuses(issue("lockstep://pod/reader/grafana")), "");
  TestCa below = ca_.intermediate("rack CA", "rack");
  EXPECT_EQ(agent_refuses(below.issue("rack-ops", "lockstep://pod/controller/rack-ops")), "");
  EXPECT_EQ(controller_refuses(below.issue("rack-gpu1", "lockstep://pod/device/gpu1"), gpu1_), "");
}

TEST_F(Tls, RefusesCertificateOfAnotherCa) {
  EXPECT_SAYS(agent_refuses(other_ca_.issue("x", "lockstep://pod/controller/ops")),
              "lockstep://pod/controller/ops was not signed by our CA, but by CN=other CA");
  EXPECT_SAYS(controller_refuses(other_ca_.issue("y", "lockstep://pod/device/gpu1"), gpu1_),
              "lockstep://pod/device/gpu1 was not signed by our CA, but by CN=other CA");
}

TEST_F(Tls, RefusesCertificateOfCaWithTheSameName) {
  TestCa forged(folder_.path(), "pod CA", "forged-ca");
  EXPECT_SAYS(agent_refuses(forged.issue("x", "lockstep://pod/controller/ops")), "was not signed by our CA");
  EXPECT_SAYS(controller_refuses(forged.issue("y", "lockstep://pod/device/gpu1"), gpu1_),
              "was not signed by our CA");
}

// A certificate of ours is no CA: what its holder signs is not believed.
TEST_F(Tls, RefusesCertificateSignedByDevice) {
  TestCa device = ca_.intermediate("gpu1", "gpu1-as-ca", false);
  EXPECT_SAYS(agent_refuses(device.issue("self", "lockstep://pod/controller/ops")),
              "the CA certificate CN=gpu1 is invalid: invalid CA certificate");
}

TEST_F(Tls, RefusesAnotherCluster) {
  EXPECT_SAYS(agent_refuses(issue("lockstep://lab/controller/ops")), "is for cluster lab, not pod");
  EXPECT_SAYS(controller_refuses(issue("lockstep://lab/device/gpu1"), gpu1_), "is for cluster lab, not pod");
}

TEST_F(Tls, RefusesAnotherDeviceAtTheSameAddress) {
  EXPECT_SAYS(controller_refuses(issue("lockstep://pod/device/gpu2"), gpu1_), "is for device gpu2, not gpu1");
  EXPECT_SAYS(controller_refuses(issue("lockstep://pod/device/gpu11"), gpu1_),
              "is for device gpu11, not gpu1");
}

TEST_F(Tls, RefusesDevicesCertificateAsController) {
  EXPECT_SAYS(agent_refuses(issue("lockstep://pod/device/gpu1")),
              "is for a device, not for a controller or reader");
  EXPECT_SAYS(controller_refuses(issue("lockstep://pod/controller/gpu1"), gpu1_), "is not for a device");
  EXPECT_SAYS(controller_refuses(issue("lockstep://pod/reader/gpu1"), gpu1_), "is not for a device");
}

TEST_F(Tls, RefusesHostThatTheCertificateDoesNotName) {
  const std::string uri = "lockstep://pod/device/gpu1";
  EXPECT_SAYS(controller_refuses(issue(uri, {.dns = {"gpu1.pod"}, .ips = {"10.0.0.1", "fd00::1"}}), gpu1_),
              "is for gpu1.pod, 10.0.0.1, fd00::1, not 127.0.0.1");
  EXPECT_SAYS(controller_refuses(issue(uri, {.dns = {}, .ips = {}, .common_name = "127.0.0.1"}), gpu1_),
              "is for no host, not 127.0.0.1");
  const WantedPeer by_name{.cluster = "pod", .device = "gpu1", .host = "gpu1.pod"};
  EXPECT_SAYS(controller_refuses(issue(uri), by_name), "not gpu1.pod");
  EXPECT_SAYS(controller_refuses(issue(uri, {.dns = {"*.pod"}}), by_name), "not gpu1.pod");
  const WantedPeer in_rack{.cluster = "pod", .device = "gpu1", .host = "gpu1.rack.pod"};
  EXPECT_SAYS(controller_refuses(issue(uri, {.dns = {"*.rack.pod"}}), in_rack), "not gpu1.rack.pod");
  EXPECT_SAYS(controller_refuses(issue(uri, {.dns = {}, .common_name = "gpu1.pod"}), by_name),
              "not gpu1.pod");
  EXPECT_SAYS(controller_refuses(issue(uri, {.dns = {std::string("gpu1.pod\0.evil", 14)}}), by_name),
              "not gpu1.pod");
  EXPECT_SAYS(controller_refuses(issue(uri, {.dns = {"127.0.0.1"}, .ips = {}}), gpu1_), "not 127.0.0.1");
  const WantedPeer nowhere{.cluster = "pod", .device = "gpu1", .host = ""};
  EXPECT_NE(controller_refuses(issue(uri), nowhere), "");
}

TEST_F(Tls, RefusesExpired) {
  const CertificateForm form{.from = -hours(72), .until = -hours(48)};
  EXPECT_SAYS(agent_refuses(issue("lockstep://pod/controller/ops", form)),
              "lockstep://pod/controller/ops expired on " + day(-hours(48)));
  EXPECT_SAYS(controller_refuses(issue("lockstep://pod/device/gpu1", form), gpu1_),
              "expired on " + day(-hours(48)));
}

TEST_F(Tls, RefusesNotYetValid) {
  const CertificateForm form{.from = hours(48), .until = hours(72)};
  EXPECT_SAYS(agent_refuses(issue("lockstep://pod/controller/ops", form)),
              "is not valid before " + day(hours(48)));
  EXPECT_SAYS(controller_refuses(issue("lockstep://pod/device/gpu1", form), gpu1_),
              "is not valid before " + day(hours(48)));
}

TEST_F(Tls, RefusesRevoked) {
  const TlsFiles ops = issue("lockstep://pod/controller/ops");
  const TlsFiles gpu1 = issue("lockstep://pod/device/gpu1");
  EXPECT_EQ(agent_refuses(ops), "");
  const std::string list = ca_.revoke({ops.certificate, gpu1.certificate});
  EXPECT_SAYS(agent_refuses(ops, TLS1_3_VERSION, list), "lockstep://pod/controller/ops was revoked");
  EXPECT_SAYS(controller_refuses(gpu1, gpu1_, TLS1_3_VERSION, list),
              "lockstep://pod/device/gpu1 was revoked");
  EXPECT_EQ(agent_refuses(controller_, TLS1_3_VERSION, list), "") << "is not on the list";
}

TEST_F(Tls, RefusesRevokedIntermediateCa) {
  TestCa below = ca_.intermediate("rack CA", "rack");
  const TlsFiles ops = below.issue("rack-ops", "lockstep://pod/controller/rack-ops");
  const std::string list = ca_.revoke({(folder_.path() / "rack.pem").string()});
  const std::string own = below.revoke({});
  ASSERT_EQ(std::system(("cat '" + own + "' >> '" + list + "'").c_str()), 0);
  EXPECT_SAYS(agent_refuses(ops, TLS1_3_VERSION, list), "the CA certificate CN=rack CA was revoked");
}

// A list that can't say who is revoked admits nobody.
TEST_F(Tls, RefusesWithoutCurrentRevocationList) {
  EXPECT_SAYS(agent_refuses(controller_, TLS1_3_VERSION, ca_.revoke({}, -hours(48))),
              "the revocation list (CRL) of CN=pod CA expired on " + day(-hours(48)));
  EXPECT_SAYS(agent_refuses(controller_, TLS1_3_VERSION, other_ca_.revoke({})),
              "the revocation list (CRL) of CN=pod CA is missing");
  TestCa forged(folder_.path(), "pod CA", "forged-ca");
  EXPECT_NE(agent_refuses(controller_, TLS1_3_VERSION, forged.revoke({})), "");
}

TEST_F(Tls, RefusesOlderVersions) {
  EXPECT_SAYS(agent_refuses(controller_, TLS1_2_VERSION), "does not support TLS 1.3");
  EXPECT_SAYS(controller_refuses(device_, gpu1_, TLS1_2_VERSION), "does not support TLS 1.3");
}

TEST_F(Tls, RefusesClientWithoutCertificate) {
  EXPECT_SAYS(agent_refuses(TlsFiles{}), "the other end sent no certificate");
}

TEST_F(Tls, RefusesCertificateForAnotherUse) {
  EXPECT_SAYS(agent_refuses(issue("lockstep://pod/controller/ops", {.usage = "serverAuth"})),
              "extended key usage");
  EXPECT_SAYS(controller_refuses(issue("lockstep://pod/device/gpu1", {.usage = "clientAuth"}), gpu1_),
              "extended key usage");
  EXPECT_EQ(agent_refuses(issue("lockstep://pod/controller/ops", {.usage = "clientAuth,serverAuth"})), "");
}

TEST_F(Tls, RefusesCertificateWithoutIdentity) {
  EXPECT_SAYS(agent_refuses(ca_.issue("none", CertificateForm{})), "has no identity");
  EXPECT_SAYS(controller_refuses(ca_.issue("none", CertificateForm{}), gpu1_), "has no identity");
  EXPECT_SAYS(agent_refuses(issue("lockstep://pod/controller/ops", {.uris = {"lockstep://pod/reader/ops"}})),
              "several identities");
}

// A name that is to be logged comes from whoever connects.
TEST_F(Tls, ReasonIsOneLineOfBoundedLength) {
  const CertificateForm form{.dns = {}, .ips = {}, .common_name = "a\nb\x1b[2J" + std::string(50, 'c')};
  const std::string why = agent_refuses(other_ca_.issue("x", form));
  EXPECT_SAYS(why, "was not signed by our CA");
  for (const char c : why) EXPECT_TRUE(c >= ' ' && c <= '~') << why;
  EXPECT_LT(why.size(), 600U);
}

// What a client with a refused certificate reads is the agent's alert.
TEST_F(Tls, ReportsTheOtherEndsRefusal) {
  const TlsFiles expired = issue("lockstep://pod/controller/ops", {.from = -hours(72), .until = -hours(48)});
  const auto client = tls_context(expired, false);
  ASSERT_TRUE(client) << client.error().text();
  const TlsContext agent = other_end(device_);
  SSL_CTX_set_verify(agent.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  ASSERT_EQ(SSL_CTX_load_verify_file(agent.get(), device_.ca.c_str()), 1);
  const Handshake both(client->get(), agent.get());
  EXPECT_EQ(both.client_failure(), "the other end refused our certificate: certificate expired");
}

// A resumed session would skip the verification of its certificate, and of its revocation.
TEST_F(Tls, ResumesNoSession) {
  const auto server = tls_context(device_, true);
  ASSERT_TRUE(server) << server.error().text();
  const TlsContext client = other_end(controller_);
  SSL_CTX_set_session_cache_mode(client.get(), SSL_SESS_CACHE_CLIENT);
  const Handshake both(client.get(), server->get());
  ASSERT_TRUE(both.finished());
  EXPECT_EQ(SSL_SESSION_is_resumable(SSL_get0_session(both.client())), 0);
}

class TlsLater : public Tls {
 protected:
  void shake_hands(const TlsFiles& controller, const std::string& revoked = "") {
    TlsFiles own = device_;
    own.revoked = revoked;
    server_ = *tls_context(own, true);
    client_ = *tls_context(controller, false);
    both_ = std::make_unique<Handshake>(client_.get(), server_.get());
    ASSERT_TRUE(both_->finished()) << both_->client_failure() << both_->server_failure();
  }
  void expect_valid_for(const SSL* end, std::chrono::seconds time) {
    const std::time_t left = valid_until(end) - std::time(nullptr);
    EXPECT_LE(left, time.count());
    EXPECT_GT(left, time.count() - 60) << "by how long the test has run";
  }
  // Why a verification by other files fails; empty: it does not.
  std::string later(const TlsFiles& files, const std::string& revoked) {
    TlsFiles own = files;
    own.revoked = revoked;
    const auto context = tls_context(own, true);
    EXPECT_TRUE(context) << context.error().text();
    const auto good = verify_again(both_->server(), context->get());
    return good ? "" : good.error().what;
  }
  TlsContext server_;
  TlsContext client_;
  std::unique_ptr<Handshake> both_;
};

TEST_F(TlsLater, HoldsUntilTheFirstOfTheChainOrOfTheListsExpires) {
  shake_hands(issue("lockstep://pod/controller/ops", {.until = std::chrono::minutes(30)}));
  expect_valid_for(both_->server(), std::chrono::minutes(30));
  expect_valid_for(both_->client(), hours(1));
  shake_hands(issue("lockstep://pod/controller/ops", {.until = hours(2)}));
  expect_valid_for(both_->server(), hours(1));  // its CA's
  shake_hands(controller_, ca_.revoke({}, std::chrono::minutes(10)));
  expect_valid_for(both_->server(), std::chrono::minutes(10));
  expect_valid_for(both_->client(), hours(1));
  const std::string earlier = ca_.revoke({}, std::chrono::minutes(10));
  ASSERT_EQ(std::system(("cp '" + earlier + "' '" + earlier + ".two'").c_str()), 0);
  const std::string newer = ca_.revoke({}, std::chrono::minutes(20));
  ASSERT_EQ(std::system(("cat '" + newer + "' >> '" + earlier + ".two'").c_str()), 0);
  const std::string others = other_ca_.revoke({}, std::chrono::minutes(1));
  ASSERT_EQ(std::system(("cat '" + others + "' >> '" + earlier + ".two'").c_str()), 0);
  shake_hands(controller_, earlier + ".two");
  expect_valid_for(both_->server(), std::chrono::minutes(20));
}

TEST_F(TlsLater, IsVerifiedAgainByOtherFiles) {
  shake_hands(controller_);
  EXPECT_EQ(later(device_, ""), "");
  EXPECT_EQ(later(device_, ca_.revoke({})), "");
  EXPECT_SAYS(later(device_, ca_.revoke({controller_.certificate})),
              "lockstep://pod/controller/ops was revoked");
  EXPECT_SAYS(later(device_, ca_.revoke({}, -hours(48))), "expired on " + day(-hours(48)));
  EXPECT_SAYS(later(other_ca_.issue("x", "lockstep://pod/device/gpu1"), ""), "was not signed by our CA");
  EXPECT_TRUE(verify_again(both_->client(), client_.get())) << "of the other end likewise";
}

TEST_F(TlsLater, DoesNotHoldOnceItHasExpired) {
  shake_hands(issue("lockstep://pod/controller/brief", {.until = std::chrono::seconds(2)}));
  ASSERT_TRUE(soon([&] { return std::time(nullptr) >= valid_until(both_->server()); }));
  EXPECT_SAYS(later(device_, ""), "lockstep://pod/controller/brief expired on");
}

class TlsFilesOf : public Tls {};

TEST_F(TlsFilesOf, MustBeThereAndFit) {
  const auto refused = [](const TlsFiles& files) {
    std::string why;
    for (const bool server : {false, true}) {
      const auto made = tls_context(files, server);
      if (made) return std::string("was accepted");
      EXPECT_EQ(made.error().kind, ErrorKind::denied);
      why = made.error().what;
    }
    return why;
  };
  const std::string nowhere = (folder_.path() / "nowhere.pem").string();
  const std::string garbage = (folder_.path() / "garbage.pem").string();
  const std::string cut = (folder_.path() / "cut.pem").string();
  write_file(garbage, "no certificate\n");
  write_file(cut, "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
  const auto with = [&](std::string TlsFiles::*field, const std::string& value) {
    TlsFiles out = device_;
    out.*field = value;
    return out;
  };
  EXPECT_SAYS(refused(with(&TlsFiles::ca, nowhere)), nowhere + ": no such file");
  EXPECT_SAYS(refused(with(&TlsFiles::ca, garbage)), garbage + ": has no PEM certificate");
  EXPECT_SAYS(refused(with(&TlsFiles::certificate, cut)), cut + ": malformed PEM certificate");
  EXPECT_SAYS(refused(with(&TlsFiles::certificate, folder_.path().string())), "not a regular file");
  EXPECT_SAYS(refused(with(&TlsFiles::key, controller_.key)),
              "is not the key of the certificate in " + device_.certificate);
  EXPECT_SAYS(refused(with(&TlsFiles::revoked, nowhere)), nowhere + ": no such file");
  EXPECT_SAYS(refused(with(&TlsFiles::revoked, device_.ca)), "has no PEM revocation list");
  write_file(garbage, "no key\n");
  EXPECT_SAYS(refused(with(&TlsFiles::key, garbage)), "has no unencrypted PEM private key");
}

TEST_F(TlsFilesOf, KeyIsForItsOwnerAlone) {
  for (const int mode : {0640, 0604, 0610, 0620}) {
    ASSERT_EQ(::chmod(device_.key.c_str(), static_cast<mode_t>(mode)), 0);
    const auto made = tls_context(device_, true);
    ASSERT_FALSE(made) << mode;
    EXPECT_EQ(made.error().kind, ErrorKind::denied);
    EXPECT_SAYS(made.error().what, device_.key + ": private key is accessible to others");
  }
  ASSERT_EQ(::chmod(device_.key.c_str(), 0400), 0);
  EXPECT_TRUE(tls_context(device_, true));
}

TEST_F(TlsFilesOf, StampChangesWithEachFile) {
  TlsFiles files = device_;
  files.revoked = ca_.revoke({});
  std::string stamp = stamp_of(files);
  EXPECT_EQ(stamp_of(files), stamp);
  for (const std::string& file : {files.ca, files.certificate, files.key, files.revoked}) {
    // Same size and time, as of a copy that keeps its time.
    const std::string copy = file + ".copy";
    std::filesystem::copy_file(file, copy);
    std::filesystem::last_write_time(copy, std::filesystem::last_write_time(file));
    std::filesystem::rename(copy, file);
    EXPECT_NE(stamp_of(files), stamp) << file;
    stamp = stamp_of(files);
  }
  std::filesystem::remove(files.revoked);
  EXPECT_NE(stamp_of(files), stamp);
}

}  // namespace
}  // namespace lockstep
