// The authority's certificates in use: TLS handshakes between what agents and controllers use, in memory; and
// what becomes of the files when they can't be written.
#include <openssl/err.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "drivers/agent/tls.hpp"
#include "reconciler/pki/authority.hpp"
#include "tests/unit/pki/openssl_program.hpp"

namespace lockstep {
namespace {

using std::chrono::days;

struct FreeTls {
  void operator()(SSL* tls) const { SSL_free(tls); }
};

struct Verdicts {
  std::string controller;  // why it refuses the agent; empty: it accepts it
  std::string agent;
};

// Both ends as the product makes them, joined by memory.
Verdicts handshake(const TlsFiles& controller, const TlsFiles& agent, const WantedPeer& wanted) {
  const auto from = tls_context(controller, false);
  const auto to = tls_context(agent, true);
  if (!from || !to) return {from ? "" : from.error().text(), to ? "" : to.error().text()};
  const std::unique_ptr<SSL, FreeTls> client(SSL_new(from->get()));
  const std::unique_ptr<SSL, FreeTls> server(SSL_new(to->get()));
  BIO* one = nullptr;
  BIO* other = nullptr;
  EXPECT_EQ(BIO_new_bio_pair(&one, 0, &other, 0), 1);
  SSL_set_bio(client.get(), one, one);
  SSL_set_bio(server.get(), other, other);
  SSL_set_connect_state(client.get());
  SSL_set_accept_state(server.get());
  Verdicts out;
  const auto step = [](SSL* tls, std::string& failure) {
    ERR_clear_error();
    const int done = failure.empty() ? SSL_do_handshake(tls) : 1;
    const int error = SSL_get_error(tls, done);
    if (done <= 0 && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
      failure = why_handshake_failed(tls);
  };
  for (int round = 0; round < 20; ++round) {  // a full one takes five
    step(client.get(), out.controller);
    step(server.get(), out.agent);
  }
  if (out.controller.empty() && out.agent.empty()) {
    EXPECT_EQ(SSL_is_init_finished(client.get()), 1);
    EXPECT_EQ(SSL_is_init_finished(server.get()), 1);
    const auto accepted = verify_agent(client.get(), wanted);
    if (!accepted) out.controller = accepted.error().text();
    const auto caller = verify_controller(server.get(), wanted.cluster);
    if (!caller) out.agent = caller.error().text();
  }
  return out;
}

class AuthorityInUse : public WithOpenssl {
 protected:
  AuthorityInUse() { EXPECT_TRUE(make_authority(ca_, "pod", now_ - days(3))); }
  TlsFiles issued(PeerRole role, const std::string& name) const {
    return issued({.role = role, .name = name, .addresses = {"127.0.0.1"}}, now_);
  }
  TlsFiles issued(const CertificateRequest& request, std::chrono::sys_seconds when) const {
    const auto out = issue_certificate(ca_, request, when);
    EXPECT_TRUE(out) << out.error().text();
    if (!out) return {};
    return {
        .ca = ca_ + "/ca.crt", .certificate = out->certificate, .key = out->key, .revoked = ca_ + "/ca.crl"};
  }

  const std::string ca_ = at("ca");
  const std::chrono::sys_seconds now_ =
      std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
};

TEST_F(AuthorityInUse, ControllersAndReadersReachTheAgentByNameAndAddress) {
  const TlsFiles agent = issued(PeerRole::device, "gpu1");
  for (const PeerRole role : {PeerRole::controller, PeerRole::reader}) {
    const TlsFiles caller = issued(role, role == PeerRole::reader ? "viewer" : "ctl");
    for (const char* const host : {"gpu1", "127.0.0.1"}) {
      const Verdicts both = handshake(caller, agent, {"pod", "gpu1", host});
      EXPECT_EQ(both.controller, "");
      EXPECT_EQ(both.agent, "");
    }
    EXPECT_NE(handshake(caller, agent, {"pod", "gpu2", "gpu1"}).controller, "");
    EXPECT_NE(handshake(caller, agent, {"pod", "gpu1", "gpu2"}).controller, "");
    EXPECT_NE(handshake(caller, agent, {"other", "gpu1", "gpu1"}).controller, "");
  }
}

TEST_F(AuthorityInUse, AWrongRoleIsRefused) {
  const TlsFiles agent = issued(PeerRole::device, "gpu1");
  const TlsFiles caller = issued(PeerRole::controller, "ctl");
  EXPECT_NE(handshake(issued(PeerRole::device, "gpu2"), agent, {"pod", "gpu1", "gpu1"}).agent, "");
  EXPECT_NE(handshake(caller, issued(PeerRole::controller, "gpu3"), {"pod", "gpu3", "gpu3"}).controller, "");
}

TEST_F(AuthorityInUse, RevokedAndExpiredAreRefusedByTheOtherEnd) {
  const TlsFiles agent = issued(PeerRole::device, "gpu1");
  const TlsFiles caller = issued(PeerRole::controller, "ctl");
  const WantedPeer wanted{"pod", "gpu1", "gpu1"};
  ASSERT_EQ(handshake(caller, agent, wanted).agent, "");
  ASSERT_TRUE(revoke_certificates(ca_, {caller.certificate}, now_));
  const std::string refused = handshake(caller, agent, wanted).agent;
  EXPECT_EQ(refused, "the certificate of lockstep://pod/controller/ctl was revoked");
  const TlsFiles other = issued(PeerRole::reader, "viewer");
  EXPECT_EQ(handshake(other, agent, wanted).agent, "");
  ASSERT_TRUE(revoke_certificates(ca_, {agent.certificate}, now_));
  EXPECT_EQ(handshake(other, agent, wanted).controller,
            "the certificate of lockstep://pod/device/gpu1 was revoked");
  const TlsFiles old = issued({.role = PeerRole::reader, .name = "old", .life = days(1)}, now_ - days(2));
  const TlsFiles fresh = issued(PeerRole::device, "gpu2");
  const std::string expired = handshake(old, fresh, {"pod", "gpu2", "gpu2"}).agent;
  EXPECT_NE(expired.find("lockstep://pod/reader/old expired on "), expired.npos) << expired;
}

TEST_F(AuthorityInUse, OfAnotherAuthorityIsRefused) {
  const TlsFiles agent = issued(PeerRole::device, "gpu1");
  ASSERT_TRUE(make_authority(at("other"), "pod", now_));
  const auto foreign = issue_certificate(at("other"), {.role = PeerRole::controller, .name = "ctl"}, now_);
  ASSERT_TRUE(foreign) << foreign.error().text();
  const TlsFiles caller{
      .ca = ca_ + "/ca.crt", .certificate = foreign->certificate, .key = foreign->key, .revoked = ""};
  EXPECT_NE(handshake(caller, agent, {"pod", "gpu1", "gpu1"}).agent, "");
}

// More than a key, less than a certificate.
class SmallFiles {
 public:
  SmallFiles() {
    former_signal_ = std::signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &former_), 0);
    rlimit small = former_;
    small.rlim_cur = 400;
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  ~SmallFiles() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &former_), 0);
    std::signal(SIGXFSZ, former_signal_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit former_{};
  void (*former_signal_)(int) = nullptr;
};

TEST_F(AuthorityInUse, AFullDiskLeavesNoHalfOfAPair) {
  const TlsFiles agent = issued(PeerRole::device, "gpu1");
  const std::string key = text_of_file(agent.key);
  const std::string certificate = text_of_file(agent.certificate);
  ASSERT_GT(certificate.size(), 400U);
  ASSERT_LT(key.size(), 400U);
  {
    const SmallFiles full;
    EXPECT_FALSE(issue_certificate(ca_, {.role = PeerRole::device, .name = "gpu2"}, now_));
    EXPECT_FALSE(issue_certificate(ca_, {.role = PeerRole::device, .name = "gpu1", .renew = true}, now_));
    EXPECT_FALSE(make_authority(at("next"), "pod", now_));
  }
  EXPECT_FALSE(std::filesystem::exists(ca_ + "/gpu2.key"));
  EXPECT_FALSE(std::filesystem::exists(ca_ + "/gpu2.crt"));
  EXPECT_EQ(text_of_file(agent.key), key);
  EXPECT_EQ(text_of_file(agent.certificate), certificate);
  EXPECT_EQ(mode_of(agent.key), 0600);
  EXPECT_TRUE(std::filesystem::is_empty(at("next")));
  EXPECT_TRUE(make_authority(at("next"), "pod", now_));
}

// The names that files of a folder got by rename(2), in order.
class Renames {
 public:
  explicit Renames(const std::string& folder) : queue_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    EXPECT_GE(::inotify_add_watch(queue_, folder.c_str(), IN_MOVED_TO), 0);
  }
  ~Renames() { ::close(queue_); }
  Renames(const Renames&) = delete;
  Renames& operator=(const Renames&) = delete;
  std::vector<std::string> names() const {
    alignas(inotify_event) std::array<char, 4096> events{};
    const ssize_t size = ::read(queue_, events.data(), events.size());
    std::vector<std::string> out;
    for (ssize_t at = 0; at < size;) {
      const auto* const event = reinterpret_cast<const inotify_event*>(events.data() + at);
      out.emplace_back(event->name);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
    return out;
  }

 private:
  int queue_;
};

TEST_F(AuthorityInUse, KeyIsThereBeforeItsCertificate) {
  std::filesystem::create_directory(at("next"));
  const Renames next(at("next"));
  ASSERT_TRUE(make_authority(at("next"), "pod", now_));
  EXPECT_EQ(next.names(), (std::vector<std::string>{"ca.key", "ca.crl", "ca.crt"}));
  const Renames own(ca_);
  for (const bool renew : {false, true}) {
    ASSERT_TRUE(issue_certificate(ca_, {.role = PeerRole::device, .name = "gpu1", .renew = renew}, now_));
    EXPECT_EQ(own.names(), (std::vector<std::string>{"gpu1.key", "gpu1.crt"}));
  }
}

TEST_F(AuthorityInUse, FactsAreThoseThatOpensslReports) {
  const TlsFiles agent = issued(PeerRole::device, "gpu1");
  const auto facts = facts_of_file(agent.certificate);
  ASSERT_TRUE(facts) << facts.error().text();
  std::string digest = openssl("x509 -noout -fingerprint -sha256 -in " + agent.certificate).text;
  digest = digest.substr(digest.find('=') + 1);
  std::string expected = "sha256:";
  for (const char c : digest)
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0)
      expected += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  EXPECT_EQ(facts->fingerprint, expected);
  EXPECT_EQ(facts->identity, (PeerIdentity{"pod", PeerRole::device, "gpu1"}));
  EXPECT_EQ(facts->dns, std::vector<std::string>{"gpu1"});
  EXPECT_EQ(facts->addresses, std::vector<std::string>{"127.0.0.1"});
  EXPECT_EQ(facts->uses, std::vector<std::string>{"serverAuth"});
  std::string ends = openssl("x509 -noout -enddate -dateopt iso_8601 -in " + agent.certificate).text;
  ends = ends.substr(ends.find('=') + 1);
  ends.replace(ends.find(' '), 1, "T");
  EXPECT_EQ(date_text(facts->until) + "\n", ends);
}

TEST_F(AuthorityInUse, ForeignCertificatesAreShownWithWhatTheyLack) {
  ASSERT_EQ(
      openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /O=Example/CN=own -days "
              "2900000 -keyout " +
              at("own.key") + " -out " + at("own.crt") + " -addext 'extendedKeyUsage=clientAuth,1.2.3.4'")
          .code,
      0);
  const auto facts = facts_of_file(at("own.crt"));
  ASSERT_TRUE(facts) << facts.error().text();
  EXPECT_FALSE(facts->identity);
  EXPECT_EQ(facts->authority_of, "");
  EXPECT_EQ(facts->problem, "the certificate has no identity lockstep://...");
  EXPECT_EQ(facts->uses, (std::vector<std::string>{"clientAuth", "1.2.3.4"}));
  EXPECT_TRUE(date_text(facts->until).starts_with("99")) << date_text(facts->until);
  const auto made = [this](const std::string& name, const std::string& extensions) {
    const auto done = openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -config /dev/null -subj /CN=" + name +
        " -keyout " + at(name + ".key") + " -out " + at(name + ".crt") + extensions);
    EXPECT_EQ(done.code, 0) << done.text;
  };
  made("two", " -addext subjectAltName=URI:lockstep://pod/device/a,URI:lockstep://pod/device/b");
  // An authority's name in a certificate that is none, and a device's in one that is.
  made("no-ca", " -addext basicConstraints=CA:FALSE -addext subjectAltName=URI:lockstep://pod");
  made("device", " -addext basicConstraints=CA:TRUE -addext subjectAltName=URI:lockstep://pod/device/a");
  const auto no_ca = facts_of_file(at("no-ca.crt"));
  ASSERT_TRUE(no_ca) << no_ca.error().text();
  EXPECT_EQ(no_ca->authority_of, "");
  EXPECT_NE(no_ca->problem, "");
  const auto device = facts_of_file(at("device.crt"));
  ASSERT_TRUE(device) << device.error().text();
  EXPECT_EQ(device->authority_of, "");
  EXPECT_EQ(device->identity, (PeerIdentity{"pod", PeerRole::device, "a"}));
  const auto two = facts_of_file(at("two.crt"));
  ASSERT_TRUE(two) << two.error().text();
  EXPECT_NE(two->problem.find("several identities"), std::string::npos) << two->problem;
  EXPECT_FALSE(facts_of_file(ca_ + "/ca.key"));
  EXPECT_FALSE(facts_of_file(at("none")));
}

}  // namespace
}  // namespace lockstep
