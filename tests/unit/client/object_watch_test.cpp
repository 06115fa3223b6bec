// Watches: against the API's own server, and against scripts of lost connections, resets and refusals.
#include "reconciler/client/object_watch.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "scripted_server.hpp"
#include "tests/unit/api/server_fixture.hpp"

namespace lockstep::client {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using Script = ScriptedServer;

// What a watch told: "+gpu1 ~gpu1 -leaf0 . " (added, modified, deleted, all that there was has come).
struct Told {
  std::string changes;
  std::string notes;
  std::string error;
};

// `until`: of the changes so far, whether it is enough.
Told watched(const std::string& address, const std::function<bool(const std::string&)>& until) {
  auto client = ServiceClient::open({.server = *parse_server(address)}, {.again = milliseconds(1)});
  EXPECT_TRUE(client);
  Told out;
  const WatchListener listener{.change =
                                   [&](const ObjectChange& change) {
                                     const Json& object = change.object;
                                     out.changes +=
                                         std::string("+~-").substr(static_cast<std::size_t>(change.type), 1) +
                                         object["metadata"]["name"].get<std::string>();
                                     if (object.contains("v")) out.changes += "=" + object["v"].dump();
                                     out.changes += " ";
                                     return !until(out.changes);
                                   },
                               .complete = [&] { out.changes += ". "; },
                               .note = [&](const std::string& text) { out.notes += text + "\n"; }};
  const Result<Done> ended = watch_objects(*client, {.kind = device_kind()}, listener, {});
  if (!ended) out.error = ended.error().text();
  return out;
}

std::function<bool(const std::string&)> ends_with(const std::string& end) {
  return [end](const std::string& changes) { return changes.ends_with(end); };
}

std::string event(const std::string& type, const std::string& name, const std::string& value,
                  const std::string& id) {
  return "event: " + type + "\n" + (id.empty() ? "" : "id: " + id + "\n") + R"(data: {"metadata":{"name":")" +
         name + R"(","resourceVersion":")" + (id.empty() ? "x" : id) + R"("},"v":)" + value + "}\n\n";
}
std::string added(const std::string& name, const std::string& value, const std::string& id = "") {
  return event("ADDED", name, value, id);
}
std::string modified(const std::string& name, const std::string& value, const std::string& id) {
  return event("MODIFIED", name, value, id);
}
std::string bookmark(const std::string& id) {
  return "event: BOOKMARK\nid: " + id + R"(
data: {"metadata":{"resourceVersion":")" +
         id + "\"}}\n\n";
}
std::string error(int code, const std::string& message) {
  return R"(event: ERROR
id
data: {"kind":"Status","message":")" +
         message + R"(","code":)" + std::to_string(code) + "}\n\n";
}
const char* id_of(const std::string& request) {
  static std::string out;
  const std::size_t at = request.find("Last-Event-ID: ");
  out = at == request.npos ? "" : request.substr(at + 15, request.find('\r', at) - at - 15);
  return out.c_str();
}

using api::ApiServer;
using api::ApiServerTest;
using api::at_second;
using api::EventLog;
using api::FakeDesk;
using api::ObjectFeed;

class WatchOfTheApi : public ApiServerTest {};

// Each change of the device's differences is made where the one before was told.
TEST_F(WatchOfTheApi, TellsWhatThereIsAndThenChanges) {
  settings_.listen = {"unix:" + folder_.file("run/api.sock")};
  desk_.set(api::quiet_status());
  turn();  // the second look, which conditions believe
  start();
  Told told;
  auto client = ServiceClient::open({.server = *parse_server(settings_.listen[0])});
  ASSERT_TRUE(client);
  const WatchListener listener{.change =
                                   [&](const ObjectChange& change) {
                                     told.changes += change.object["metadata"]["name"].get<std::string>() +
                                                     "=" + change.object["status"]["differences"].dump() +
                                                     " ";
                                     const bool is_last = told.changes.ends_with("gpu1=4 ");
                                     if (told.changes.ends_with("gpu1=3 ")) drift(4);
                                     return !is_last;
                                   },
                               .complete =
                                   [&] {
                                     told.changes += ". ";
                                     drift(3);
                                   }};
  EXPECT_TRUE(watch_objects(*client, {.kind = device_kind()}, listener, {}));
  EXPECT_EQ(told.changes, "gpu1=0 leaf0=0 . gpu1=3 gpu1=4 ");
  told.changes.clear();
  EXPECT_TRUE(watch_objects(*client, {.kind = device_kind(), .name = "leaf0"},
                            {.change =
                                 [&](const ObjectChange& change) {
                                   told.changes += change.object["metadata"]["name"].get<std::string>();
                                   return false;
                                 }},
                            {}));
  EXPECT_EQ(told.changes, "leaf0");
}

// A service that starts anew at the same place, with another epoch and other differences.
TEST_F(WatchOfTheApi, OutlivesARestart) {
  settings_.listen = {"unix:" + folder_.file("run/api.sock")};
  start();
  auto client =
      ServiceClient::open({.server = *parse_server(settings_.listen[0])}, {.again = milliseconds(1)});
  ASSERT_TRUE(client);
  EventLog log("e2", 100);
  FakeDesk desk;
  ServiceStatus drifted = api::quiet_status();
  drifted.devices = api::snapshot_of({{{"gpu1", "host", ""}, api::device_status("gpu1", true, 7, 5)},
                                      {{"leaf0", "leaf", ""}, api::device_status("leaf0", true, 0, 5)}});
  desk.set(drifted);
  ObjectFeed feed(desk, log, {});
  feed.turn(at_second(500));
  std::string changes;
  std::thread restart;
  const WatchListener listener{.change =
                                   [&](const ObjectChange& change) {
                                     changes += change.object["metadata"]["name"].get<std::string>() + "=" +
                                                change.object["status"]["differences"].dump() + " ";
                                     return !changes.ends_with("gpu1=7 ");
                                   },
                               .complete =
                                   [&] {
                                     restart = std::thread([&] {
                                       server_.reset();
                                       auto again = ApiServer::start(settings_, desk, feed, log);
                                       if (again) server_ = *std::move(again);
                                     });
                                   }};
  EXPECT_TRUE(watch_objects(*client, {.kind = device_kind()}, listener, {}));
  restart.join();
  server_.reset();
  EXPECT_EQ(changes, "gpu1=0 leaf0=0 gpu1=7 ");
}

TEST(Watch, GoesOnFromWhereItWas) {
  const Script server(
      {Script::events(added("a", "1") + added("b", "1") + bookmark("e-5") + ": still here\n\n" +
                      modified("a", "2", "e-6") + "event: MODIFIED\nid: e-7\ndata: {\"cut"),
       "", Script::failure(503, "stopping"), Script::events(modified("b", "2", "e-7") + bookmark("e-9")),
       Script::events(event("DELETED", "a", "2", "e-10"))});
  const Told told = watched(server.address(), ends_with("-a=2 "));
  EXPECT_EQ(told.changes, "+a=1 +b=1 . ~a=2 ~b=2 -a=2 ");
  ASSERT_EQ(server.requests().size(), 5U);
  EXPECT_STREQ(id_of(server.requests()[0]), "");
  for (const std::size_t i : {1U, 2U, 3U}) EXPECT_STREQ(id_of(server.requests()[i]), "e-6") << i;
  EXPECT_STREQ(id_of(server.requests()[4]), "e-9");
  EXPECT_NE(server.requests()[0].find("GET /api/v1alpha1/devices?watch=1 "), std::string::npos);
  EXPECT_NE(told.notes.find("connection lost"), std::string::npos);
  EXPECT_NE(told.notes.find("connected again"), std::string::npos);
}

// After a restart: what is the same is not told again, what changed and what is gone is.
TEST(Watch, ReadsAllAnewAfterAReset) {
  const Script server({Script::events(added("a", "1") + added("b", "1") + added("c", "1") + bookmark("e1-5")),
                       Script::events(error(410, "reset")),
                       Script::events(added("a", "1") + added("c", "2") + added("d", "1") + bookmark("e2-1") +
                                      modified("a", "3", "e2-2"))});
  const Told told = watched(server.address(), ends_with("~a=3 "));
  EXPECT_EQ(told.changes, "+a=1 +b=1 +c=1 . ~c=2 +d=1 -b=1 ~a=3 ");
  EXPECT_STREQ(id_of(server.requests()[1]), "e1-5");
  EXPECT_STREQ(id_of(server.requests()[2]), "");
  EXPECT_NE(told.notes.find("reading all anew"), std::string::npos);
}

// Cut off among what there is, which has no positions: from the beginning, and nothing is told twice.
TEST(Watch, BeginsAnewWhereItWasCutOffInTheList) {
  const Script server({Script::events(added("a", "1") + added("b", "1")),
                       Script::events(added("a", "1") + added("b", "2") + added("c", "1") + bookmark("e-5")),
                       Script::events(modified("c", "2", "e-6"))});
  EXPECT_EQ(watched(server.address(), ends_with("~c=2 ")).changes, "+a=1 +b=1 ~b=2 +c=1 . ~c=2 ");
}

TEST(Watch, EndsWhereItIsRefused) {
  const Script revoked(
      {Script::events(added("a", "1") + bookmark("e-1") + error(401, "the token was revoked"))});
  EXPECT_NE(watched(revoked.address(), ends_with("never")).error.find("the token was revoked"),
            std::string::npos);
  const Script later({Script::events(bookmark("e-1")), Script::failure(403, "not yours")});
  EXPECT_NE(watched(later.address(), ends_with("never")).error.find("not yours"), std::string::npos);
  const Script selector({Script::failure(400, "fieldSelector: 'x'")});
  EXPECT_NE(watched(selector.address(), ends_with("never")).error.find("fieldSelector"), std::string::npos);
  const Script busy({Script::failure(503, "all watches are in use")});
  EXPECT_NE(watched(busy.address(), ends_with("never")).error.find("all watches"), std::string::npos);
  EXPECT_NE(watched("unix:/nonexistent/s", ends_with("never")).error.find("no service runs here"),
            std::string::npos);
  const Script other({Script::events("data: <html>\n\n")});
  EXPECT_NE(watched(other.address(), ends_with("never")).error.find("no object"), std::string::npos);
}

// Nobody takes the connection, which the kernel makes all the same.
TEST(Watch, DoesNotWaitForAServiceThatIsSilent) {
  const api::TemporaryPath folder;
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::strncpy(where.sun_path, folder.file("s").c_str(), sizeof where.sun_path - 1);
  const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(listener.number(), reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  ASSERT_EQ(::listen(listener.number(), 1), 0);
  auto client = ServiceClient::open({.server = *parse_server("unix:" + folder.file("s"))},
                                    {.silence = milliseconds(20)});
  ASSERT_TRUE(client);
  const Result<Done> ended = watch_objects(*client, {.kind = device_kind()}, {}, {});
  ASSERT_FALSE(ended);
  EXPECT_NE(ended.error().text().find("no answer in time"), std::string::npos) << ended.error().text();
}

TEST(Watch, PassesOverWhatItDoesNotKnow) {
  const Script server(
      {Script::events(bookmark("e-1") + event("PAUSED", "a", "1", "e-2") +
                      "event: ADDED\nid: e-3\ndata: {\"spec\":1}\n\n" + added("b", "1", "e-4"))});
  EXPECT_EQ(watched(server.address(), ends_with("+b=1 ")).changes, ". +b=1 ");
}

}  // namespace
}  // namespace lockstep::client
