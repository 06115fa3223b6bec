// The commands themselves, in this process, against the API's own server, whose desk notes what is said to
// it.
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "expect_in.hpp"
#include "scripted_server.hpp"
#include "tests/unit/api/server_fixture.hpp"
#include "tests/unit/cli/said.hpp"

namespace lockstep::client {
namespace {

using api::Verb;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

class Commands : public api::ApiServerTest {
 protected:
  Commands() {
    settings_.listen = {"unix:" + folder_.file("run/api.sock")};
    write_contexts(settings_.listen[0]);
    ::setenv("LOCKSTEP_CONTEXT_FILE", folder_.file("contexts.yaml").c_str(), 1);
    desk_.set(api::full_status());
    turn();
  }
  ~Commands() override { ::unsetenv("LOCKSTEP_CONTEXT_FILE"); }
  void write_contexts(const std::string& server) {
    folder_.write("contexts.yaml",
                  "apiVersion: lockstep.dev/v1alpha1\nkind: Contexts\nspec:\n  current: pod1\n  contexts:\n"
                  "    - {name: pod1, server: \"" +
                      server + "\"}\n    - {name: gone, server: \"unix:/nonexistent/api.sock\"}\n");
  }
  // Of the one step that waits, as the plan has it.
  std::string waiting() const { return *desk_.status()->revisions.front().shown.waits.begin(); }
  Json approved() const { return desk_.actions().empty() ? Json() : Json(desk_.actions().back().steps); }
};

TEST_F(Commands, GetPrintsEachForm) {
  start();
  EXPECT_EQ(say({"get", "devices", "-o", "name"}).out,
            "device/gpu1\ndevice/gpu2\ndevice/gpu3\ndevice/leaf0\n");
  EXPECT_EQ(say({"get", "dev", "gpu2", "leaf0", "-o", "name"}).out, "device/gpu2\ndevice/leaf0\n");
  EXPECT_EQ(say({"get", "device/leaf0", "-o", "jsonpath={.metadata.name} {.status.reachable}{\"\\n\"}"}).out,
            "leaf0 false\n");
  const Json list = Json::parse(say({"get", "devices", "-o", "json"}).out);
  EXPECT_EQ(list["kind"], "DeviceList");
  EXPECT_EQ(list["items"].size(), 4U);
  expect_in(say({"get", "devices", "gpu1", "-o", "yaml"}).out, "kind: \"Device\"\n");
  const Answer selected = say({"get", "devices", "-l", "lockstep.dev/role=host", "--field-selector",
                               "status.differences!=0", "--no-headers"});
  EXPECT_EQ(selected.out.substr(0, 4), "gpu2");
  EXPECT_EQ(std::ranges::count(selected.out, '\n'), 2) << selected.out;
  expect_in(say({"get", "devices", "--sort-by", ".status.differences", "-o", "name"}).out, "gpu2\n");
  EXPECT_EQ(say({"get", "devices", "--limit", "2", "-o", "name"}).out, "device/gpu1\ndevice/gpu2\n");
  const Answer none = say({"get", "devices", "-l", "x=y"});
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, "");
  expect_in(none.err, "there are no devices that are selected");
}

TEST_F(Commands, GetSaysWhatIsWrong) {
  start();
  const std::vector<std::pair<Words, std::string>> wrong{
      {{"get", "nodes"}, "there is no kind 'nodes'"},
      {{"get", "devices", "-o", "xml"}, "'xml' is not one of text, wide"},
      {{"get", "devices", "-o", "jsonpath={.a"}, "{ without }"},
      {{"get", "devices", "-o", "jsonpath"}, "jsonpath={...}"},
      {{"get", "devices", "leaf0", "-l", "a=b"}, "for lists"},
      {{"get", "device/leaf0", "revision/9c"}, "one kind at a time"},
      {{"get", "devices", "--watch", "--limit", "1"}, "without --limit"},
      {{"get", "devices", "--output-watch-events"}, "is for --watch"},
      {{"get", "devices", "nope"}, "devices \"nope\" not found"},
      {{"get", "devices", "--field-selector", "status.x=1"}, "is not a field of Device"},
      {{"get", "devices", "--context", "gone"}, "no service runs here"},
      {{"get", "devices", "--context", "nope"}, "there is no context 'nope'"},
      {{"get", "devices", "--server", "http://pod1"}, "is not loopback"},
      {{"get", "devices", "--server", "unix:/x", "--context", "gone"}, "--context"},
      {{"get", "devices", "--token-file", "x"}, "--server"},
      {{"get", "devices", "--token", "s3cr3t"}, "--token"}};
  for (const auto& [words, why] : wrong) {
    const Answer said = say(words);
    EXPECT_EQ(said.code, 1) << words.back();
    expect_in(said.err, why);
  }
  const Answer json = say({"get", "devices", "nope", "-o", "json"});
  EXPECT_EQ(json.code, 1);
  EXPECT_EQ(Json::parse(json.out)["kind"], "Error");
  folder_.write("contexts.yaml", "kind: Contexts\nspec: {contexts: 5}\n");
  expect_in(say({"get", "devices"}).err, "contexts.yaml:2:18: error");
}

TEST_F(Commands, GetListsRevisionsWithTheNewestStateLast) {
  ServiceStatus status = api::full_status();
  for (RevisionStatus& one : status.revisions)
    one.shown.since = api::at_second(one.shown.revision.source == "3f2a41" ? 50 : 20);
  desk_.set(status);
  turn();
  start();
  const std::string all = say({"get", "revisions"}).out;
  ASSERT_NE(all.find("3f2a41"), std::string::npos) << all;
  EXPECT_LT(all.find("9c01ff"), all.find("3f2a41")) << all;
  const std::string named = say({"get", "revisions", "3f2a41", "9c01ff"}).out;
  EXPECT_GT(named.find("9c01ff"), named.find("3f2a41")) << "as they were said: " << named;
}

TEST_F(Commands, DescribeShowsTheObjectAndItsEvents) {
  feed_.happened({.kind = ServiceEvent::Kind::unreadable,
                  .at = api::at_second(90),
                  .object = "Device/leaf0",
                  .message = "no answer"});
  feed_.happened({.kind = ServiceEvent::Kind::drift,
                  .at = api::at_second(91),
                  .object = "Device/gpu2",
                  .message = "mtu differs"});
  turn();
  start();
  const Answer leaf = say({"describe", "device", "leaf0"});
  EXPECT_EQ(leaf.code, 0) << leaf.err;
  expect_in(leaf.out, "optics are replaced");
  expect_in(leaf.out, "no answer");
  EXPECT_EQ(leaf.out.find("mtu differs"), std::string::npos);
  expect_in(say({"describe", "revision", "9c01"}).out, waiting().substr(7, 12));
  const Answer events = say({"events", "--for", "device/gpu2"});
  expect_in(events.out, "mtu differs");
  EXPECT_EQ(events.out.find("no answer"), std::string::npos);
  expect_in(say({"events", "--types", "Warning", "-o", "name"}).out, "event/e1-");
  EXPECT_EQ(say({"events", "--for", "leaf0"}).code, 1);
  EXPECT_EQ(say({"describe", "device"}).code, 1);
}

TEST_F(Commands, ApproveSendsExactlyWhatItShowed) {
  start();
  const Answer said = say({"approve", "9c01", "--yes", "--reason", "reviewed"});
  EXPECT_EQ(said.code, 0) << said.err;
  expect_in(said.out, waiting().substr(7, 12));
  expect_in(said.out, "interface[swp1]/mtu: 1500 -> 9216");
  expect_in(said.out, "approved: 1 step of revision 9c01ff");
  ASSERT_EQ(desk_.actions().size(), 1U);
  EXPECT_EQ(desk_.actions()[0].verb, Verb::approve);
  EXPECT_EQ(desk_.actions()[0].by.reason, "reviewed");
  EXPECT_EQ(approved(), Json({waiting()})) << "the whole digest";
  const Answer json = say({"approve", "9c01", "-y", "--step", waiting().substr(7, 8), "-o", "json"});
  EXPECT_EQ(Json::parse(json.out)["status"], "Success");
  EXPECT_EQ(approved(), Json({waiting()}));
  expect_in(say({"approve", "9c01", "-y", "--step", "ffffffff"}).err,
            "no step that waits begins with 'ffffffff'");
  expect_in(say({"approve", "3f2a41", "-y"}).err,
            "nothing of revision 3f2a41 waits for an approval: it is kept");
  expect_in(say({"approve", "", "-y"}).err, "empty");
  EXPECT_EQ(desk_.actions().size(), 2U);
}

// What comes to wait while somebody reads is not approved: the body is of what was read.
TEST_F(Commands, ApproveDoesNotApproveWhatAppearsMeanwhile) {
  const auto revision = [](const std::string& digests) {
    return ScriptedServer::json(
        200, R"({"apiVersion":"lockstep.dev/v1alpha1","kind":"RevisionList","metadata":{},"items":[
      {"metadata":{"name":"abcd"},"status":{"state":"waiting","waitingInAll":2,"waiting":[)" +
                 digests + "]}}]}");
  };
  const ScriptedServer server({revision(R"({"digest":"sha256:aaaa1111","changes":[],"holds":[]})"),
                               ScriptedServer::json(200, R"({"kind":"Status","status":"Success"})")});
  write_contexts(server.address());
  const Answer said = say({"approve", "abcd", "--yes"});
  EXPECT_EQ(said.code, 0) << said.err;
  expect_in(said.out, "1 other step of it will still wait");
  ASSERT_EQ(server.requests().size(), 2U);
  const std::string request = server.requests()[1];
  EXPECT_EQ(Json::parse(request.substr(request.find("\r\n\r\n") + 4)),
            Json({{"steps", {"sha256:aaaa1111"}}}));
}

TEST_F(Commands, ApproveAsksOnATerminalAndNowhereElse) {
  start();
  const Answer nobody = say({"approve", "9c01"});
  EXPECT_EQ(nobody.code, 1);
  expect_in(nobody.err, "pass --yes");
  EXPECT_TRUE(desk_.actions().empty());
  int terminal = -1;
  int user = -1;
  ASSERT_EQ(::openpty(&terminal, &user, nullptr, nullptr, nullptr), 0);
  const int former = ::dup(STDIN_FILENO);
  ::dup2(user, STDIN_FILENO);
  const auto answered = [&](const std::string& line) {
    EXPECT_EQ(::write(terminal, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    return say({"approve", "9c01"});
  };
  const Answer no = answered("n\n");
  EXPECT_EQ(no.code, 2);
  expect_in(no.out, "approve 1 step? [y/N]");
  EXPECT_TRUE(desk_.actions().empty());
  EXPECT_EQ(answered("y\n").code, 0);
  EXPECT_EQ(approved(), Json({waiting()}));
  ::dup2(former, STDIN_FILENO);
  for (const int descriptor : {terminal, user, former}) ::close(descriptor);
}

TEST_F(Commands, OrdersReachTheService) {
  start();
  const std::vector<std::pair<Words, Verb>> orders{{{"reject", "9c01", "--reason", "wrong"}, Verb::reject},
                                                   {{"suspend", "--reason", "power work"}, Verb::suspend},
                                                   {{"resume"}, Verb::resume},
                                                   {{"reconcile"}, Verb::reconcile},
                                                   {{"cordon", "gpu1", "--reason", "optics"}, Verb::cordon},
                                                   {{"uncordon", "leaf0"}, Verb::uncordon}};
  for (const auto& [words, verb] : orders) {
    const Answer said = say(words);
    EXPECT_EQ(said.code, 0) << words[0] << said.err;
    ASSERT_FALSE(desk_.actions().empty());
    EXPECT_EQ(desk_.actions().back().verb, verb) << words[0];
  }
  EXPECT_EQ(desk_.actions()[0].name, "9c01ff");
  EXPECT_EQ(desk_.actions()[1].name, "pod1");
  EXPECT_EQ(desk_.actions()[1].by.reason, "power work");
  EXPECT_EQ(say({"cordon", "gpu1", "gpu2", "--reason", "rack"}).out,
            "cordoned: device gpu1\ncordoned: device gpu2\n");
  for (const Words& words : {Words{"suspend"}, {"cordon", "gpu1"}, {"reject", "9c01"}})
    expect_in(say(words).err, "--reason");
  expect_in(say({"cordon", "nope", "--reason", "x"}).err, "devices \"nope\" not found");
  desk_.answers(Error{ErrorKind::conflict, "'gpu1' is not cordoned"});
  const Answer conflict = say({"uncordon", "gpu1"});
  EXPECT_EQ(conflict.code, 1);
  expect_in(conflict.err, "'gpu1' is not cordoned");
}

TEST_F(Commands, ContextsAreListedShownAndChosen) {
  expect_in(say({"context", "list"}).out, "*        pod1");
  expect_in(say({"context", "show"}).out, "server:     " + settings_.listen[0]);
  EXPECT_EQ(say({"context", "use", "gone"}).code, 0);
  expect_in(say({"context", "show"}).out, "context:    gone");
  EXPECT_EQ(Json::parse(say({"context", "list", "-o", "json"}).out)["contexts"][1]["current"], true);
  EXPECT_EQ(say({"context", "use", "nope"}).code, 1);
  ::setenv("LOCKSTEP_CONTEXT_FILE", folder_.file("none").c_str(), 1);
  expect_in(say({"context", "show"}).out, "server:     unix:/run/lockstep/service/api.sock");
  expect_in(say({"context", "list"}).err, "there are no contexts");
}

// A watch that its service refuses in the end.
TEST_F(Commands, WatchPrintsALineForEachChange) {
  const std::string gpu = R"({"metadata":{"name":"gpu1"},"status":{"differences":)";
  const std::string script = ScriptedServer::events(
      "event: ADDED\ndata: " + gpu + "0}}\n\nevent: BOOKMARK\nid: e-1\ndata: {\"metadata\":{}}\n\n" +
      "event: MODIFIED\nid: e-2\ndata: " + gpu + "3}}\n\nevent: DELETED\nid: e-3\ndata: " + gpu +
      "3}}\n\nevent: ERROR\nid\ndata: {\"kind\":\"Status\",\"message\":\"revoked\",\"code\":401}\n\n");
  const ScriptedServer server({script, script, script, script});
  write_contexts(server.address());
  const Answer said = say({"get", "devices", "--watch"});
  EXPECT_EQ(said.code, 1);
  expect_in(said.err, "revoked");
  EXPECT_EQ(said.out,
            "NAME  ROLE  STATUS   DIFFERENCES  SEEN  MESSAGE\n"
            "gpu1  -     Unknown            0  -\n"
            "gpu1  -     Unknown            3  -\n"
            "gpu1  -     Unknown            3  -  (deleted)\n");
  EXPECT_EQ(say({"get", "devices", "--watch", "--output-watch-events", "--no-headers"}).out,
            "ADDED     gpu1  -     Unknown            0  -\n"
            "MODIFIED  gpu1  -     Unknown            3  -\n"
            "DELETED   gpu1  -     Unknown            3  -\n");
  EXPECT_EQ(say({"get", "devices", "--watch", "-o", "jsonpath={.metadata.name}={.status.differences};"}).out,
            "gpu1=0;gpu1=3;gpu1=3;");
  const std::string json = say({"get", "devices", "-w", "-o", "json", "--output-watch-events"}).out;
  EXPECT_EQ(Json::parse(json.substr(0, json.find('\n'))),
            Json({{"type", "ADDED"}, {"object", Json::parse(gpu + "0}}")}}));
}

}  // namespace
}  // namespace lockstep::client
