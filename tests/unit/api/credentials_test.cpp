// Tokens, webhooks' signatures, rate limits and the audit log.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "reconciler/api/audit_log.hpp"
#include "reconciler/api/authentication.hpp"
#include "reconciler/api/rate_limits.hpp"
#include "reconciler/api/tokens.hpp"
#include "reconciler/api/webhooks.hpp"
#include "specs/files/secret_file.hpp"
#include "temporary_path.hpp"

namespace lockstep::api {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// By sha256sum(1): of "alpha" and "beta".
constexpr const char* kAlpha = "8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8";
constexpr const char* kBeta = "f44e64e75f3948e9f73f8dfa94721c4ce8cbb4f265c4790c702b2d41cfbf2753";

std::string token_line(const std::string& name, const std::string& role, const std::string& hash) {
  return name + ":" + role + ":" + hash + "\n";
}

TEST(ApiTokens, AreKnownByTheirHash) {
  const TemporaryPath folder;
  const std::string file = folder.write("tokens", "# people\n\n" + token_line("ann", "operator", kAlpha) +
                                                      token_line("grafana", "viewer", kBeta));
  const auto tokens = TokenFile::open(file);
  ASSERT_TRUE(tokens) << tokens.error().text();
  ASSERT_TRUE(tokens->find("alpha"));
  EXPECT_EQ(tokens->find("alpha")->name, "ann");
  EXPECT_EQ(tokens->find("alpha")->role, Role::operator_);
  EXPECT_EQ(tokens->find("beta")->role, Role::viewer);
  for (const char* const token : {"", "Alpha", "alpha ", "gamma", kAlpha})
    EXPECT_FALSE(tokens->find(token)) << token;
}

TEST(ApiTokens, RefuseAFileWithAnInvalidLineAtStart) {
  const TemporaryPath folder;
  const auto why = [&](const std::string& text, mode_t mode = 0600) {
    const auto tokens = TokenFile::open(folder.write("tokens", text, mode));
    return tokens ? "" : tokens.error().text();
  };
  EXPECT_NE(why("ann:operator\n").find("tokens:1: the line is not NAME:ROLE:SHA256"), std::string::npos);
  EXPECT_NE(why("\nann:root:" + std::string(kAlpha)).find("tokens:2: the line has an unknown role"),
            std::string::npos);
  EXPECT_NE(why("a b:viewer:" + std::string(kAlpha)).find("invalid name"), std::string::npos);
  EXPECT_NE(why("ann:viewer:alpha").find("SHA-256"), std::string::npos);
  EXPECT_NE(why(token_line("a", "viewer", kAlpha) + token_line("b", "admin", kAlpha)).find("hash of another"),
            std::string::npos);
  EXPECT_NE(why(token_line("a", "viewer", kAlpha), 0620).find("others may write it"), std::string::npos);
  if (::geteuid() == 0) {
    folder.write("tokens", token_line("a", "viewer", kAlpha));
    ASSERT_EQ(::chown(folder.file("tokens").c_str(), 4711, 4711), 0);
    EXPECT_NE(TokenFile::open(folder.file("tokens")).error().text().find("another user"), std::string::npos);
    ::unlink(folder.file("tokens").c_str());
  }
  std::string many;
  for (std::size_t i = 0; i <= kTokensMax; ++i) {
    many += token_line("a", "viewer", std::string(60, 'a') + std::to_string(1000 + i));
  }
  EXPECT_NE(why(many).find("more than 1000"), std::string::npos);
  EXPECT_FALSE(TokenFile::open(folder.file("none")));
  EXPECT_FALSE(TokenFile::open("")->find("alpha"));
}

TEST(ApiTokens, EndWithTheirLine) {
  const TemporaryPath folder;
  std::vector<std::string> said;
  const auto log = [&](const std::string& line) { said.push_back(line); };
  folder.write("tokens", token_line("ann", "operator", kAlpha) + token_line("bob", "viewer", kBeta));
  auto tokens = *TokenFile::open(folder.file("tokens"));
  const TokenOwner ann = *tokens.find("alpha");
  EXPECT_FALSE(tokens.refresh(log));
  folder.write("tokens", token_line("ann", "viewer", kAlpha) + "what is this\n");
  EXPECT_TRUE(tokens.refresh(log));
  EXPECT_NE(said.at(0).find("tokens:2:"), std::string::npos);
  EXPECT_FALSE(tokens.accepts(ann)) << "she is a viewer now";
  EXPECT_EQ(tokens.find("alpha")->role, Role::viewer);
  EXPECT_FALSE(tokens.find("beta"));
  ::unlink(folder.file("tokens").c_str());
  EXPECT_TRUE(tokens.refresh(log));
  EXPECT_FALSE(tokens.find("alpha")) << "no file, no token";
}

TEST(ApiAuthentication, BelievesCredentialsAndNoPlace) {
  const TemporaryPath folder;
  const Authentication who(*TokenFile::open(folder.write("tokens", token_line("ann", "operator", kAlpha))),
                           4711);
  const Peer loopback{.address = "127.0.0.1", .limits_key = "127.0.0.1"};
  EXPECT_FALSE(who.judge("", loopback)) << "this machine is nobody";
  EXPECT_EQ(who.judge("Bearer alpha", loopback)->caller.who(), "operator ann");
  EXPECT_EQ(who.judge("bearer alpha", loopback)->caller.credential, "token");
  for (const char* const header : {"Basic alpha", "Bearer", "Bearer ", "Bearer beta", "alpha"})
    EXPECT_FALSE(who.judge(header, loopback)) << header;

  Peer local{.address = "this machine"};
  for (const uid_t user : {0U, 4711U}) {
    local.user = user;
    ASSERT_TRUE(who.judge("", local)) << user;
    EXPECT_EQ(who.judge("", local)->caller.role, Role::admin);
  }
  EXPECT_FALSE(who.judge("Bearer beta", local)) << "a token that comes is judged, and nothing else";
  EXPECT_EQ(who.judge("Bearer alpha", local)->caller.role, Role::operator_);
  local.user = 1000;
  EXPECT_FALSE(who.judge("", local));

  Peer certified = loopback;
  for (const auto& [role, as] : {std::pair{PeerRole::viewer, Role::viewer},
                                 {PeerRole::operator_, Role::operator_},
                                 {PeerRole::admin, Role::admin}}) {
    certified.certificate = PeerIdentity{"pod1", role, "bob"};
    EXPECT_EQ(who.judge("", certified)->caller.role, as);
  }
}

// https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries, "Testing the webhook
// payload validation"; the others by openssl(1): printf %s 'Hello, World!' | openssl dgst -sha256 -hmac
// s3cr3t.
TEST(ApiWebhooks, AreProvedAsEachForgeDoesIt) {
  const auto holds = [](Forge forge, const std::string& secret, std::string_view proof,
                        std::string_view body) {
    WebhookProof check(forge, secret, proof);
    check.add(body.substr(0, body.size() / 2));
    check.add(body.substr(body.size() / 2));
    return check.holds();
  };
  const std::string github = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  const std::string secret = "It's a Secret to Everybody";
  EXPECT_TRUE(holds(Forge::github, secret, "sha256=" + github, "Hello, World!"));
  EXPECT_TRUE(holds(Forge::gitea, secret, github, "Hello, World!"));
  EXPECT_FALSE(holds(Forge::github, secret, github, "Hello, World!")) << "without its prefix";
  EXPECT_FALSE(holds(Forge::gitea, secret, "sha256=" + github, "Hello, World!"));
  EXPECT_FALSE(holds(Forge::github, secret, "sha256=" + github, "Hello, World"));
  EXPECT_FALSE(holds(Forge::github, secret + " ", "sha256=" + github, "Hello, World!"));
  EXPECT_FALSE(holds(Forge::github, "", "sha256=" + github, "Hello, World!"));
  for (const std::string& proof :
       {std::string(), std::string("sha256="), "sha256=" + github.substr(1), "sha256=" + github + "00",
        "sha1=" + github, std::string("sha256=") + std::string(64, 'x')})
    EXPECT_FALSE(holds(Forge::github, secret, proof, "Hello, World!")) << proof;
  EXPECT_TRUE(holds(Forge::gitlab, "s3cr3t", "s3cr3t", "whatever it is"));
  EXPECT_FALSE(holds(Forge::gitlab, "s3cr3t", "s3cr3", "whatever it is"));
  EXPECT_FALSE(holds(Forge::gitlab, "", "", "whatever it is"));
}

TEST(ApiWebhooks, ReadASecretThatNobodyElseCan) {
  const TemporaryPath folder;
  EXPECT_EQ(*read_secret(folder.write("s", "s3cr3t\n")), "s3cr3t");
  EXPECT_NE(read_secret(folder.write("s", "s3cr3t", 0640)).error().text().find("chmod 600"),
            std::string::npos);
  EXPECT_FALSE(read_secret(folder.write("empty", "\n")));
  EXPECT_FALSE(read_secret(folder.write("long", std::string(5000, 'x'))));
  EXPECT_FALSE(read_secret(folder.file("none")));
}

TEST(ApiRateLimits, AllowABurstAndThenARate) {
  RateLimits limits(10, 3);
  const Time start{};
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limits.take("ann", start));
  EXPECT_EQ(limits.take("ann", start), milliseconds(100));
  EXPECT_FALSE(limits.take("bob", start)) << "others have their own";
  EXPECT_EQ(limits.take("ann", start + milliseconds(50)), milliseconds(50));
  EXPECT_FALSE(limits.take("ann", start + milliseconds(100)));
  EXPECT_TRUE(limits.take("ann", start + milliseconds(100)));
  int taken = 0;
  for (int i = 0; i < 100; ++i)
    if (!limits.take("ann", start + seconds(10))) ++taken;
  EXPECT_EQ(taken, 3) << "waiting longer saves no more than the burst";
}

TEST(ApiRateLimits, RememberABoundedNumberOfClients) {
  RateLimits limits(1, 2);
  const Time start{};
  for (std::size_t i = 0; i < RateLimits::kClientsMax; ++i) limits.take("c" + std::to_string(i), start);
  EXPECT_FALSE(limits.take("x", start));
  EXPECT_FALSE(limits.take("y", start));
  EXPECT_TRUE(limits.take("z", start)) << "who is not remembered shares one bucket";
  EXPECT_LE(limits.clients(), RateLimits::kClientsMax + 1);
  EXPECT_FALSE(limits.take("z", start + seconds(60)));
  EXPECT_LE(limits.clients(), 3U) << "the others are full again, and forgotten";
}

AuditLine audit_sample() {
  return {.id = "0011",
          .stage = AuditLine::Stage::complete,
          .at = WallTime(seconds(1'795'000'000)),
          .caller = {.role = Role::operator_, .name = "ann", .credential = "token", .from = "192.0.2.7"},
          .action = "approve",
          .object = "Revision/3f2a\n{\"forged\": 1}",
          .steps = {"sha256:aabb"},
          .reason = "window",
          .outcome = "done",
          .code = 200};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TEST(ApiAudit, IsOneJsonLineForEachRecord) {
  const TemporaryPath folder;
  const auto log = AuditLog::open(folder.file("audit"));
  ASSERT_TRUE(log) << log.error().text();
  ASSERT_TRUE((*log)->record(audit_sample()));
  ASSERT_TRUE((*log)->record(audit_sample()));
  const auto lines = lines_of(folder.read("audit"));
  ASSERT_EQ(lines.size(), 2U) << "what a client sends makes no line of its own";
  const auto json = nlohmann::json::parse(lines[1]);
  EXPECT_EQ(json["who"], "ann");
  EXPECT_EQ(json["role"], "operator");
  EXPECT_EQ(json["from"], "192.0.2.7");
  EXPECT_EQ(json["stage"], "ResponseComplete");
  EXPECT_EQ(json["steps"][0], "sha256:aabb");
  EXPECT_EQ(json["outcome"], "done");
  struct stat found {};
  ASSERT_EQ(::stat(folder.file("audit").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
}

TEST(ApiAudit, GoesOnInANewFileAfterARotationAndAfterATornLine) {
  const TemporaryPath folder;
  folder.write("audit", "{\"half of a li");
  const auto log = *AuditLog::open(folder.file("audit"));
  ASSERT_TRUE(log->record(audit_sample()));
  ASSERT_EQ(lines_of(folder.read("audit")).size(), 2U);
  EXPECT_TRUE(nlohmann::json::accept(lines_of(folder.read("audit"))[1]));
  ASSERT_EQ(::rename(folder.file("audit").c_str(), folder.file("audit.1").c_str()), 0);
  ASSERT_TRUE(log->record(audit_sample()));
  EXPECT_EQ(lines_of(folder.read("audit")).size(), 1U);
}

TEST(ApiAudit, ReportsADiskThatIsFullAndLosesNothingAfterIt) {
  const TemporaryPath folder;
  const auto log = *AuditLog::open(folder.file("audit"));
  ASSERT_TRUE(log->record(audit_sample()));
  const std::size_t size = folder.read("audit").size();
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{size + 10, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &little);
  const auto failed = log->record(audit_sample());
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(failed);
  ASSERT_TRUE(log->record(audit_sample()));
  const auto lines = lines_of(folder.read("audit"));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(nlohmann::json::accept(lines[0]));
  EXPECT_FALSE(nlohmann::json::accept(lines[1]));
  EXPECT_TRUE(nlohmann::json::accept(lines[2]));
}

TEST(ApiAudit, RefusesWhatItCanNotAppendTo) {
  const TemporaryPath folder;
  EXPECT_FALSE(AuditLog::open(folder.file("no/such/folder")));
  EXPECT_FALSE(AuditLog::open("/dev/null"));
  ASSERT_EQ(::symlink("/dev/null", folder.file("link").c_str()), 0);
  EXPECT_FALSE(AuditLog::open(folder.file("link")));
}

}  // namespace
}  // namespace lockstep::api
