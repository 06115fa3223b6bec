// Signed commits, made with ssh-keygen and git; only what an allowed signer signed is returned.
#include <filesystem>

#include "tests/unit/source/lab.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

class GitSignature : public GitSourceTest {
 protected:
  GitSignature() {
    for (const std::string name : {"ada", "eve"})
      (void)done({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", folder / name});
    allow("ada@example.org", "ada");
    with.allowed_signers_file = signers;
  }
  void allow(const std::string& line, const std::string& key) {
    write_text(signers, "# who may sign\n" + line + " " + done({"cat", folder / (key + ".pub")}));
  }
  std::vector<std::string> signed_by(const std::string& key) const {
    return {"-cgpg.format=ssh", "-cuser.signingkey=" + (folder / (key + ".pub")), "-S"};
  }
  void commit_by(const std::string& key) { (void)repository.commit({{"a", key}}, "edit", signed_by(key)); }
  std::string unverified() { return expect_trouble(fetched(with), SourceTrouble::not_verified); }

  const std::string signers = folder / "signers";
  GitSettings with = settings();
};

TEST_F(GitSignature, OfAnAllowedSignerIsReported) {
  commit_by("ada");
  const auto revision = expect_revision(fetched(with));
  ASSERT_TRUE(revision);
  EXPECT_EQ(revision->signer, "ada@example.org");
  with.allowed_signers_file = "";
  EXPECT_EQ(expect_revision(fetched(with))->signer, "") << "none was asked for";
}

TEST_F(GitSignature, IsMissing) {
  (void)repository.commit({{"a", "1"}});
  const std::string text = unverified();
  EXPECT_NE(text.find("is not signed"), text.npos) << text;
  EXPECT_EQ(files_in(with.cache).size(), 0U);
}

TEST_F(GitSignature, IsOfSomebodyElse) {
  commit_by("eve");
  const std::string text = unverified();
  EXPECT_NE(text.find("no valid signature by anyone in " + signers), text.npos) << text;
}

TEST_F(GitSignature, IsOfAnAllowedSignerWithAnotherKeyOfThatName) {
  commit_by("eve");
  (void)repository.git(
      {"-c", "user.email=ada@example.org", "commit", "--quiet", "--amend", "--no-edit", "--reset-author"});
  (void)unverified();
}

// The signature of a good commit on a commit that says something else.
TEST_F(GitSignature, IsOfAnotherCommit) {
  commit_by("ada");
  std::string text = repository.git({"cat-file", "commit", "HEAD"}) + "\n";
  const std::size_t at = text.rfind("edit");
  const std::string forged = text.replace(at, 4, "evil");
  const std::string id = repository.git({"hash-object", "-w", "-t", "commit", "--stdin"}, forged);
  (void)repository.git({"update-ref", "refs/heads/main", id});
  (void)unverified();
}

TEST_F(GitSignature, IsForAnotherPurpose) {
  allow("ada@example.org namespaces=\"file\"", "ada");
  commit_by("ada");
  (void)unverified();
  allow("ada@example.org namespaces=\"git\"", "ada");
  EXPECT_TRUE(expect_revision(fetched(with)));
}

TEST_F(GitSignature, IsOfAKeyThatHadExpired) {
  allow("ada@example.org valid-before=\"20200101\"", "ada");
  commit_by("ada");
  (void)unverified();
  allow("ada@example.org valid-after=\"20200101\"", "ada");
  EXPECT_TRUE(expect_revision(fetched(with)));
}

TEST_F(GitSignature, IsNotTrustedOnceItsSignerWasRemoved) {
  commit_by("ada");
  const auto git = source(with);
  const auto before = expect_revision(git->fetch(within(kPatience)));
  allow("eve@example.org", "eve");
  (void)expect_trouble(git->fetch(within(kPatience)), SourceTrouble::not_verified);
  EXPECT_EQ(files_in(before->folder->path()).size(), 1U) << "what was returned stays";
  (void)expect_trouble(git->fetch(within(kPatience)), SourceTrouble::not_verified);
  allow("ada@example.org", "ada");
  EXPECT_TRUE(expect_revision(git->fetch(within(kPatience))));
}

TEST_F(GitSignature, IsOfAProgramThatWouldAcceptAnything) {
  const std::string accepts =
      "#!/bin/sh\ntouch " + (folder / "ran") +
      "\necho '[GNUPG:] NEWSIG'\necho '[GNUPG:] GOODSIG 0123456789ABCDEF Ada'\n"
      "echo '[GNUPG:] VALIDSIG 0 0 0'\necho '[GNUPG:] TRUST_ULTIMATE 0 pgp'\n"
      "echo 'Good \"git\" signature for ada@example.org with ED25519 key x' >&2\nexit 0\n";
  for (const std::string name : {"gpg", "gpgsm", "gpg2"}) {
    write_text(folder / ("bin/" + name), accepts);
    fs::permissions(folder / ("bin/" + name), fs::perms::owner_all);
  }
  Variables variables;
  variables.set("PATH", (folder / "bin") + ":/usr/bin:/bin");
  const std::string id = repository.commit({{"a", "1"}});
  std::string text = repository.git({"cat-file", "commit", id}) + "\n";
  for (const std::string kind : {"PGP SIGNATURE", "SIGNED MESSAGE"}) {
    std::string forged = text;
    forged.insert(forged.find("\n\n"),
                  "\ngpgsig -----BEGIN " + kind + "-----\n \n AAAA\n -----END " + kind + "-----");
    const std::string commit = repository.git({"hash-object", "-w", "-t", "commit", "--stdin"}, forged);
    (void)repository.git({"update-ref", "refs/heads/main", commit});
    (void)unverified();
  }
  EXPECT_FALSE(fs::exists(folder / "ran")) << "another program was asked";
}

TEST_F(GitSignature, OfTheUsersConfigurationIsNotAsked) {
  const std::string trusting = folder / "home/.gitconfig";
  const std::string all = write_text(folder / "all", "eve@example.org " + done({"cat", folder / "eve.pub"}));
  write_text(trusting,
             "[gpg]\n minTrustLevel = undefined\n[gpg \"ssh\"]\n allowedSignersFile = " + all + "\n");
  Variables variables;
  variables.set("HOME", folder / "home");
  variables.set("GIT_CONFIG_GLOBAL", trusting);
  commit_by("eve");
  (void)unverified();
}

TEST_F(GitSignature, OfATagIsNoSignatureOfItsCommit) {
  (void)repository.commit({{"a", "1"}});
  (void)repository.git({"-c", "gpg.format=ssh", "-c", "user.signingkey=" + (folder / "ada.pub"), "tag", "-s",
                        "-m", "x", "v1"});
  with.reference = {GitReference::Kind::tag, "v1"};
  (void)unverified();
}

}  // namespace
}  // namespace lockstep
