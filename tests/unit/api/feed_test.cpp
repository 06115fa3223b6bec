// The event log, the feed that fills it, lists and watches of it, without a server and without threads.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "feed_lab.hpp"
#include "reconciler/api/list_page.hpp"
#include "reconciler/api/watch_stream.hpp"
#include "sample_status.hpp"

namespace lockstep::api {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

ApiObjectPtr object_called(const std::string& name) {
  ApiObject out{.kind = Kind::device, .name = name};
  out.fields["metadata.name"] = name;
  out.text = "{\"name\":\"" + name + "\"}";
  return std::make_shared<const ApiObject>(std::move(out));
}

TEST(EventLog, GivesWhatCameAfterAPosition) {
  EventLog log("e1", 3);
  log.append({{.now = object_called("a")}, {.now = object_called("b")}});
  ASSERT_EQ(log.after(0, 10)->size(), 2U);
  EXPECT_EQ(log.after(1, 10)->at(0).now->name, "b");
  EXPECT_TRUE(log.after(2, 10)->empty());
  EXPECT_EQ(log.after(0, 1)->size(), 1U);
  EXPECT_FALSE(log.after(3, 10)) << "nobody has seen what has not happened";
  log.append({{.now = object_called("c")}, {.now = object_called("d")}});
  EXPECT_FALSE(log.after(0, 10)) << "reset: the first one is not kept any more";
  EXPECT_EQ(log.after(1, 10)->size(), 3U);
}

TEST(EventLog, KnowsItsOwnPositionsAlone) {
  const EventLog log("0a1b", 10);
  EXPECT_EQ(log.parse(log.position(7)), 7U);
  for (const char* const text : {"", "0a1b", "0a1b-", "0a1b-x", "0a1b-7x", "0a1b--1", "0a1b- 7", "ffff-7",
                                 "7", "0a1b-99999999999999999999999"})
    EXPECT_FALSE(log.parse(text)) << text;
  EXPECT_EQ(EventLog("5f9685d8-c6d9", 10).parse("5f9685d8-c6d9-7"), 7U) << "an epoch is a UUID";
}

class ApiFeed : public FeedLab {};

TEST_F(ApiFeed, ServesWhatTheStatusHas) {
  settle();
  EXPECT_EQ(object(Kind::cluster, "pod1")["status"]["devices"]["inSync"], 2);
  EXPECT_EQ(object(Kind::revision, "3f2a41")["status"]["state"], "kept");
  EXPECT_EQ(object(Kind::device, "leaf0")["metadata"]["labels"]["lockstep.dev/role"], "leaf");
  EXPECT_EQ(feed_.board()->sequence, log_.newest());
}

TEST_F(ApiFeed, LogsNothingWhileOnlyTimePasses) {
  settle();
  const std::uint64_t before = log_.newest();
  ServiceStatus later = quiet_status();
  later.source.fetched = at_second(90);
  later.devices = snapshot_of({{{"gpu1", "host", ""}, device_status("gpu1", true, 0, 95)},
                               {{"leaf0", "leaf", ""}, device_status("leaf0", true, 0, 95)}});
  desk_.set(later);
  settle();
  EXPECT_EQ(log_.newest(), before);
  EXPECT_EQ(object(Kind::device, "gpu1")["status"]["observedAt"], "2026-11-18T11:08:15Z")
      << "it is shown all the same";
}

TEST_F(ApiFeed, LogsWhatWasAddedChangedAndDeleted) {
  settle();
  const std::uint64_t before = log_.newest();
  ServiceStatus later = quiet_status();
  later.devices = snapshot_of({{{"gpu1", "host", ""}, device_status("gpu1", true, 2, 95)},
                               {{"gpu2", "host", ""}, device_status("gpu2", true, 0, 95)}});
  desk_.set(later);
  turn();
  std::map<std::string, std::string> what;
  for (const LogEntry& one : since(before))
    if (one.kind() == Kind::device)
      what[(one.now ? one.now : one.before)->name] = !one.before ? "added" : one.now ? "modified" : "deleted";
  EXPECT_EQ(what, (std::map<std::string, std::string>{
                      {"gpu1", "modified"}, {"gpu2", "added"}, {"leaf0", "deleted"}}));
  for (const LogEntry& one : since(before)) {
    if (!one.now) continue;
    EXPECT_EQ(Json::parse(one.now->text)["metadata"]["resourceVersion"], log_.position(one.sequence));
  }
}

TEST_F(ApiFeed, KeepsWhatIsKnownWhileNothingIsWatched) {
  settle();
  ServiceStatus later = quiet_status();
  later.devices = nullptr;
  later.cordoned["gpu1"] = SpokenBy{"operator ann", "optics", at_second(1)};
  desk_.set(later);
  turn();
  EXPECT_EQ(object(Kind::device, "gpu1")["status"]["inSync"], true);
  EXPECT_EQ(object(Kind::device, "gpu1")["spec"]["cordoned"]["reason"], "optics");
  EXPECT_EQ(object(Kind::device, "gpu1")["metadata"]["generation"], 2);
  later.devices =
      snapshot_of({{{"gpu1", "host", ""}, std::nullopt}, {{"leaf0", "leaf", "no route"}, std::nullopt}});
  later.cordoned.clear();
  desk_.set(later);
  turn();
  EXPECT_EQ(object(Kind::device, "gpu1")["status"]["inSync"], true) << "a new watch has not read it yet";
  EXPECT_EQ(object(Kind::device, "gpu1")["metadata"]["generation"], 3);
  EXPECT_EQ(object(Kind::device, "leaf0")["status"]["message"], "no route");
}

TEST_F(ApiFeed, TurnsConditionsUnknownWhenTheirProofIsOld) {
  settle();
  EXPECT_EQ(condition(Kind::device, "gpu1", "Ready")["status"], "True");
  const std::uint64_t before = log_.newest();
  turn(1300);
  EXPECT_EQ(condition(Kind::device, "gpu1", "Ready")["status"], "Unknown");
  EXPECT_EQ(condition(Kind::device, "gpu1", "Ready")["observedAt"], "2026-11-18T11:06:45Z");
  EXPECT_EQ(condition(Kind::cluster, "pod1", "Ready")["status"], "Unknown") << "it is no better known";
  EXPECT_EQ(condition(Kind::cluster, "pod1", "Ready")["observedAt"], "2026-11-18T11:06:45Z");
  EXPECT_EQ(since(before).size(), 3U);
}

TEST_F(ApiFeed, TakesBytesThatAreNoText) {
  ServiceStatus status = quiet_status();
  status.revisions[0].made_by.subject = "\xff\x1b[31m";
  status.cordoned["gpu1"] = SpokenBy{"operator ann", "\xfe", at_second(1)};
  desk_.set(status);
  settle();
  EXPECT_EQ(object(Kind::revision, "3f2a41")["spec"]["subject"], "\\xff\\x1b[31m");
  EXPECT_EQ(object(Kind::device, "gpu1")["spec"]["cordoned"]["reason"], "\\xfe");
}

TEST_F(ApiFeed, SaysWhyTheClusterIsNotReady) {
  settle();
  EXPECT_EQ(condition(Kind::cluster, "pod1", "Ready")["status"], "True");
  EXPECT_TRUE(condition(Kind::cluster, "pod1", "Stalled").is_null());
  const std::vector<std::pair<std::string, std::function<void(ServiceStatus&)>>> cases{
      {"RecordTrouble", [](ServiceStatus& s) { s.record_trouble = "disk full"; }},
      {"Suspended",
       [](ServiceStatus& s) {
         s.suspended = SpokenBy{"operator ann", "power", {}};
       }},
      {"BreakerOpen", [](ServiceStatus& s) { s.breaker = "7 devices of 96"; }},
      {"NotLeading", [](ServiceStatus& s) { s.leads = false; }},
      {"InvalidRevision",
       [](ServiceStatus& s) {
         s.invalid = Revisions::Invalid{"77bd", "fabric.yaml:9:3", {}};
       }},
      {"NotFound", [](ServiceStatus& s) { s.source.trouble = SourceTrouble::not_found; }},
      {"ApprovalNeeded", [](ServiceStatus& s) { s.revisions[0].shown.state = RevisionState::waiting; }},
      {"Refused", [](ServiceStatus& s) { s.revisions[0].shown.state = RevisionState::refused; }}};
  for (const auto& [reason, change] : cases) {
    ServiceStatus status = quiet_status();
    change(status);
    desk_.set(status);
    settle();
    EXPECT_EQ(condition(Kind::cluster, "pod1", "Ready")["status"], "False") << reason;
    EXPECT_EQ(condition(Kind::cluster, "pod1", "Stalled")["reason"], reason);
  }
  ServiceStatus drifted = quiet_status();
  drifted.devices = snapshot_of({{{"gpu1", "host", ""}, device_status("gpu1", true, 1, 5)}});
  desk_.set(drifted);
  settle();
  EXPECT_EQ(condition(Kind::cluster, "pod1", "Ready")["reason"], "Drifted");
}

TEST_F(ApiFeed, KeepsTheNewestEventsAndSaysHowManyWereLost) {
  settle();
  feed_.happened({ServiceEvent::Kind::drift, at_second(1), "Device/gpu1", "mtu"});
  turn();
  const auto& events = feed_.board()->of(Kind::event);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]->fields.at("involvedObject.name"), "gpu1");
  EXPECT_EQ(events[0]->fields.at("type"), "Warning");
  for (std::size_t i = 0; i < ObjectFeed::kEventsWaiting + 3; ++i)
    feed_.happened({ServiceEvent::Kind::healed, at_second(2), "Device/gpu1", std::to_string(i)});
  EventLog wide("e2", 20'000);
  turn();
  const auto board = feed_.board();
  EXPECT_EQ(board->of(Kind::event).size(), 1000U);
  EXPECT_EQ(Json::parse(board->of(Kind::event).back()->text)["message"],
            std::to_string(ObjectFeed::kEventsWaiting + 2));
  FakeDesk desk;
  ObjectFeed other(desk, wide, {.events_kept = 20'000});
  for (std::size_t i = 0; i < ObjectFeed::kEventsWaiting + 3; ++i)
    other.happened({ServiceEvent::Kind::healed, at_second(2), "Device/gpu1", "x"});
  other.turn(at_second(3));
  EXPECT_EQ(Json::parse(other.board()->of(Kind::event)[0]->text)["reason"], "EventsLost");
  EXPECT_TRUE(Json::parse(other.board()->of(Kind::event)[0]->text)["message"].get<std::string>().starts_with(
      "3 events"));
}

Json listed(const Board& board, const EventLog& log, const std::map<std::string, std::string>& query) {
  const auto request = page_request(query, Kind::device, log);
  EXPECT_TRUE(request) << (request ? "" : request.error().text());
  return Json::parse(list_page(board, Kind::device, *request, log));
}

TEST_F(ApiFeed, ListsInPagesOfOnePosition) {
  ServiceStatus status = quiet_status();
  std::vector<std::pair<NamedDevice, std::optional<DeviceStatus>>> devices;
  for (int i = 0; i < 7; ++i) {
    const std::string name = "gpu" + std::to_string(i);
    devices.push_back({{name, i % 2 == 0 ? "host" : "leaf", ""}, device_status(name, true, 0, 5)});
  }
  status.devices = snapshot_of(devices);
  desk_.set(status);
  settle();
  const Json first = listed(*feed_.board(), log_, {{"limit", "3"}});
  EXPECT_EQ(first["kind"], "DeviceList");
  EXPECT_EQ(first["items"].size(), 3U);
  status.revisions.clear();
  desk_.set(status);
  turn();
  std::vector<std::string> names;
  Json page = first;
  for (;;) {
    EXPECT_EQ(page["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    for (const Json& one : page["items"]) names.push_back(one["metadata"]["name"]);
    if (!page["metadata"].contains("continue")) break;
    page = listed(*feed_.board(), log_, {{"limit", "3"}, {"continue", page["metadata"]["continue"]}});
  }
  EXPECT_EQ(names, (std::vector<std::string>{"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6"}));
  EXPECT_EQ(listed(*feed_.board(), log_, {{"labelSelector", "lockstep.dev/role=leaf"}})["items"].size(), 3U);
  EXPECT_EQ(listed(*feed_.board(), log_, {{"limit", "0"}})["items"].size(), 7U);
  for (const std::string token : {"x", "e1-1.", "e1-1.0", "e1-1.zz", "."}) {
    const auto request = page_request({{"continue", token}}, Kind::device, log_);
    ASSERT_FALSE(request) << token;
    EXPECT_EQ(request.error().kind, ErrorKind::invalid_spec);
  }
  EXPECT_EQ(page_request({{"continue", "e0-1.67"}}, Kind::device, log_).error().kind, ErrorKind::conflict);
  EXPECT_FALSE(page_request({{"limit", "x"}}, Kind::device, log_));
  EXPECT_EQ(page_request({{"limit", "99999999999999999999999"}}, Kind::device, log_)->limit, kPageMost);
}

// Events of a text of server-sent events: type, id and data.
struct SentEvent {
  std::string type;
  std::string id;
  std::string data;
};
std::vector<SentEvent> sent_events(const std::string& text) {
  std::vector<SentEvent> out;
  std::istringstream in(text);
  SentEvent one;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("event: ")) one.type = line.substr(7);
    if (line.starts_with("id: ")) one.id = line.substr(4);
    if (line.starts_with("data: ")) one.data = line.substr(6);
    if (line.empty() && !one.type.empty()) out.push_back(std::exchange(one, {}));
  }
  return out;
}

class ApiWatch : public ApiFeed {
 protected:
  WatchStream watch(const std::string& from, const std::string& labels = "") {
    WatchStream::Request request{.kind = Kind::device, .selector = {}, .from = from};
    EXPECT_TRUE(request.selector.add_labels(labels));
    return {log_, feed_.board(), request};
  }
  void drift(std::size_t differences) {
    desk_.set(drifted_status(differences, ++observed_));
    turn();
  }
  int observed_ = 1000;
};

TEST_F(ApiWatch, BeginsWithWhatThereIsAndGoesOnWithChanges) {
  settle();
  WatchStream stream = watch("");
  const auto first = sent_events(stream.next(1 << 20));
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(first[0].type, "ADDED");
  EXPECT_EQ(first[0].id, "") << "whoever is cut off now begins anew";
  EXPECT_EQ(first[2].type, "BOOKMARK");
  EXPECT_EQ(first[2].id, log_.position(log_.newest()));
  EXPECT_EQ(stream.next(1 << 20), "");
  drift(1);
  const auto changed = sent_events(stream.next(1 << 20));
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_EQ(changed[0].type, "MODIFIED");
  EXPECT_EQ(Json::parse(changed[0].data)["status"]["differences"], 1);
  EXPECT_EQ(changed[0].id, Json::parse(changed[0].data)["metadata"]["resourceVersion"]);
}

TEST_F(ApiWatch, ResumesAfterAPositionWithoutGapOrRepetition) {
  settle();
  const std::string from = log_.position(log_.newest());
  for (std::size_t i = 1; i <= 5; ++i) drift(i);
  const auto all = sent_events(watch(from).next(1 << 20));
  ASSERT_EQ(all.size(), 5U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(Json::parse(all[i].data)["status"]["differences"], i + 1);
    const auto rest = sent_events(watch(all[i].id).next(1 << 20));
    ASSERT_EQ(rest.size(), all.size() - i - 1);
    if (rest.empty()) continue;
    EXPECT_EQ(rest[0].id, all[i + 1].id);
  }
}

TEST_F(ApiWatch, IsResetWhereItsPositionIsUnknownOrTooOld) {
  settle();
  const std::string old = log_.position(log_.newest());
  WatchStream slow = watch("");
  (void)slow.next(1 << 20);
  for (std::size_t i = 1; i <= 101; ++i) drift(i % 7 + 1);
  WatchStream late = watch(old);
  for (WatchStream* const stream : {&late, &slow}) {
    const std::string text = stream->next(1 << 20);
    const auto events = sent_events(text);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].type, "ERROR");
    EXPECT_EQ(Json::parse(events[0].data)["code"], 410);
    EXPECT_NE(text.find("\nid\n"), std::string::npos) << "the client forgets its position";
    EXPECT_TRUE(stream->has_ended());
  }
  for (const char* const from : {"e0-1", "x", "e1-999999"}) {
    WatchStream stream = watch(from);
    const auto events = sent_events(stream.next(1 << 20));
    ASSERT_EQ(events.size(), 1U) << from;
    EXPECT_EQ(events[0].type, "ERROR") << from;
    EXPECT_TRUE(stream.has_ended());
  }
}

TEST_F(ApiWatch, IsGivenInPiecesThatLoseNothing) {
  settle();
  for (std::size_t i = 1; i <= 20; ++i) drift(i);
  WatchStream whole = watch("");
  WatchStream pieces = watch("");
  std::string text;
  for (std::string piece = pieces.next(1); !piece.empty(); piece = pieces.next(1)) text += piece;
  EXPECT_EQ(text, whole.next(1 << 20));
}

TEST_F(ApiWatch, DeletesWhatIsSelectedNoMoreAndAddsWhatNowIs) {
  settle();
  WatchStream::Request request{.kind = Kind::device, .selector = {}, .from = log_.position(log_.newest())};
  ASSERT_TRUE(request.selector.add_fields("status.inSync=false", Kind::device));
  WatchStream stream(log_, feed_.board(), request);
  for (const std::size_t differences : {1U, 2U, 0U}) drift(differences);
  const auto events = sent_events(stream.next(1 << 20));
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].type, "ADDED");
  EXPECT_EQ(events[1].type, "MODIFIED");
  EXPECT_EQ(events[2].type, "DELETED");
}

TEST_F(ApiWatch, KeepsAPositionYoungWithBookmarks) {
  settle();
  WatchStream stream = watch("", "lockstep.dev/role=leaf");
  (void)stream.next(1 << 20);
  EXPECT_TRUE(stream.heartbeat().starts_with(":"));
  drift(1);
  EXPECT_EQ(stream.next(1 << 20), "");
  const auto bookmark = sent_events(stream.heartbeat());
  ASSERT_EQ(bookmark.size(), 1U);
  EXPECT_EQ(bookmark[0].type, "BOOKMARK");
  EXPECT_EQ(bookmark[0].id, log_.position(log_.newest()));
}

}  // namespace
}  // namespace lockstep::api
