// Objects as tables and in sections: of the API's own objects, with something of everything.
#include "reconciler/client/object_table.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reconciler/api/object_feed.hpp"
#include "reconciler/api/objects.hpp"
#include "reconciler/client/human_age.hpp"
#include "reconciler/client/object_text.hpp"
#include "reconciler/store/utc_text.hpp"
#include "tests/unit/api/fake_desk.hpp"
#include "tests/unit/api/sample_objects.hpp"
#include "tests/unit/api/sample_status.hpp"

namespace lockstep::client {
namespace {

using Json = nlohmann::json;

// What the API serves of full_status(), as of 100 seconds after its beginning.
std::vector<Json> served(api::Kind kind) {
  api::FakeDesk desk;
  api::EventLog log("e1", 100);
  api::ObjectFeed feed(desk, log, {});
  // Twice: conditions believe the second look.
  for (const int second : {70, 72}) {
    desk.set(api::full_status());
    feed.turn(api::at_second(second));
  }
  std::vector<Json> out;
  for (const auto& one : feed.board()->of(kind)) out.push_back(Json::parse(one->text));
  return out;
}

std::string table(const std::string& kind, const std::vector<Json>& objects, bool wide = false) {
  std::vector<const Json*> all;
  for (const Json& one : objects) all.push_back(&one);
  return ObjectTable(*find_kind(kind), wide, Terminal{}).table(all, api::at_second(100));
}
std::string described(const std::string& kind, const Json& object,
                      const std::vector<const Json*>& events = {}) {
  return object_text(*find_kind(kind), object, events, api::at_second(100), Terminal{});
}
void expect_lines(const std::string& text, const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    EXPECT_NE(("\n" + text).find("\n" + line + "\n"), std::string::npos) << line << "\nis not in\n" << text;
}

Json sample_finding() {
  const SpecObjects objects{
      .devices = {"gpu1"}, .gpus = {8}, .all = {}, .cost = SpecObjects::Cost{2.5, "USD"}};
  const DriftReport report = api::sample_findings();
  return api::finding_object(report, api::findings_in(report)[0], api::at_second(70),
                             api::gpu_prices(&objects), {});
}

TEST(ObjectTable, ShowsWhatOneWantsToKnowOfEachKind) {
  EXPECT_EQ(table("devices", served(api::Kind::device)),
            "NAME   ROLE  STATUS                DIFFERENCES  SEEN  MESSAGE\n"
            "gpu1   host  InSync                          0  95s\n"
            "gpu2   host  Drifted                         3  95s   until 2026-12-01: optics\n"
            "gpu3   host  Unknown                         -  -     no credentials for gpu3\n"
            "leaf0  leaf  Unreachable,Cordoned            0  95s   no answer within 2000 ms\n");
  EXPECT_EQ(table("revisions", served(api::Kind::revision)),
            "NAME                 STATE          WAITING  SINCE  MESSAGE\n"
            "3f2a41               kept,lastGood        -  90s    MTU of the backend\n"
            "3f2a41.cc33dd44ee55  superseded           -  90s    MTU of the backend\n"
            "9c01ff               waiting              1  90s    1 of 2 steps waits for an approval\n");
  EXPECT_EQ(table("clusters", served(api::Kind::cluster)),
            "NAME  STATUS                   DEVICES  IN-SYNC  UNREACHABLE  LAST-GOOD  DOING\n"
            "pod1  RecordTrouble,Suspended        4        1            1  3f2a41     "
            "runs 9c01ff: wave 1 of 2, apply\n");
  const Json event = api::event_object({.kind = ServiceEvent::Kind::approval_needed,
                                        .at = api::at_second(90),
                                        .object = "Revision/3f2a4155667788990011",
                                        .message = "1 step waits"},
                                       "e1-5", {});
  EXPECT_EQ(table("findings", {sample_finding()}),
            "NAME           KIND  DEVICES  EXPLAINS     COST/H  AGE  FAULT\n"
            "port-4de75d8d  port  leaf0           1  20.00 USD  30s  "
            "port swp1 is administratively down, desired up\n");
  EXPECT_EQ(table("events", {event}),
            "LAST-SEEN  TYPE     REASON          OBJECT                 MESSAGE\n"
            "10s        Warning  ApprovalNeeded  revision/3f2a41556677  1 step waits\n");
}

// Half an hour after they ended.
TEST(ObjectTable, ShowsWhatIsStored) {
  const WallTime then = *utc_time("2026-11-21T10:35:26Z");
  const Json change = api::change_object("pod1", false, api::sample_change(), true, {});
  EXPECT_EQ(ObjectTable(*find_kind("changes"), false, Terminal{}).table({&change}, then),
            "NAME  OUTCOME  DEVICES  STEPS  AGE  TOOK  AUTHOR        REASON\n"
            "17    kept           1      1  30m  34s   operator ann  lockstep serve\n");
  const Json run = api::run_object(api::sample_run(), nullptr, {});
  EXPECT_EQ(
      ObjectTable(*find_kind("benchmarkruns"), true, Terminal{}).table({&run}, then),
      "NAME  VERDICT  PURPOSE  CHANGE  FIGURES  AGE  AUTHOR        COMMAND         VERSION  KERNEL  CONFIG\n"
      "4     pass     after    17            1  29m  operator ann  lockstep serve  0.2.0    6.1.0   "
      "sha256:0a\n");
}

TEST(ObjectTable, HasMoreColumnsWhereItIsWide) {
  expect_lines(
      table("devices", served(api::Kind::device), true),
      {"NAME   ROLE  STATUS                DIFFERENCES  SEEN  SINCE  CORDONED-BY   MAINTENANCE               "
       "MESSAGE",
       "leaf0  leaf  Unreachable,Cordoned            0  95s   30s    operator bob  -                         "
       "no answer within 2000 ms"});
  expect_lines(
      table("revisions", served(api::Kind::revision), true),
      {"9c01ff               waiting              1  90s    sha256:bb22              Ada <ada@example.org>  "
       "MTU of the backend  1 of 2 steps waits for an approval"});
}

TEST(ObjectTable, GivesARowTheWidthOfThoseBefore) {
  const std::vector<Json> devices = served(api::Kind::device);
  ObjectTable table(device_kind(), false, Terminal{});
  const std::string all = table.table({&devices[0], &devices[3]}, api::at_second(100));
  const std::string row = table.rows({&devices[0]}, api::at_second(100));
  EXPECT_NE(all.find("\n" + row), std::string::npos) << all << row;
}

// Whatever comes: no crash, and nothing acts on the terminal.
TEST(ObjectTable, SurvivesObjectsOfAnyForm) {
  const std::vector<Json> forms{
      nullptr,
      1,
      "x\x1b[2J",
      Json::array({Json::array()}),
      {{"metadata", "x"}, {"spec", 1}, {"status", Json::array({1})}},
      {{"metadata", {{"name", Json::array()}, {"labels", {{"lockstep.dev/role", 7}}}}},
       {"status",
        {{"conditions", {1, "x", {{"type", 5}}}},
         {"waiting", {1}},
         {"devices", "x"},
         {"writes", {1}},
         {"begun", "\x1b[31m"}}}}};
  for (const KindRow& kind : object_kinds())
    for (const Json& form : forms)
      for (const std::string& text : {table(std::string(kind.plural), {form}, true),
                                      described(std::string(kind.plural), form, {&form})})
        EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
}

TEST(ObjectText, ShowsWhatWaitsWithDigestsAndLines) {
  const Json revision = served(api::Kind::revision).back();
  const std::string digest = revision["status"]["waiting"][0]["digest"];
  expect_lines(
      described("revision", revision),
      {"Name:                9c01ff", "Kind:                Revision", "State:               waiting",
       "Waits for an approval:", digest.substr(7, 12) + "  leaf0, wave 1, disruption: traffic",
       "    interface[swp1]/mtu: 1500 -> 9216   fabric.yaml:9",
       "    waits: the policy wants an approval for traffic", "  none since the service was started"});
}

TEST(ObjectText, ShowsConditionsWithTheAgeOfTheirProofAndEvents) {
  const Json leaf = served(api::Kind::device).back();
  const Json event = api::event_object({.kind = ServiceEvent::Kind::unreadable,
                                        .at = api::at_second(95),
                                        .object = "Device/leaf0",
                                        .message = "no answer"},
                                       "e1-6", {});
  expect_lines(
      described("device", leaf, {&event}),
      {"Name:                leaf0", "Labels:              lockstep.dev/role=leaf",
       "Cordoned:", "  At:                2026-11-18T11:07:40Z (40s ago)",
       "  Reason:            optics are replaced", "Observed at:         2026-11-18T11:06:45Z (95s ago)",
       "Conditions:", "  TYPE       STATUS   REASON       SINCE  PROVEN   MESSAGE",
       "  Ready      False    Unreachable  30s    95s ago  no answer within 2000 ms",
       "Events:", "  5s         Warning  Unreadable  device/leaf0  no answer"});
}

}  // namespace
}  // namespace lockstep::client
