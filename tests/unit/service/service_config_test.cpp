#include "reconciler/service/service_config.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lockstep {
namespace {

std::string config(const std::string& spec) {
  return "apiVersion: lockstep.dev/v1alpha1\nkind: ServiceConfig\nspec:\n" + spec;
}

TEST(ServiceConfig, SaysWhereTheSpecsAre) {
  const Result<ServiceConfig> read = parse_service_config(
      "/etc/lockstep/serve.yaml",
      config("  git:\n    repository: https://git.example.org/fabric.git\n    tag: v1\n    path: pod1\n"
             "    username: lockstep\n    passwordFile: git-token\n    signersFile: /etc/signers\n"
             "  interval: 90s\n  resync: 5m\n  measure: false\n  strict: true\n"));
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_TRUE(read->git);
  EXPECT_EQ(read->git->address, "https://git.example.org/fabric.git");
  EXPECT_EQ(read->git->reference.kind, GitReference::Kind::tag);
  EXPECT_EQ(read->git->reference.name, "v1");
  EXPECT_EQ(read->git->path, "pod1");
  EXPECT_EQ(read->git->password_file, "/etc/lockstep/git-token") << "beside the file";
  EXPECT_EQ(read->git->allowed_signers_file, "/etc/signers");
  EXPECT_EQ(read->interval, std::chrono::seconds(90));
  EXPECT_EQ(read->resync, std::chrono::seconds(300));
  EXPECT_FALSE(read->measure);
  EXPECT_TRUE(read->strict);
}

TEST(ServiceConfig, HasDefaults) {
  const Result<ServiceConfig> read =
      parse_service_config("/etc/lockstep/serve.yaml", config("  git: {repository: /srv/specs.git}\n"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->git->reference.name, "main");
  EXPECT_EQ(read->interval, std::chrono::seconds(60));
  EXPECT_EQ(read->resync, std::chrono::seconds(600));
  EXPECT_TRUE(read->measure);
  EXPECT_FALSE(read->strict);
  const Result<ServiceConfig> folder =
      parse_service_config("/etc/lockstep/serve.yaml", config("  folder: specs\n"));
  ASSERT_TRUE(folder) << folder.error().text();
  EXPECT_EQ(folder->folder, "/etc/lockstep/specs");
  EXPECT_EQ(folder->api.listen, std::vector<std::string>{"unix:/run/lockstep/service/api.sock"});
  EXPECT_FALSE(folder->api.tls);
}

TEST(ServiceConfig, SaysHowItIsReached) {
  const Result<ServiceConfig> read = parse_service_config(
      "/etc/lockstep/serve.yaml",
      config("  folder: specs\n  api:\n    cluster: pod1\n    listen: [\"[::]:7445\"]\n"
             "    tls: {ca: ca.crt, certificate: api.crt, key: /run/credentials/api.key}\n"
             "    tokensFile: tokens\n    auditFile: /var/log/audit\n    webhooks: {gitea: secret}\n"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->api.cluster, "pod1");
  EXPECT_EQ(read->api.listen, std::vector<std::string>{"[::]:7445"});
  ASSERT_TRUE(read->api.tls);
  EXPECT_EQ(read->api.tls->ca, "/etc/lockstep/ca.crt");
  EXPECT_EQ(read->api.tls->key, "/run/credentials/api.key");
  EXPECT_EQ(read->api.tls->revoked, "");
  EXPECT_EQ(read->api.tokens, "/etc/lockstep/tokens");
  EXPECT_EQ(read->api.audit, "/var/log/audit");
  EXPECT_EQ(read->api.webhooks, (std::map<std::string, std::string>{{"gitea", "/etc/lockstep/secret"}}));
}

TEST(ServiceConfig, NamesCredentialsOfSystemd) {
  const std::string text = config(
      "  git: {repository: \"https://a/b\", username: u, passwordFile: \"${CREDENTIALS_DIRECTORY}/git\"}\n"
      "  api:\n    cluster: pod1\n    tokensFile: ${CREDENTIALS_DIRECTORY}/tokens\n"
      "    tls: {ca: ca.crt, certificate: a.crt, key: \"${CREDENTIALS_DIRECTORY}/api.key\"}\n"
      "    webhooks: {gitlab: \"${CREDENTIALS_DIRECTORY}/hook\"}\n"
      "    auditFile: \"${HOME}/audit\"\n");
  ::setenv("CREDENTIALS_DIRECTORY", "/run/credentials/lockstep.service", 1);
  const Result<ServiceConfig> read = parse_service_config("/etc/lockstep/serve.yaml", text);
  ::unsetenv("CREDENTIALS_DIRECTORY");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->git->password_file, "/run/credentials/lockstep.service/git");
  EXPECT_EQ(read->api.tokens, "/run/credentials/lockstep.service/tokens");
  EXPECT_EQ(read->api.tls->key, "/run/credentials/lockstep.service/api.key");
  EXPECT_EQ(read->api.tls->ca, "/etc/lockstep/ca.crt");
  EXPECT_EQ(read->api.webhooks.at("gitlab"), "/run/credentials/lockstep.service/hook");
  EXPECT_EQ(read->api.audit, "/etc/lockstep/${HOME}/audit") << "no other variable is replaced";
  const Result<ServiceConfig> without = parse_service_config("/etc/lockstep/serve.yaml", text);
  ASSERT_FALSE(without);
  EXPECT_NE(
      without.error().text().find("/etc/lockstep/serve.yaml: ${CREDENTIALS_DIRECTORY}/git: this process "
                                  "was given no credentials"),
      std::string::npos)
      << without.error().text();
}

TEST(ServiceConfig, SaysWhomItTells) {
  const Result<ServiceConfig> read = parse_service_config(
      "/etc/lockstep/serve.yaml",
      config("  folder: specs\n  alerts:\n    alertmanager: [\"http://a:9093\", \"https://b/prefix\"]\n"
             "    webhook: {url: \"https://hooks.example.org/x\", secretFile: hook-secret}\n"
             "    caFile: /etc/ca.crt\n    after: 2m\n"));
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_TRUE(read->alerts);
  EXPECT_EQ(read->alerts->alertmanagers, (std::vector<std::string>{"http://a:9093", "https://b/prefix"}));
  EXPECT_EQ(read->alerts->webhook, "https://hooks.example.org/x");
  EXPECT_EQ(read->alerts->secret, "/etc/lockstep/hook-secret");
  EXPECT_EQ(read->alerts->ca, "/etc/ca.crt");
  EXPECT_EQ(read->alerts->after, std::chrono::seconds(120));
  const Result<ServiceConfig> none = parse_service_config("s.yaml", config("  folder: specs\n"));
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->alerts);
}

// Each is refused with the place and what would be right.
TEST(ServiceConfig, RefusesWhatItCannotUse) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {config("  git: {repository: /a, branch: x, commit: y}\n"), "4:44: error LS1010"},
      {config("  git: {branch: x}\n"), "repository"},
      {config("  folder: specs\n  git: {repository: /a}\n"), "write one of them"},
      {config("  interval: 1h\n"), "write git or folder"},
      {config("  folder: specs\n  interval: 1ms\n"), "1s to 1d"},
      {config("  folder: specs\n  api: {tls: {ca: a, certificate: b, key: c}}\n"), "write cluster"},
      {config("  folder: specs\n  mesure: true\n"), "did you mean 'measure'"},
      {config("  folder: specs\n  alerts: {after: 1m}\n"), "write alertmanager or webhook"},
      {config("  folder: specs\n  alerts: {alertmanager: [\"ftp://a\"]}\n"), "5:27: error LS1004"},
      {config("  folder: specs\n  alerts: {alertmanager: [\"http:///x\"]}\n"), "write https://HOST/PATH"},
      {config("  folder: specs\n  alerts: {alertmanager: [\"http://ann:word@a\"]}\n"), "LS1013"},
      {config("  folder: specs\n  alerts: {webhook: {url: \"http://a\"}}\n"), "secretFile"},
      {config("  folder: specs\n  alerts: {webhook: {url: \"a\", secretFile: b}}\n"),
       "write https://HOST/PATH"},
      {config("  folder: specs\n  alerts: {webhook: {url: \"http://a\", secretFile: b}, after: 2d}\n"),
       "0s to 1d"},
      {"apiVersion: lockstep.dev/v1\nkind: ServiceConfig\nspec: {folder: a}\n", "lockstep.dev/v1alpha1"},
      {"apiVersion: lockstep.dev/v1alpha1\nkind: AgentConfig\nspec: {folder: a}\n", "ServiceConfig"},
      {config("  folder: a\n") + "---\n" + config("  folder: b\n"), "a second document"},
      {"", "nothing is written here"},
      {"a: [", "serve.yaml:1"},
  };
  for (const auto& [text, says] : wrong) {
    const Result<ServiceConfig> read = parse_service_config("serve.yaml", text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().text().find(says), std::string::npos) << text << read.error().text();
  }
}

}  // namespace
}  // namespace lockstep
