#include "drivers/agent/identity.hpp"

#include <gtest/gtest.h>
#include <openssl/pem.h>

#include <cstdio>
#include <string>

#include "tests/unit/agent/pki.hpp"

namespace lockstep {
namespace {

TEST(Identity, ReadsEachRole) {
  const auto device = parse_identity("lockstep://rail-pod/device/gpu1.rack_2");
  ASSERT_TRUE(device) << device.error().text();
  EXPECT_EQ(*device, (PeerIdentity{"rail-pod", PeerRole::device, "gpu1.rack_2"}));
  EXPECT_EQ(parse_identity("lockstep://c/controller/ops")->role, PeerRole::controller);
  EXPECT_EQ(parse_identity("lockstep://c/reader/grafana")->role, PeerRole::reader);
}

TEST(Identity, TextIsWhatWasRead) {
  for (const char* const uri :
       {"lockstep://rail-pod/device/gpu1", "lockstep://A.b/controller/x_Y-9", "lockstep://0/reader/0"}) {
    const auto read = parse_identity(uri);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->text(), uri);
  }
}

TEST(Identity, RefusesOtherForms) {
  const std::string long_name(254, 'n');
  for (const std::string& uri : {std::string(),
                                 std::string("lockstep:"),
                                 std::string("lockstep://"),
                                 std::string("lockstep://pod"),
                                 std::string("lockstep://pod/device"),
                                 std::string("lockstep://pod/device/"),
                                 std::string("lockstep:///device/gpu1"),
                                 std::string("lockstep://pod//gpu1"),
                                 std::string("LOCKSTEP://pod/device/gpu1"),
                                 std::string("lockstep://pod/Device/gpu1"),
                                 std::string("lockstep://pod/root/gpu1"),
                                 std::string("lockstep://pod/device/gpu1/"),
                                 std::string("lockstep://pod/device/gpu1/x"),
                                 std::string("lockstep://pod/device/gpu1?x"),
                                 std::string("lockstep://pod/device/gpu%31"),
                                 std::string("lockstep://pod/device/gpu 1"),
                                 std::string("lockstep://pod/device/gpu1\n"),
                                 std::string("lockstep://pod/device/gpu1\0x", 28),
                                 std::string("lockstep://pod/device/g\xc3\xbc"),
                                 std::string("https://pod/device/gpu1"),
                                 "lockstep://pod/device/" + long_name,
                                 "lockstep://" + long_name + "/device/gpu1"}) {
    const auto read = parse_identity(uri);
    ASSERT_FALSE(read) << uri;
    EXPECT_EQ(read.error().kind, ErrorKind::denied);
    EXPECT_EQ(read.error().what.find('\n'), std::string::npos) << "a message is one line";
    EXPECT_LT(read.error().what.size(), 600U);
  }
  EXPECT_TRUE(parse_identity("lockstep://pod/device/" + std::string(253, 'n')));
  for (const char* const user :
       {"lockstep://pod/viewer/ann", "lockstep://pod/operator/ann", "lockstep://pod/admin/ann"})
    EXPECT_EQ(parse_identity(user)->text(), user);
}

class IdentityOf : public ::testing::Test {
 protected:
  Result<PeerIdentity> of(const CertificateForm& form) {
    const TlsFiles files = ca_.issue("one", form);
    std::FILE* const file = std::fopen(files.certificate.c_str(), "r");
    X509* const certificate = PEM_read_X509(file, nullptr, nullptr, nullptr);
    std::fclose(file);
    auto out = identity_of(certificate);
    X509_free(certificate);
    return out;
  }
  TemporaryFolder folder_;
  TestCa ca_{folder_.path(), "test CA", "ca"};
};

TEST_F(IdentityOf, IsTheUriAmongTheAlternativeNames) {
  const auto one = of({.uris = {"spiffe://other/thing", "lockstep://pod/controller/ops"}});
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ(one->text(), "lockstep://pod/controller/ops");
}

TEST_F(IdentityOf, NeedsExactlyOne) {
  for (const auto& [form, why] : std::vector<std::pair<CertificateForm, std::string>>{
           {{.uris = {}}, "has no identity"},
           {{.uris = {}, .dns = {}, .ips = {}, .common_name = "lockstep://pod/device/gpu1"},
            "has no identity"},
           {{.uris = {}, .dns = {"lockstep://pod/device/gpu1"}}, "has no identity"},
           {{.uris = {"lockstep://pod/device/gpu1", "lockstep://pod/device/gpu2"}}, "several identities"},
           {{.uris = {"lockstep://pod/device/gpu1", "lockstep://pod/device/gpu1"}}, "several identities"},
           {{.uris = {"lockstep://pod/device/gpu1", "lockstep:anything"}}, "several identities"},
           {{.uris = {std::string("lockstep://pod/device/gpu1\0/x", 29)}}, "invalid name"}}) {
    const auto one = of(form);
    ASSERT_FALSE(one) << one->text();
    EXPECT_EQ(one.error().kind, ErrorKind::denied);
    EXPECT_NE(one.error().what.find(why), std::string::npos) << one.error().what;
  }
}

}  // namespace
}  // namespace lockstep
