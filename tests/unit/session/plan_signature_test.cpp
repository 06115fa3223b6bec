// Signatures of plan files, checked against ssh-keygen run directly.
#include "reconciler/session/plan_signature.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "reconciler/session/plan_file.hpp"
#include "temporary_folder.hpp"
#include "tests/needs.hpp"

namespace lockstep {
namespace {

class PlanSignature : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v ssh-keygen >/dev/null") != 0)
      LOCKSTEP_NOT_TESTED_BUT_ON_CI("needs ssh-keygen (openssh-client)");
    make_key("alice");
    make_key("mallory");
    allow("alice@example.com " + public_key("alice"));
  }
  void TearDown() override { ::setenv("PATH", path.c_str(), 1); }

  void make_key(const std::string& name) { run("ssh-keygen -q -t ed25519 -N '' -C '' -f " + at(name)); }
  std::string public_key(const std::string& name) { return content(name + ".pub"); }
  void allow(const std::string& lines) { folder.write("signers", lines); }
  // Signs with ssh-keygen directly.
  void sign(const std::string& name, const std::string& space = "lockstep-plan") {
    folder.write("plan.json", bytes);
    std::filesystem::remove(at("plan.json.sig"));
    run("ssh-keygen -q -Y sign -n " + space + " -f " + at(name) + " " + at("plan.json") + " 2>/dev/null");
  }
  Result<std::string> verified() { return verify_plan_signature(bytes, at("plan.json.sig"), at("signers")); }
  std::string refused() {
    const Result<std::string> who = verified();
    return who ? "signed by " + *who : who.error().text();
  }
  void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }
  std::string at(const std::string& name) const { return folder.path() + "/" + name; }
  std::string content(const std::string& name) const {
    std::ifstream in(at(name));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  TemporaryFolder folder;
  std::string bytes = "{\"kind\": \"Plan\"}\n";
  const std::string path = std::getenv("PATH");
};

TEST_F(PlanSignature, IdentifiesTheSigner) {
  sign("alice");
  EXPECT_EQ(refused(), "signed by alice@example.com");
}

TEST_F(PlanSignature, OfALargeFileIsVerifiedWithoutBlocking) {
  bytes.assign(std::size_t{8} << 20, 'x');  // larger than any pipe
  sign("alice");
  EXPECT_EQ(refused(), "signed by alice@example.com");
}

TEST_F(PlanSignature, ByLockstepIsAcceptedBySshKeygen) {
  folder.write("plan.json", bytes);
  const Result<std::string> signature = sign_plan(bytes, at("alice"));
  ASSERT_TRUE(signature) << signature.error().text();
  folder.write("own.sig", *signature);
  run("ssh-keygen -q -Y verify -n lockstep-plan -I alice@example.com -f " + at("signers") + " -s " +
      at("own.sig") + " < " + at("plan.json") + " >/dev/null");
}

TEST_F(PlanSignature, ByAKeyWithSeveralPrincipalsShowsTheFirst) {
  sign("alice");
  allow("release,alice@example.com " + public_key("alice"));
  EXPECT_EQ(refused(), "signed by release");
}

TEST_F(PlanSignature, OfAnAlteredFileIsRefused) {
  sign("alice");
  bytes[2] = 'K';
  EXPECT_NE(refused().find("is no signature by alice@example.com of this plan file"), std::string::npos)
      << refused();
}

TEST_F(PlanSignature, MissingFileIsRefused) {
  EXPECT_EQ(refused(), "the plan's signature, " + at("plan.json.sig") + ": No such file or directory");
  sign("alice");
  std::filesystem::remove(at("signers"));
  EXPECT_EQ(refused(), "the allowed signers, " + at("signers") + ": No such file or directory");
}

TEST_F(PlanSignature, ByAKeyThatIsNotAllowedIsRefused) {
  sign("mallory");
  EXPECT_NE(refused().find("nobody of " + at("signers")), std::string::npos) << refused();
}

TEST_F(PlanSignature, OfAnotherNamespaceIsRefused) {
  sign("alice", "git");
  EXPECT_NE(refused().find("is no signature by alice@example.com"), std::string::npos) << refused();
  allow("alice@example.com namespaces=\"git\" " + public_key("alice"));
  sign("alice");
  EXPECT_EQ(refused().find("signed by"), std::string::npos) << refused();
}

TEST_F(PlanSignature, ByAnExpiredKeyIsRefused) {
  sign("alice");
  allow("alice@example.com valid-before=\"20200101\" " + public_key("alice"));
  EXPECT_NE(refused().find("whose key is valid now"), std::string::npos) << refused();
  EXPECT_NE(refused().find("expired"), std::string::npos) << refused();
}

TEST_F(PlanSignature, InvalidSignatureIsRefused) {
  sign("alice");
  for (const std::string& text : {std::string(), std::string("no signature"), content("plan.json")}) {
    folder.write("plan.json.sig", text);
    EXPECT_EQ(refused().find("signed by alice"), std::string::npos) << text;
  }
}

TEST_F(PlanSignature, WithoutSshKeygenNothingIsAccepted) {
  sign("alice");
  ::setenv("PATH", folder.path().c_str(), 1);
  EXPECT_NE(refused().find("there is no ssh-keygen here: install openssh-client"), std::string::npos);
  EXPECT_FALSE(sign_plan(bytes, at("alice")));
}

// No program interprets the file name or the principal as a command or an option.
TEST_F(PlanSignature, UnusualNamesAreNotInterpreted) {
  sign("alice");
  const std::string odd = at("-s $(touch x); 'x'");
  std::filesystem::copy(at("plan.json.sig"), odd);
  allow("-Y " + public_key("alice"));
  const Result<std::string> who = verify_plan_signature(bytes, odd, at("signers"));
  ASSERT_TRUE(who) << who.error().text();
  EXPECT_EQ(*who, "-Y");
}

TEST_F(PlanSignature, IsWrittenBesideThePlanAndVerifiedOnReading) {
  const PlanAim aim{.source = {}, .only = "", .cluster = "lab"};
  const Result<Done> written = write_plan_file(at("plan.json"), aim, *make_plan({}), at("alice"));
  ASSERT_TRUE(written) << written.error().text();
  const Result<PlanFile> read = read_plan_file(at("plan.json"), at("signers"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->approved_by, "alice@example.com");
  EXPECT_EQ(read_plan_file(at("plan.json"))->approved_by, "") << "nobody looked";
  folder.write("plan.json", content("plan.json") + " ");
  EXPECT_TRUE(read_plan_file(at("plan.json"))) << "the same document";
  EXPECT_FALSE(read_plan_file(at("plan.json"), at("signers"))) << "other bytes than those that were signed";
}

TEST_F(PlanSignature, FailedSigningLeavesNoPlan) {
  const PlanAim aim{.source = {}, .only = "", .cluster = "lab"};
  const Result<Done> written = write_plan_file(at("plan.json"), aim, *make_plan({}), at("nobody"));
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().text().find("can't sign with " + at("nobody")), std::string::npos)
      << written.error().text();
  EXPECT_FALSE(std::filesystem::exists(at("plan.json")));
}

}  // namespace
}  // namespace lockstep
