// The authority's files, judged by openssl(1).
#include "reconciler/pki/authority.hpp"

#include <map>
#include <thread>

#include "tests/unit/pki/openssl_program.hpp"

namespace lockstep {
namespace {

using std::chrono::days;
using std::chrono::seconds;

class AuthorityTest : public WithOpenssl {
 protected:
  CertificateFacts made(const std::string& cluster = "pod") const {
    const auto out = make_authority(ca_, cluster, now_);
    EXPECT_TRUE(out) << out.error().text();
    return out ? *out : CertificateFacts{};
  }
  IssuedCertificate issued(const CertificateRequest& request) const { return issued(request, now_); }
  IssuedCertificate issued(const CertificateRequest& request, std::chrono::sys_seconds when) const {
    const auto out = issue_certificate(ca_, request, when);
    EXPECT_TRUE(out) << out.error().text();
    return out ? *out : IssuedCertificate{};
  }
  RevocationList revoked(const std::vector<std::string>& files) const {
    const auto out = revoke_certificates(ca_, files, now_);
    EXPECT_TRUE(out) << out.error().text();
    return out ? *out : RevocationList{};
  }
  std::string why_not_issued(const CertificateRequest& request) const {
    const auto out = issue_certificate(ca_, request, now_);
    return out ? "" : out.error().text();
  }
  ProgramAnswer verify(const std::string& certificate, const std::string& more = "") const {
    return openssl("verify -x509_strict -CAfile " + ca_ + "/ca.crt -CRLfile " + ca_ +
                   "/ca.crl -crl_check_all " + more + " " + certificate);
  }
  // All files with their contents.
  static std::map<std::string, std::string> contents(const std::string& folder) {
    std::map<std::string, std::string> out;
    for (const auto& one : std::filesystem::directory_iterator(folder))
      out[one.path().filename().string()] = text_of_file(one.path().string());
    return out;
  }

  const std::string ca_ = at("ca");
  const std::chrono::sys_seconds now_ = std::chrono::floor<seconds>(std::chrono::system_clock::now());
};

std::string extension(const std::string& certificate, const std::string& name) {
  return openssl("x509 -noout -ext " + name + " -in " + certificate).text;
}

bool lives(const std::string& certificate, seconds time) {
  return openssl("x509 -noout -checkend " + std::to_string(time.count()) + " -in " + certificate).code == 0;
}

TEST_F(AuthorityTest, IsACertificateAuthorityOfTenYearsInAClosedFolder) {
  for (const mode_t mask : {mode_t{0}, mode_t{077}}) {
    const mode_t before = ::umask(mask);
    made();
    ::umask(before);
    EXPECT_EQ(mode_of(ca_), 0700);
    EXPECT_EQ(mode_of(ca_ + "/ca.key"), 0600);
    EXPECT_EQ(mode_of(ca_ + "/ca.crt"), 0644);
    EXPECT_EQ(mode_of(ca_ + "/ca.crl"), 0644);
    EXPECT_EQ(contents(ca_).size(), 3U);
    if (mask == 0) std::filesystem::remove_all(ca_);
  }
  const std::string text = openssl("x509 -noout -text -in " + ca_ + "/ca.crt").text;
  for (const char* const part : {"Version: 3", "CA:TRUE, pathlen:0", "X509v3 Basic Constraints: critical",
                                 "X509v3 Key Usage: critical", "Certificate Sign, CRL Sign\n",
                                 "ASN1 OID: prime256v1", "ecdsa-with-SHA256"})
    EXPECT_NE(text.find(part), text.npos) << part << ":\n" << text;
  EXPECT_EQ(openssl("verify -x509_strict -CAfile " + ca_ + "/ca.crt " + ca_ + "/ca.crt").code, 0);
  EXPECT_TRUE(lives(ca_ + "/ca.crt", days(3650) - seconds(60)));
  EXPECT_FALSE(lives(ca_ + "/ca.crt", days(3650) + seconds(60)));
  const auto list = openssl("crl -noout -text -CAfile " + ca_ + "/ca.crt -in " + ca_ + "/ca.crl");
  EXPECT_NE(list.text.find("verify OK"), list.text.npos) << list.text;
  EXPECT_NE(list.text.find("No Revoked Certificates"), list.text.npos) << list.text;
}

TEST_F(AuthorityTest, IssuesWhatEachRoleNeedsAndNoMore) {
  made();
  struct Case {
    PeerRole role;
    const char* word;
    const char* can;
    const char* cannot;
    const char* use;
  };
  for (const Case& one :
       {Case{PeerRole::device, "device", "sslserver", "sslclient", "TLS Web Server"},
        Case{PeerRole::controller, "controller", "sslclient", "sslserver", "TLS Web Client"},
        Case{PeerRole::reader, "reader", "sslclient", "sslserver", "TLS Web Client"},
        Case{PeerRole::operator_, "operator", "sslclient", "sslserver", "TLS Web Client"},
        Case{PeerRole::service, "service", "sslserver", "sslclient", "TLS Web Server"}}) {
    const std::string name = std::string("one-") + one.word;
    const auto made = issued({.role = one.role, .name = name, .out = at("out")});
    EXPECT_EQ(made.certificate, at("out/" + name + ".crt"));
    EXPECT_EQ(made.key, at("out/" + name + ".key"));
    EXPECT_EQ(mode_of(made.key), 0600);
    EXPECT_EQ(mode_of(made.certificate), 0644);
    const auto good = verify(made.certificate, std::string("-purpose ") + one.can);
    EXPECT_EQ(good.code, 0) << good.text;
    EXPECT_NE(verify(made.certificate, std::string("-purpose ") + one.cannot).code, 0);
    const std::string use = extension(made.certificate, "extendedKeyUsage");
    EXPECT_NE(use.find(std::string("    ") + one.use + " Authentication\n"), use.npos) << use;
    EXPECT_NE(extension(made.certificate, "basicConstraints").find("critical\n    CA:FALSE\n"), use.npos);
    const std::string names = extension(made.certificate, "subjectAltName");
    const std::string identity = std::string("URI:lockstep://pod/") + one.word + "/" + name;
    const bool is_server = one.role == PeerRole::device || one.role == PeerRole::service;
    const std::string host = is_server ? ", DNS:" + name : "";
    EXPECT_NE(names.find("    " + identity + host + "\n"), names.npos) << names;
    EXPECT_EQ(openssl("pkey -pubout -in " + made.key).text,
              openssl("x509 -noout -pubkey -in " + made.certificate).text);
  }
  EXPECT_EQ(mode_of(at("out")), 0700);
  EXPECT_EQ(contents(ca_).size(), 3U);
}

TEST_F(AuthorityTest, IssuesForTheHostsAndDaysThatAreWanted) {
  made();
  const auto one = issued({.role = PeerRole::device,
                           .name = "gpu1",
                           .dns = {"gpu1.example", "rail0.gpu1.example"},
                           .addresses = {"10.0.0.1", "fd00::1"},
                           .life = days(7)});
  const std::string names = extension(one.certificate, "subjectAltName");
  EXPECT_NE(names.find("    URI:lockstep://pod/device/gpu1, DNS:gpu1.example, DNS:rail0.gpu1.example, "
                       "IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1\n"),
            names.npos)
      << names;
  EXPECT_TRUE(lives(one.certificate, days(7) - seconds(60)));
  EXPECT_FALSE(lives(one.certificate, days(7) + seconds(60)));
  EXPECT_EQ(verify(one.certificate, "-verify_ip fd00::1").code, 0);
  EXPECT_NE(verify(one.certificate, "-verify_ip 10.0.0.2").code, 0);
  const auto other = issued({.role = PeerRole::device, .name = "gpu2"});
  EXPECT_TRUE(lives(other.certificate, days(397) - seconds(60)));
  EXPECT_FALSE(lives(other.certificate, days(397) + seconds(60)));
  const auto serial = [](const IssuedCertificate& of) {
    return openssl("x509 -noout -serial -in " + of.certificate).text;
  };
  EXPECT_NE(serial(one), serial(other));
  EXPECT_EQ(serial(one).size(), std::string("serial=\n").size() + 128 / 4);
  EXPECT_EQ(serial(one), "serial=" + one.facts.serial + "\n");
}

TEST_F(AuthorityTest, LongestNamesFit) {
  const std::string cluster(253, 'c');
  const std::string name(250, 'd');
  made(cluster);
  const auto one = issued({.role = PeerRole::device, .name = name});
  EXPECT_EQ(verify(one.certificate).code, 0) << verify(one.certificate).text;
  EXPECT_NE(
      extension(one.certificate, "subjectAltName").find("lockstep://" + cluster + "/device/" + name + ","),
      std::string::npos);
}

TEST_F(AuthorityTest, RevokedIsRefusedAndEarlierEntriesStay) {
  made();
  const auto first = issued({.role = PeerRole::device, .name = "gpu1"});
  const auto second = issued({.role = PeerRole::device, .name = "gpu2"});
  const auto third = issued({.role = PeerRole::controller, .name = "ctl"});
  EXPECT_EQ(revoked({first.certificate}).added, 1U);
  EXPECT_NE(verify(first.certificate).text.find("certificate revoked"), std::string::npos);
  EXPECT_EQ(verify(second.certificate).code, 0);
  const auto later =
      revoke_certificates(ca_, {second.certificate, second.certificate, first.certificate}, now_ + days(1));
  ASSERT_TRUE(later) << later.error().text();
  EXPECT_EQ(later->added, 1U);
  EXPECT_EQ(later->number, 3);
  EXPECT_EQ(later->until, now_ + days(31));
  EXPECT_EQ(later->revoked.size(), 2U);
  for (const RevokedSerial& one : later->revoked)
    EXPECT_EQ(one.at, one.serial == first.facts.serial ? now_ : now_ + days(1));
  revoked({});
  EXPECT_NE(verify(first.certificate).text.find("certificate revoked"), std::string::npos);
  EXPECT_NE(verify(second.certificate).text.find("certificate revoked"), std::string::npos);
  EXPECT_EQ(verify(third.certificate).code, 0) << verify(third.certificate).text;
  const std::string list = openssl("crl -noout -text -in " + ca_ + "/ca.crl").text;
  EXPECT_NE(list.find("X509v3 CRL Number: \n                4\n"), list.npos) << list;
  EXPECT_EQ(mode_of(ca_ + "/ca.crl"), 0644);
}

TEST_F(AuthorityTest, RevokesOnlyWhatItIssuedAndAllOrNothing) {
  made();
  const auto own = issued({.role = PeerRole::device, .name = "gpu1"});
  ASSERT_TRUE(make_authority(at("other"), "pod", now_));
  const auto foreign = issue_certificate(at("other"), {.role = PeerRole::device, .name = "gpu1"}, now_);
  ASSERT_TRUE(foreign);
  const auto before = contents(ca_);
  for (const std::string& file : {foreign->certificate, ca_ + "/ca.crt", own.key, at("none.crt")}) {
    const auto refused = revoke_certificates(ca_, {own.certificate, file}, now_);
    ASSERT_FALSE(refused) << file;
    EXPECT_TRUE(refused.error().text().starts_with(file + ": ")) << refused.error().text();
  }
  EXPECT_EQ(contents(ca_), before);
}

TEST_F(AuthorityTest, NoRevocationIsForgotten) {
  made();
  const auto one = issued({.role = PeerRole::device, .name = "gpu1"});
  ASSERT_TRUE(make_authority(at("other"), "pod", now_));
  const std::string list = ca_ + "/ca.crl";
  const std::string own = text_of_file(list);
  for (const std::string& text :
       {text_of_file(at("other/ca.crl")), std::string("no list"), own.substr(0, 200)}) {
    write_text(list, text, 0644);
    EXPECT_FALSE(revoke_certificates(ca_, {one.certificate}, now_)) << text;
    EXPECT_EQ(text_of_file(list), text);
  }
  std::filesystem::remove(list);
  EXPECT_FALSE(revoke_certificates(ca_, {}, now_));
  EXPECT_FALSE(std::filesystem::exists(list));
}

TEST_F(AuthorityTest, RevocationsAtOnceAreAllKept) {
  made();
  constexpr int kThreads = 8;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([this, i] {
      const auto one = issued({.role = PeerRole::device, .name = "gpu" + std::to_string(i)});
      revoked({one.certificate});
    });
  for (std::thread& one : threads) one.join();
  for (int i = 0; i < kThreads; ++i)
    EXPECT_NE(verify(ca_ + "/gpu" + std::to_string(i) + ".crt").text.find("certificate revoked"),
              std::string::npos)
        << i;
}

TEST_F(AuthorityTest, ExpiresAsPromised) {
  ASSERT_TRUE(make_authority(ca_, "pod", now_ - days(31)));
  const auto old = issued({.role = PeerRole::device, .name = "old", .life = days(30)}, now_ - days(31));
  const auto fresh = issued({.role = PeerRole::device, .name = "fresh"});
  // The list has expired as well.
  EXPECT_NE(verify(fresh.certificate).text.find("CRL has expired"), std::string::npos);
  revoked({});
  EXPECT_EQ(verify(fresh.certificate).code, 0) << verify(fresh.certificate).text;
  EXPECT_NE(verify(old.certificate).text.find("certificate has expired"), std::string::npos);
  EXPECT_NE(why_not_issued({.role = PeerRole::device, .name = "x", .life = days(3640)})
                .find("at most 3619 days are left"),
            std::string::npos);
  const auto late = issue_certificate(ca_, {.role = PeerRole::device, .name = "x"}, now_ + days(3700));
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().text().find("make a new authority"), std::string::npos) << late.error().text();
}

TEST_F(AuthorityTest, IsNotMadeTwiceNorInAFolderOfOthers) {
  made();
  const auto before = contents(ca_);
  const auto again = make_authority(ca_, "other", now_);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().text(), ca_ + " has a certificate authority already");
  EXPECT_EQ(contents(ca_), before);
  std::filesystem::create_directory(at("used"));
  ASSERT_EQ(::chmod(at("used").c_str(), 0755), 0);
  write_text(at("used/file"), "x");
  EXPECT_FALSE(make_authority(at("used"), "pod", now_));
  EXPECT_EQ(mode_of(at("used")), 0755);
  std::filesystem::create_directory_symlink(at("used"), at("link"));
  EXPECT_FALSE(make_authority(at("link"), "pod", now_));
  std::filesystem::create_directory(at("empty"));
  EXPECT_TRUE(make_authority(at("empty"), "pod", now_));
  EXPECT_EQ(mode_of(at("empty")), 0700);
  for (const char* const cluster : {"", "a/b", "a b", "a\nb", "ä", "a/device/b"})
    EXPECT_FALSE(make_authority(at("invalid"), cluster, now_)) << cluster;
  EXPECT_FALSE(make_authority(at("invalid"), std::string(254, 'c'), now_));
  EXPECT_FALSE(std::filesystem::exists(at("invalid")));
}

TEST_F(AuthorityTest, OverwritesOnlyItsOwnIdentityOnRequest) {
  made();
  const CertificateRequest request{
      .role = PeerRole::device, .name = "gpu1", .dns = {"gpu1.example"}, .addresses = {"10.0.0.1"}};
  const auto first = issued(request);
  const auto before = contents(ca_);
  EXPECT_NE(why_not_issued(request).find("run with --renew"), std::string::npos);
  for (const auto& [role, name] : {std::pair{PeerRole::controller, "gpu1"}, {PeerRole::device, "ca"}}) {
    const std::string why = why_not_issued({.role = role, .name = name, .renew = true});
    EXPECT_NE(why.find("it is left alone"), why.npos) << why;
  }
  EXPECT_EQ(contents(ca_), before);
  issued({.role = PeerRole::device, .name = "gpu1", .renew = true});
  const auto after = contents(ca_);
  EXPECT_NE(after.at("gpu1.key"), before.at("gpu1.key"));
  EXPECT_NE(after.at("gpu1.crt"), before.at("gpu1.crt"));
  EXPECT_EQ(after.at("ca.key"), before.at("ca.key"));
  EXPECT_EQ(openssl("pkey -pubout -in " + first.key).text,
            openssl("x509 -noout -pubkey -in " + first.certificate).text);
  EXPECT_EQ(mode_of(first.key), 0600);
  const std::string names = extension(first.certificate, "subjectAltName");
  EXPECT_NE(names.find("DNS:gpu1.example, IP Address:10.0.0.1\n"), names.npos) << names;
  issued({.role = PeerRole::device, .name = "gpu1", .addresses = {"10.0.0.2"}, .renew = true});
  const std::string others = extension(first.certificate, "subjectAltName");
  EXPECT_NE(others.find("DNS:gpu1, IP Address:10.0.0.2\n"), others.npos) << others;
}

TEST_F(AuthorityTest, LeavesALonelyOrOpenKeyAlone) {
  made();
  write_text(ca_ + "/gpu1.key", "somebody's");
  for (const bool renew : {false, true})
    EXPECT_NE(why_not_issued({.role = PeerRole::device, .name = "gpu1", .renew = renew})
                  .find("without its certificate"),
              std::string::npos);
  EXPECT_EQ(text_of_file(ca_ + "/gpu1.key"), "somebody's");
  const auto two = issued({.role = PeerRole::device, .name = "gpu2"});
  const std::string key = text_of_file(two.key);
  ASSERT_EQ(::chmod(two.key.c_str(), 0640), 0);
  EXPECT_NE(
      why_not_issued({.role = PeerRole::device, .name = "gpu2", .renew = true}).find("accessible to others"),
      std::string::npos);
  EXPECT_EQ(text_of_file(two.key), key);
  std::filesystem::rename(two.key, at("elsewhere"));
  std::filesystem::create_symlink(at("elsewhere"), two.key);
  ASSERT_EQ(::chmod(at("elsewhere").c_str(), 0600), 0);
  EXPECT_NE(why_not_issued({.role = PeerRole::device, .name = "gpu2", .renew = true}), "");
  EXPECT_EQ(text_of_file(at("elsewhere")), key);
}

TEST_F(AuthorityTest, RefusesNamesThatNoAgentAccepts) {
  made();
  const auto before = contents(ca_);
  for (const std::string& name : {std::string(""), std::string("a b"), std::string("../x"), std::string(".."),
                                  std::string(".hidden"), std::string("a/b"), std::string("a\nb"),
                                  std::string("ä"), std::string("a\0b", 3), std::string(254, 'n')})
    EXPECT_NE(why_not_issued({.role = PeerRole::controller, .name = name}), "") << name;
  for (const char* const host :
       {"", "*.example", "a b", "10.0.0.1", "::1", ".example", "example.", "a\nDNS:b"})
    EXPECT_NE(why_not_issued({.role = PeerRole::device, .name = "gpu1", .dns = {host}}), "") << host;
  for (const char* const address : {"", "gpu1", "10.0.0.256", "10.0.0.0/8", "fe80::1%eth0"})
    EXPECT_NE(why_not_issued({.role = PeerRole::device, .name = "gpu1", .addresses = {address}}), "")
        << address;
  EXPECT_NE(why_not_issued({.role = PeerRole::device, .name = "gpu1", .life = days(0)}), "");
  EXPECT_EQ(contents(ca_), before);
}

TEST_F(AuthorityTest, UnusableKeyOfTheAuthorityIssuesNothing) {
  made();
  const std::string key = ca_ + "/ca.key";
  const std::string good = text_of_file(key);
  ASSERT_TRUE(make_authority(at("other"), "pod", now_));
  ASSERT_EQ(openssl("pkey -aes256 -passout pass:x -in " + key + " -out " + at("closed.key")).code, 0);
  const CertificateRequest request{.role = PeerRole::device, .name = "gpu1"};
  const auto expect_refused = [&](const std::string& words) {
    const auto refused = issue_certificate(ca_, request, now_);
    ASSERT_FALSE(refused) << words;
    EXPECT_EQ(refused.error().kind, ErrorKind::denied);
    EXPECT_NE(refused.error().text().find(words), std::string::npos) << refused.error().text();
    EXPECT_FALSE(revoke_certificates(ca_, {}, now_));
    EXPECT_FALSE(std::filesystem::exists(ca_ + "/gpu1.key"));
  };
  write_text(key, good, 0644);
  expect_refused("ca.key: private key is accessible to others");
  write_text(key, "no key");
  expect_refused("ca.key: has no PEM private key");
  write_text(key, text_of_file(at("closed.key")));
  expect_refused("private key without a passphrase");
  write_text(key, text_of_file(at("other/ca.key")));
  expect_refused("is not the key of the certificate in");
  std::filesystem::remove(key);
  expect_refused("ca.key: ");
  ASSERT_EQ(::mkfifo(key.c_str(), 0600), 0);
  expect_refused("ca.key: ");
  std::filesystem::remove(key);
  write_text(key, good);
  issued(request);
  // A certificate that it issued is no authority, even beside its own key.
  std::filesystem::rename(ca_ + "/gpu1.crt", ca_ + "/ca.crt");
  std::filesystem::rename(ca_ + "/gpu1.key", key);
  expect_refused("is no certificate of an authority");
}

}  // namespace
}  // namespace lockstep
