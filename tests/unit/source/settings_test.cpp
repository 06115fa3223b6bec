// Settings that make_git_source() and make_folder_source() refuse before anything is started.
#include <gtest/gtest.h>

#include "reconciler/source/git_tree.hpp"
#include "reconciler/source/git_trouble.hpp"
#include "tests/unit/source/lab.hpp"

namespace lockstep {
namespace {

// The error's text; empty: accepted.
std::string refusal(const GitSettings& settings) {
  const auto made = make_git_source(settings);
  if (made) return "";
  EXPECT_EQ(made.error().kind, ErrorKind::invalid_spec);
  return made.error().text();
}

GitSettings at(const std::string& address) {
  GitSettings out{.address = address, .cache = "/nonexistent/cache"};
  if (address.starts_with("ssh://")) {
    out.ssh_key_file = "/etc/lockstep/key";
    out.ssh_known_hosts_file = "/etc/lockstep/known_hosts";
  }
  return out;
}

TEST(GitSettings, AcceptAddressesOfTheSupportedKinds) {
  for (const std::string address :
       {"https://git.example.org/fabric.git", "https://git.example.org:8443/a/b.git",
        "https://[2001:db8::1]/x", "http://localhost/x", "http://127.0.0.1:8080/x", "http://127.9.9.9/x",
        "http://[::1]:80/x", "ssh://git@git.example.org/fabric.git", "ssh://git.example.org:2222/~ann/x",
        "ssh://a.b-c_d@[::1]:22/x", "/srv/git/fabric.git", "/srv/with space/and:colon"})
    EXPECT_EQ(refusal(at(address)), "") << address;
}

TEST(GitSettings, RefuseOtherAddresses) {
  for (const std::string address : {"",
                                    "fabric.git",
                                    "./fabric",
                                    "-u/tmp/x",
                                    "--upload-pack=touch /tmp/x",
                                    "git@git.example.org:fabric.git",
                                    "git://git.example.org/x",
                                    "file:///srv/git",
                                    "ext::sh -c touch% /tmp/x",
                                    "ftp://h/x",
                                    "HTTPS://h/x",
                                    "https://",
                                    "https:///x",
                                    "https://h",
                                    "https://h/",
                                    "https://h:0x50/p",
                                    "https://h:/p",
                                    "https://h:123456/p",
                                    "https://-oProxyCommand=touch/x",
                                    "ssh://-oProxyCommand=touch/x",
                                    "ssh://-x@h/p",
                                    "ssh://a b@h/p",
                                    "https://h/a b",
                                    "https://h/p?token=x",
                                    "https://h/p#x",
                                    "https://h/\n",
                                    "https://h/%0ahost=x",
                                    "https://h/%1B",
                                    "https://h/%7f",
                                    "https://h\\@evil/x",
                                    "https://[::1/x",
                                    "https://[::zz]/x",
                                    "http://h/x",
                                    "http://127.evil.example/x",
                                    "http://localhost.evil.example/x",
                                    "http://10.0.0.1/x",
                                    "http://1270.0.0.1/x",
                                    "https://h/\xc3\xa9"})
    EXPECT_NE(refusal(at(address)), "") << address;
}

TEST(GitSettings, DoNotRepeatACredentialInAnAddress) {
  for (const std::string address :
       {"https://ann:s3cr3t@h/x", "https://s3cr3t@h/x", "http://a:s3cr3t@localhost/x", "ssh://ann:s3cr3t@h/x",
        "s3cr3t://x", "ann:s3cr3t@h/x"}) {
    const std::string text = refusal(at(address));
    EXPECT_NE(text, "") << address;
    EXPECT_EQ(text.find("s3cr3t"), text.npos) << text;
  }
}

TEST(GitSettings, RefuseNamesThatAreOptionsOrNoNames) {
  using enum GitReference::Kind;
  const auto with = [](GitReference::Kind kind, const std::string& name) {
    GitSettings out = at("/srv/fabric");
    out.reference = {kind, name};
    return refusal(out);
  };
  for (const auto kind : {branch, tag}) {
    for (const std::string name : {"main", "v1.2", "release/2026-11", "@home", "a-b", "\xc3\xa9"})
      EXPECT_EQ(with(kind, name), "") << name;
    for (const std::string name : {"",
                                   "--upload-pack=touch /tmp/x",
                                   "--upload-pack=touch",
                                   "-b",
                                   "a..b",
                                   "a b",
                                   "a~1",
                                   "a^{}",
                                   "a:b",
                                   "a*",
                                   "a?",
                                   "a[",
                                   "a\\b",
                                   "/a",
                                   "a/",
                                   "a//b",
                                   ".a",
                                   "a/.b",
                                   "a.lock",
                                   "a.lock/b",
                                   "a.",
                                   "@",
                                   "a@{1}",
                                   "a\nb",
                                   "a\x7f",
                                   "refs/heads/main"})
      EXPECT_NE(with(kind, name), "") << name;
  }
  const std::string full = "0123456789abcdef0123456789abcdef01234567";
  EXPECT_EQ(with(commit, full), "");
  EXPECT_EQ(with(commit, full + full.substr(0, 24)), "");
  for (const std::string& name : {full.substr(0, 39), full.substr(0, 7), full + "0", std::string(40, 'A'),
                                  std::string("main"), std::string(), "-" + full.substr(1)})
    EXPECT_NE(with(commit, name).find("full hash"), std::string::npos) << name;
}

TEST(GitSettings, RefuseFoldersThatAreNotInTheRepository) {
  for (const std::string path :
       {"/etc", "..", "../x", "a/../b", "a/..", "./a", "a/.", "a//b", "a/", "a\nb"}) {
    GitSettings settings = at("/srv/fabric");
    settings.path = path;
    EXPECT_NE(refusal(settings), "") << path;
  }
}

TEST(GitSettings, RefuseContradictions) {
  const auto with = [](const std::string& address, auto edit) {
    GitSettings settings = at(address);
    edit(settings);
    return refusal(settings);
  };
  const std::string https = "https://h/x";
  const auto refused = [&](const std::string& address, const std::string& words, auto edit) {
    EXPECT_NE(with(address, edit).find(words), std::string::npos) << with(address, edit);
  };
  refused(https, "cache", [](auto& s) { s.cache = ""; });
  refused(https, "cache", [](auto& s) { s.cache = "cache"; });
  refused(https, "missing", [](auto& s) { s.username = "ann"; });
  refused(https, "missing", [](auto& s) { s.password_file = "/p"; });
  refused(https, "username", [](auto& s) { s.username = "a:b", s.password_file = "/p"; });
  refused(https, "sshKeyFile", [](auto& s) { s.ssh_key_file = "/k"; });
  refused("/srv/x", "caFile", [](auto& s) { s.ca_file = "/c"; });
  refused("/srv/x", "passwordFile", [](auto& s) { s.username = "ann", s.password_file = "/p"; });
  refused("ssh://h/x", "sshKeyFile", [](auto& s) { s.ssh_key_file = ""; });
  refused("ssh://h/x", "sshKnownHostsFile", [](auto& s) { s.ssh_known_hosts_file = ""; });
  refused("ssh://h/x", "quotation", [](auto& s) { s.ssh_key_file = "/a\" -o ProxyCommand=\"x"; });
  refused("ssh://h/x", "passwordFile", [](auto& s) { s.username = "ann", s.password_file = "/p"; });
  refused(https, "max_files", [](auto& s) { s.max_files = 0; });
}

TEST(GitSettings, TitleHasAddressAndReference) {
  GitSettings settings = at("https://git.example.org/fabric.git");
  settings.username = "ann";
  settings.password_file = "/etc/lockstep/s3cr3t";
  EXPECT_EQ((*make_git_source(settings))->title(), "https://git.example.org/fabric.git branch main");
  settings.reference = {GitReference::Kind::tag, "v1"};
  EXPECT_EQ((*make_git_source(settings))->title(), "https://git.example.org/fabric.git tag v1");
}

TEST(FolderSettings, RefuseRelativeFoldersAndACacheWithinItself) {
  const auto refused = [](const FolderSettings& settings) { return !make_folder_source(settings); };
  EXPECT_FALSE(refused({.folder = "/srv/specs", .cache = "/srv/specs-cache"}));
  EXPECT_TRUE(refused({.folder = "specs", .cache = "/srv/cache"}));
  EXPECT_TRUE(refused({.folder = "/srv/specs", .cache = "cache"}));
  EXPECT_TRUE(refused({.folder = "/srv/specs", .cache = "/srv/specs"}));
  EXPECT_TRUE(refused({.folder = "/srv/specs/", .cache = "/srv/./specs/cache"}));
  EXPECT_TRUE(refused({.folder = "/srv/specs", .cache = "/srv/cache", .max_bytes = 0}));
}

TEST(SourceTroubles, HaveStableNames) {
  using enum SourceTrouble;
  std::string all;
  for (const auto one : {unreachable, denied, not_found, too_large, not_allowed, not_verified, broken, local})
    all += std::string(to_string(one)) + " ";
  EXPECT_EQ(all, "Unreachable Denied NotFound TooLarge NotAllowed NotVerified Broken Local ");
}

TEST(Conflicts, AreFoundWhereGitWritesThem) {
  const std::string both = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n";
  EXPECT_EQ(find_conflict(both), 1U);
  EXPECT_EQ(find_conflict("a: 1\n" + both), 2U);
  EXPECT_EQ(find_conflict("a\r\n<<<<<<< HEAD\r\n=======\r\n>>>>>>> b\r\n"), 2U);
  EXPECT_EQ(find_conflict("<<<<<<< ours\n1\n||||||| base\n2\n=======\n3\n>>>>>>> theirs"), 1U);
  for (const std::string none :
       {"", "Title\n=======\ntext\n", "<<<<<<< HEAD\n", "  <<<<<<< a\n  =======\n  >>>>>>> b\n",
        "<<<<<<<<\n========\n>>>>>>>>\n", ">>>>>>> a\n=======\n<<<<<<< b\n"})
    EXPECT_EQ(find_conflict(none), 0U) << none;
}

TEST(GitTrouble, IsOneLineWithoutControlCharactersAndSecrets) {
  const GitContext context{.title = "TITLE", .secrets = {"s3cr3t", "czNjcjN0"}};
  const Ended ended{.well = false,
                    .out = "",
                    .err =
                        "remote: Repository not found\nfatal: \x1b[31ms3cr3t and czNjcjN0 s3cr3ts3cr3t\r\n"
                        "Please make sure you have the correct access rights\n"};
  const SourceError error = fetch_trouble(ended, context);
  EXPECT_EQ(error.trouble, SourceTrouble::unreachable) << "what the server says decides nothing";
  EXPECT_NE(error.error.what.find("(git: \\x1b[31m*** and *** ******)"), std::string::npos)
      << error.error.what;
}

// Git 2.39's words, with names that contain the words of other troubles.
TEST(GitTrouble, DependsOnGitsWordsAndNotOnNames) {
  const auto trouble = [](const std::string& said) {
    return fetch_trouble({.well = false, .out = "", .err = said + "\n"}, {.title = "T"}).trouble;
  };
  using enum SourceTrouble;
  EXPECT_EQ(trouble("fatal: couldn't find remote ref refs/heads/early-EOF"), not_found);
  EXPECT_EQ(trouble("fatal: '/srv/fsck error' does not appear to be a git repository"), not_found);
  EXPECT_EQ(trouble("fatal: repository 'http://127.0.0.1/SSL%20certificate/' not found"), not_found);
  EXPECT_EQ(
      trouble("fatal: unable to access 'https://h/certificate verification/': Could not resolve host: h"),
      unreachable);
  EXPECT_EQ(trouble("fatal: http://h/missing-index-pack/info/refs not valid: is this a git repository?"),
            not_found);
  EXPECT_EQ(trouble("fatal: unable to access 'https://h/x/': server certificate verification failed. CAfile: "
                    "none CRLfile: none"),
            denied);
  EXPECT_EQ(trouble("fatal: unable to access 'https://h/x/': SSL: no alternative certificate subject name "
                    "matches target "
                    "host name 'h'"),
            denied);
  EXPECT_EQ(
      trouble("fatal: unable to access 'https://h/x/': SSL certificate problem: self-signed certificate"),
      denied);
  EXPECT_EQ(
      trouble(
          "error: RPC failed; curl 56 GnuTLS recv error (-9)\nfatal: early EOF\nfatal: fetch-pack: invalid "
          "index-pack output"),
      unreachable);
  EXPECT_EQ(
      trouble("fatal: write error: No space left on device\nfatal: fetch-pack: invalid index-pack output"),
      local);
  EXPECT_EQ(trouble("fatal: sha1 file 'objects/pack/tmp_idx_a' write error. Out of diskspace\n"
                    "fatal: fetch-pack: invalid index-pack output"),
            local);
  EXPECT_EQ(trouble("error: cannot update ref 'refs/lockstep/fetched': couldn't write '/c/r.lock'\n"
                    "warning: it took 5 seconds to check forced updates"),
            local);
  EXPECT_EQ(trouble("git: 'remote-https' is not a git command. See 'git --help'."), local);
  EXPECT_EQ(trouble(""), unreachable);
  EXPECT_EQ(trouble("fatal: something new"), unreachable);
}

TEST(GitTrouble, IsShortWhateverGitPrints) {
  const Ended ended{.well = false, .out = "", .err = "fatal: " + std::string(100'000, 'x') + "\n"};
  EXPECT_LT(fetch_trouble(ended, {.title = "T"}).error.what.size(), 500U);
}

}  // namespace
}  // namespace lockstep
