// `lockstep ca`: what each command writes and prints. The certificates are judged in tests/unit/pki.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "said.hpp"

namespace lockstep {
namespace {

class CaCommands : public testing::Test {
 protected:
  CaCommands() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-ca-XXXXXX").string();
    top_ = mkdtemp(pattern.data());
    ca = top_ + "/ca";
  }
  ~CaCommands() override { std::filesystem::remove_all(top_); }

  static nlohmann::json json_of(std::vector<std::string> words) {
    words.insert(words.begin(), "ca");
    words.insert(words.end(), {"-o", "json"});
    const Answer said = say(words);
    EXPECT_EQ(said.code, 0) << said.out << said.err;
    return nlohmann::json::parse(said.out, nullptr, false);
  }
  // The error of a command that is refused.
  static std::string refused(std::vector<std::string> words) {
    words.insert(words.begin(), "ca");
    const Answer said = say(words);
    EXPECT_EQ(said.code, 1) << said.out;
    EXPECT_EQ(said.out, "");
    return said.err;
  }
  std::string at(const std::string& name) const { return top_ + "/" + name; }
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& one : std::filesystem::recursive_directory_iterator(top_))
      if (!one.is_directory()) out.push_back(std::filesystem::relative(one.path(), top_).string());
    std::sort(out.begin(), out.end());
    return out;
  }

  std::string ca;

 private:
  std::string top_;
};

TEST_F(CaCommands, IssueShowAndRevoke) {
  const nlohmann::json made = json_of({"init", ca, "--cluster", "pod"});
  EXPECT_EQ(made["kind"], "CertificateAuthority");
  EXPECT_EQ(made["cluster"], "pod");
  const nlohmann::json device = json_of({"issue", "--role", "device", "--name", "gpu1", "--dns", "a.example",
                                         "--dns", "b.example", "--ip", "10.0.0.1", ca, "--out", at("gpu1")});
  EXPECT_EQ(device["identity"], "lockstep://pod/device/gpu1");
  EXPECT_EQ(device["dns"], nlohmann::json({"a.example", "b.example"}));
  EXPECT_EQ(device["addresses"], nlohmann::json({"10.0.0.1"}));
  EXPECT_EQ(device["key"], at("gpu1/gpu1.key"));
  const nlohmann::json controller =
      json_of({"issue", ca, "--role", "controller", "--name", "ctl", "--days", "1"});
  EXPECT_EQ(controller["role"], "controller");
  EXPECT_EQ(controller["uses"], nlohmann::json({"clientAuth"}));
  EXPECT_EQ(files(), (std::vector<std::string>{"ca/ca.crl", "ca/ca.crt", "ca/ca.key", "ca/ctl.crt",
                                               "ca/ctl.key", "gpu1/gpu1.crt", "gpu1/gpu1.key"}));
  nlohmann::json shown = json_of({"show", at("gpu1/gpu1.crt")});
  EXPECT_EQ(shown["state"], "valid");
  for (const char* const field : {"identity", "serial", "fingerprint", "notAfter", "dns", "cluster", "name"})
    EXPECT_EQ(shown[field], device[field]) << field;
  const nlohmann::json own = json_of({"show", ca + "/ca.crt"});
  EXPECT_EQ(own["role"], "authority");
  EXPECT_EQ(own["cluster"], "pod");
  EXPECT_TRUE(own["identity"].is_null());
  EXPECT_EQ(own["fingerprint"], made["fingerprint"]);
  const nlohmann::json list = json_of({"revoke", ca, at("gpu1/gpu1.crt"), ca + "/ctl.crt"});
  EXPECT_EQ(list["added"], 2);
  const nlohmann::json renewed = json_of({"crl", ca});
  EXPECT_EQ(renewed["added"], 0);
  EXPECT_EQ(renewed["number"], 3);
  EXPECT_EQ(renewed["revoked"], list["revoked"]);
  const auto has = [&](const nlohmann::json& serial) {
    return std::any_of(list["revoked"].begin(), list["revoked"].end(),
                       [&](const nlohmann::json& one) { return one["serial"] == serial; });
  };
  EXPECT_TRUE(has(device["serial"]) && has(controller["serial"])) << list;
}

// What they are accepted for: tests/unit/api/server_tls_test.cpp.
TEST_F(CaCommands, IssueForAServiceAndItsUsers) {
  json_of({"init", ca, "--cluster", "pod"});
  const nlohmann::json service = json_of({"issue", ca, "--role", "service", "--name", "api"});
  EXPECT_EQ(service["identity"], "lockstep://pod/service/api");
  EXPECT_EQ(service["uses"], nlohmann::json({"serverAuth"}));
  EXPECT_EQ(service["dns"], nlohmann::json({"api"})) << "clients look for a host";
  for (const char* const role : {"viewer", "operator", "admin"}) {
    const nlohmann::json user = json_of({"issue", ca, "--role", role, "--name", role});
    EXPECT_EQ(user["identity"], std::string("lockstep://pod/") + role + "/" + role);
    EXPECT_EQ(user["role"], role);
    EXPECT_EQ(user["uses"], nlohmann::json({"clientAuth"}));
  }
}

TEST_F(CaCommands, TextNamesFilesAndWhatToDo) {
  const Answer made = say({"ca", "init", ca, "--cluster", "pod"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_TRUE(made.out.starts_with("authority of cluster pod\n")) << made.out;
  EXPECT_NE(made.out.find("Whoever has the key can be any device, controller, user and service"),
            std::string::npos)
      << made.out;
  const Answer issued = say({"ca", "issue", ca, "--role", "device", "--name", "gpu1", "--ip", "10.0.0.1"});
  EXPECT_EQ(issued.code, 0) << issued.err;
  EXPECT_TRUE(issued.out.starts_with("lockstep://pod/device/gpu1\n")) << issued.out;
  for (const std::string& part : {ca + "/gpu1.key", std::string("gpu1\n"), std::string("10.0.0.1\n"),
                                  std::string("serverAuth\n"), std::string("valid\n")})
    EXPECT_NE(issued.out.find(part), std::string::npos) << part << ":\n" << issued.out;
  const Answer shown = say({"ca", "show", ca + "/gpu1.crt"});
  const std::size_t print = issued.out.find("sha256:");
  ASSERT_NE(print, std::string::npos);
  EXPECT_NE(shown.out.find(issued.out.substr(print, std::string("sha256:").size() + 64)), std::string::npos)
      << shown.out;
  const Answer revoked = say({"ca", "revoke", ca, ca + "/gpu1.crt"});
  EXPECT_TRUE(revoked.out.starts_with(ca + "/ca.crl: 1 certificate added, 1 in all\n")) << revoked.out;
  EXPECT_NE(revoked.out.find("Run \"lockstep ca crl " + ca + "\" before then"), std::string::npos)
      << revoked.out;
}

TEST_F(CaCommands, RefusalsSuggestWhatToDoAndWriteNothing) {
  EXPECT_NE(refused({"issue", ca, "--role", "device", "--name", "gpu1"}).find(ca + ": "), std::string::npos);
  EXPECT_NE(refused({"init", ca, "--cluster", "a/b"}).find("cluster name 'a/b' is invalid"),
            std::string::npos);
  EXPECT_NE(refused({"init", ca}).find("--cluster is required"), std::string::npos);
  EXPECT_EQ(files(), std::vector<std::string>{});
  ASSERT_EQ(say({"ca", "init", ca, "--cluster", "pod"}).code, 0);
  ASSERT_EQ(say({"ca", "issue", ca, "--role", "reader", "--name", "viewer"}).code, 0);
  const std::vector<std::string> before = files();
  EXPECT_NE(refused({"init", ca, "--cluster", "pod"}).find("already"), std::string::npos);
  EXPECT_NE(refused({"issue", ca, "--role", "reader", "--name", "viewer"}).find("run with --renew"),
            std::string::npos);
  EXPECT_NE(refused({"issue", ca, "--role", "root", "--name", "x"}).find("'root' is not one of"),
            std::string::npos);
  EXPECT_NE(refused({"issue", ca, "--name", "x"}).find("--role is required"), std::string::npos);
  EXPECT_NE(refused({"issue", ca, "--role", "device"}).find("--name is required"), std::string::npos);
  EXPECT_NE(
      refused({"issue", ca, "--role", "device", "--name", "x", "--dns", "*.example"}).find("is a wildcard"),
      std::string::npos);
  for (const char* const days : {"0", "-1", "3651", "99999999999999999999", "x"})
    EXPECT_NE(refused({"issue", ca, "--role", "device", "--name", "x", "--days", days}).find("--days"),
              std::string::npos)
        << days;
  EXPECT_NE(refused({"revoke", ca, ca + "/ca.crt"}).find("is the authority's own certificate"),
            std::string::npos);
  EXPECT_NE(refused({"show", ca + "/ca.key"}).find("has no PEM certificate"), std::string::npos);
  EXPECT_EQ(files(), before);
  EXPECT_EQ(say({"ca", "issue", ca, "--role", "reader", "--name", "viewer", "--renew"}).code, 0);
  EXPECT_EQ(files(), before);
}

}  // namespace
}  // namespace lockstep
