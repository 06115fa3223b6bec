// Ages, addresses, kinds and files of contexts.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "reconciler/api/kinds.hpp"
#include "reconciler/client/contexts.hpp"
#include "reconciler/client/human_age.hpp"
#include "reconciler/client/object_kinds.hpp"
#include "reconciler/client/server_address.hpp"
#include "reconciler/store/utc_text.hpp"
#include "tests/unit/api/temporary_path.hpp"

namespace lockstep::client {
namespace {

using api::TemporaryPath;
using std::chrono::hours;
using std::chrono::seconds;

// Of k8s.io/apimachinery/pkg/util/duration, duration_test.go.
TEST(HumanAge, IsThatOfKubectl) {
  const std::vector<std::pair<seconds, std::string>> table{{seconds(1), "1s"},
                                                           {seconds(70), "70s"},
                                                           {seconds(190), "3m10s"},
                                                           {seconds(70 * 60), "70m"},
                                                           {hours(47), "47h"},
                                                           {hours(49), "2d1h"},
                                                           {hours(8 * 24 + 2), "8d"},
                                                           {hours(367 * 24), "367d"},
                                                           {hours(365 * 2 * 24 + 25), "2y1d"},
                                                           {hours(365 * 8 * 24 + 2), "8y"},
                                                           {seconds(-2), "<invalid>"},
                                                           {seconds(-1), "0s"},
                                                           {seconds(0), "0s"},
                                                           {seconds(119), "119s"},
                                                           {seconds(120), "2m"},
                                                           {seconds(121), "2m1s"},
                                                           {seconds(599), "9m59s"},
                                                           {seconds(600), "10m"},
                                                           {seconds(10799), "179m"},
                                                           {seconds(10800), "3h"},
                                                           {seconds(10860), "3h1m"},
                                                           {seconds(28799), "7h59m"},
                                                           {seconds(28800), "8h"},
                                                           {hours(48), "2d"},
                                                           {hours(8 * 24), "8d"},
                                                           {hours(365 * 2 * 24), "2y"}};
  for (const auto& [length, text] : table) EXPECT_EQ(human_duration(length), text) << length.count();
}

TEST(HumanAge, ReadsTimesAndNothingElse) {
  const auto at = utc_time("2026-11-21T10:05:26Z");  // by date(1): 1795255526
  ASSERT_TRUE(at);
  EXPECT_EQ(std::chrono::system_clock::to_time_t(*at), 1'795'255'526);
  EXPECT_EQ(human_age("2026-11-21T10:05:26Z", *at + seconds(5)), "5s");
  for (const char* const text : {"", "2026-11-21", "2026-11-21T10:05:26", "2026-11-21T10:05:26Zx", "x"})
    EXPECT_EQ(human_age(text, *at), "<unknown>") << text;
}

TEST(ServerAddress, TakesWhatIsSafeAndRefusesTheRest) {
  EXPECT_EQ(parse_server("unix:/run/a b.sock")->socket, "/run/a b.sock");
  EXPECT_EQ(parse_server("https://pod1.example.org:7445")->origin, "https://pod1.example.org:7445");
  EXPECT_EQ(parse_server("https://[2001:db8::1]/")->origin, "https://[2001:db8::1]");
  EXPECT_TRUE(parse_server("HTTPS://pod1")->tls);
  for (const char* const text :
       {"http://127.0.0.1:80", "http://127.9.9.9", "http://[::1]:7", "http://localhost"})
    EXPECT_TRUE(parse_server(text)) << text;
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"http://pod1:7445", "is not loopback"},
      {"http://10.0.0.1", "is not loopback"},
      {"http://127.0.0.1.example.org", "is not loopback"},
      {"https://ann:secret@pod1", "must not have a user or password"},
      {"https://ann@pod1", "must not have a user or password"},
      {"https://pod1/api", "no path"},
      {"https://pod1?x", "no path"},
      {"https://pod1#x", "no path"},
      {"ftp://pod1", "is not unix:"},
      {"file:///etc/passwd", "is not unix:"},
      {"pod1:7445", "is not unix:"},
      {"https://", "is not unix:"},
      {"https://po d1", "is not unix:"},
      {"https://pod1:99999", "is not unix:"},
      {"", "is not unix:"},
      {"unix:run/api.sock", "absolute path"},
      {"unix:/" + std::string(200, 'x'), "more than 107 bytes"}};
  for (const auto& [text, why] : wrong) {
    const auto parsed = parse_server(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().text().find(why), std::string::npos) << parsed.error().text();
  }
}

// The API's own table is the oracle.
TEST(ObjectKinds, AreThoseOfTheApi) {
  ASSERT_EQ(object_kinds().size(), api::kinds().size());
  for (std::size_t i = 0; i < object_kinds().size(); ++i) {
    EXPECT_EQ(object_kinds()[i].name, api::kinds()[i].name);
    EXPECT_EQ(object_kinds()[i].plural, api::kinds()[i].plural);
  }
  EXPECT_EQ(find_kind("Device"), find_kind("dev"));
  EXPECT_EQ(find_kind("devices"), &device_kind());
  EXPECT_EQ(find_kind("nodes"), nullptr);
  EXPECT_NE(unknown_kind("devics").find("did you mean devices?"), std::string::npos);
  EXPECT_NE(unknown_kind("x").find("there are clusters, revisions"), std::string::npos);
}

constexpr const char* kTwo = R"(# mine
apiVersion: lockstep.dev/v1alpha1
kind: Contexts
spec:
  current: pod1   # the one at home
  contexts:
    - name: pod1
      server: https://pod1.example.org:7445
      ca: pod1-ca.crt
      tokenFile: /etc/token
    - {name: lab, server: "unix:/run/lab.sock"}   # by ssh -L
)";

TEST(Contexts, AreReadWithFilesBesideTheirs) {
  const auto contexts = parse_contexts("/home/ann/.config/lockstep/contexts.yaml", kTwo);
  ASSERT_TRUE(contexts) << contexts.error().text();
  EXPECT_EQ(contexts->current, "pod1");
  const Context* const pod = contexts->find("pod1");
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(pod->ca, "/home/ann/.config/lockstep/pod1-ca.crt");
  EXPECT_EQ(pod->token_file, "/etc/token");
  EXPECT_EQ(pod->certificate, "");
  EXPECT_EQ(contexts->find("none"), nullptr);
}

TEST(Contexts, SayWhereWhatIsWrong) {
  const std::string head = "apiVersion: lockstep.dev/v1alpha1\nkind: Contexts\nspec:\n";
  const std::vector<std::pair<std::string, std::string>> wrong{
      {head + "  current: pod2\n  contexts: []\n", "c.yaml:4:12: error LS1009"},
      {head + "  contexts:\n    - {name: a, server: \"http://pod1\"}\n", "c.yaml:5:25: error LS1009"},
      {head + "  contexts:\n    - {name: a, server: \"https://p\", token: s3cr3t}\n",
       "c.yaml:5:38: error LS1002"},
      {head + "  contexts:\n    - {name: a, server: \"https://p\", key: k}\n", "write both"},
      {head + "  contexts:\n    - {name: a, server: \"unix:/s\", ca: k}\n", "c.yaml:5:25: error LS1010"},
      {head + "  contexts:\n    - {name: a, server: \"unix:/s\"}\n    - {name: a, server: \"unix:/t\"}\n",
       "c.yaml:6:14: error LS1014"},
      {head + "  contexts:\n    - {server: \"unix:/s\"}\n", "LS1003"},
      {"kind: ServiceConfig\n", "c.yaml:1:7: error LS1001"},
      {"", "write apiVersion, kind: Contexts"}};
  for (const auto& [text, where] : wrong) {
    const auto contexts = parse_contexts("c.yaml", text);
    ASSERT_FALSE(contexts) << text;
    EXPECT_NE(contexts.error().text().find(where), std::string::npos) << contexts.error().text();
  }
}

TEST(Contexts, AreUsedByChangingOneLine) {
  const TemporaryPath folder;
  const std::string file = folder.write("contexts.yaml", kTwo);
  ASSERT_TRUE(use_context(file, "lab"));
  std::string wanted = kTwo;
  wanted.replace(wanted.find("current: pod1   # the one at home"), 33, "current: lab");
  EXPECT_EQ(folder.read("contexts.yaml"), wanted);
  EXPECT_NE(use_context(file, "nope").error().text().find("has no context 'nope'"), std::string::npos);
  std::string none = kTwo;
  none.erase(none.find("  current"), none.find("  contexts") - none.find("  current"));
  folder.write("contexts.yaml", none);
  ASSERT_TRUE(use_context(file, "lab"));
  EXPECT_EQ(read_contexts(file)->current, "lab");
  EXPECT_NE(folder.read("contexts.yaml").find("# by ssh -L"), std::string::npos);
}

// What can't be edited without a guess is not edited.
TEST(Contexts, AreLeftAloneWhereTheLineIsNotItsOwn) {
  const TemporaryPath folder;
  const std::string head = "apiVersion: lockstep.dev/v1alpha1\nkind: Contexts\n";
  for (const std::string& text :
       {head + "spec: {current: a, contexts: [{name: a, server: \"unix:/a\"}, {name: b, server: "
               "\"unix:/b\"}]}\n",
        head + "spec:\n  contexts: &c\n    - {name: a, server: \"unix:/a\"}\n    - {name: b, server: "
               "\"unix:/b\"}\n"
               "  current:\n    a\n",
        head + "spec: {contexts: [{name: a, server: \"unix:/a\"}, {name: b, server: \"unix:/b\"}]}\n"}) {
    const std::string file = folder.write("contexts.yaml", text);
    const auto used = use_context(file, "b");
    ASSERT_FALSE(used) << text;
    EXPECT_NE(used.error().text().find("\"current: b\""), std::string::npos) << used.error().text();
    EXPECT_EQ(folder.read("contexts.yaml"), text);
  }
}

TEST(Contexts, OfOthersAreRefused) {
  const TemporaryPath folder;
  const std::string file = folder.write("contexts.yaml", kTwo, 0664);
  EXPECT_NE(read_contexts(file).error().text().find("chmod go-w"), std::string::npos);
  EXPECT_FALSE(use_context(file, "lab"));
  EXPECT_TRUE(read_contexts(folder.file("none"))->all.empty());
}

TEST(Contexts, AreWhereTheEnvironmentSays) {
  const auto set = [](const char* name, const char* value) {
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  };
  const char* const home = std::getenv("HOME");
  const std::string former = home == nullptr ? "" : home;
  set("LOCKSTEP_CONTEXT_FILE", nullptr);
  set("XDG_CONFIG_HOME", nullptr);
  set("HOME", "/home/ann");
  EXPECT_EQ(contexts_file(), "/home/ann/.config/lockstep/contexts.yaml");
  set("XDG_CONFIG_HOME", "/x");
  EXPECT_EQ(contexts_file(), "/x/lockstep/contexts.yaml");
  set("LOCKSTEP_CONTEXT_FILE", "/y.yaml");
  EXPECT_EQ(contexts_file(), "/y.yaml");
  set("LOCKSTEP_CONTEXT_FILE", nullptr);
  set("XDG_CONFIG_HOME", nullptr);
  set("HOME", home == nullptr ? nullptr : former.c_str());
}

}  // namespace
}  // namespace lockstep::client
