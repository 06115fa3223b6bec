// The driver of a device behind an agent: what it asks, as the agent reads it, and that an answer that does
// not fit what was asked is refused by name.

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "drivers/agent/driver.hpp"
#include "tests/unit/agent/network_test_fixture.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;
using Reply = ScriptedAgent::Reply;
using Request = ScriptedAgent::Request;
using Then = ScriptedAgent::Then;
using std::chrono::seconds;

const char* const kHello = R"({"protocol": 1, "version": "1.0", "cluster": "pod", "device": "gpu1",
  "bootId": "b1", "machineId": "m1", "epoch": 3, "drivers": [
    {"driver": "frr", "reads": ["interface[*]/mtu"], "writes": []},
    {"driver": "linux", "reads": ["interface[*]/mtu", "interface[*]/admin"],
     "writes": ["interface[*]/mtu"]}]})";
const char* const kObservation =
    R"({"device": "gpu1", "bootId": "b1", "revision": "r2", "armed": "t1",
        "entries": [["interface[rail0]/mtu", 9000]]})";
const char* const kReceipt = R"({"ticket": "k1", "outcomes": [{"path": "interface[rail0]/mtu"},
  {"path": "interface[rail1]/mtu", "error": {"kind": "refused", "what": "too large"}}]})";

std::string edited(const char* json, const std::function<void(Json&)>& edit) {
  Json out = Json::parse(json);
  edit(out);
  return out.dump();
}

// Answers each call with what is set for it.
class AgentDriverTest : public NetworkTest {
 protected:
  void SetUp() override {
    set("hello", {http(kHello)});
    set("observe", {http(kObservation)});
    set("apply", {http(kReceipt)});
    for (const char* const call : {"settle", "remedy"}) set(call, {http("{}")});
    set("usage", {http(R"({"what": "queue pairs of mlx5_0", "open": 7, "passed": 9})")});
  }
  void set(const std::string& call, const Reply& reply) {
    const std::lock_guard lock(mutex_);
    replies_[call] = reply;
  }
  Reply reply_to(const Request& request) {
    const std::lock_guard lock(mutex_);
    for (const auto& [call, reply] : replies_)
      if (is_call(request, call)) return reply;
    return {http("", "404 Not Found")};
  }
  Attached attach(Attached offline = {}, const std::string& host = "127.0.0.1") {
    return make_agent_driver(network_, {.agent = agent_.address("gpu1", host),
                                        .driver = "linux",
                                        .epoch = epoch_,
                                        .offline = std::move(offline)});
  }
  // What the agent read last, of this call.
  Json asked(const std::string& call) {
    Json out;
    for (const Request& one : agent_.requests())
      if (is_call(one, call)) out = Json::parse(one.body);
    return out;
  }
  std::size_t count(const std::string& call) {
    std::size_t out = 0;
    for (const Request& one : agent_.requests()) out += is_call(one, call) ? 1U : 0U;
    return out;
  }

  static Json without_leader(Json message) {
    message.erase("leader");
    return message;
  }
  static Path path(const std::string& text) { return *Path::parse(text); }
  static ChangeSet changes() {
    return {{path("interface[rail0]/mtu"), Value::integer(1500), Value::integer(9000), 0},
            {path("interface[rail1]/mtu"), Value{}, Value::integer(9000), 0}};
  }
  static Guard guard() {
    Guard out{.ticket = "k1", .revision = "r1", .epoch = 5, .undo_after = seconds(30)};
    out.transaction = "t1";
    out.undo = {{path("interface[rail0]/mtu"), Value::integer(9000), Value::integer(1500), 0}};
    return out;
  }
  void expect_agent_named(const Error& error) {
    EXPECT_TRUE(says(error.what, "gpu1 (https://127.0.0.1:" + std::to_string(agent_.port()) + "): "));
  }

  static std::shared_ptr<CurrentEpoch> leading(std::uint64_t epoch) {
    auto out = std::make_shared<CurrentEpoch>();
    EXPECT_TRUE(out->take(epoch));
    return out;
  }
  std::shared_ptr<CurrentEpoch> epoch_ = leading(5);
  std::mutex mutex_;
  std::map<std::string, Reply> replies_;  // under mutex_
  ScriptedAgent agent_{gpu1_, [this](const Request& request) { return reply_to(request); }};
  std::shared_ptr<AgentNetwork> network_ = start({});
};

TEST_F(AgentDriverTest, KeepsTraitsUntilAnError) {
  const Attached attached = attach();
  for (int i = 0; i < 2; ++i) {
    const auto traits = attached.driver->traits(patient());
    ASSERT_TRUE(traits) << traits.error().text();
    EXPECT_EQ(traits->driver, "linux");
    EXPECT_EQ(traits->reads.size(), 2U);
    EXPECT_EQ(traits->writes.size(), 1U);
    EXPECT_TRUE(traits->undoes_itself);
    EXPECT_FALSE(traits->atomic);
  }
  EXPECT_EQ(count("hello"), 1U);
  set("observe", {http("{}")});
  EXPECT_FALSE(attached.driver->observe({}, "", patient()));
  EXPECT_TRUE(attached.driver->traits(patient()));
  EXPECT_EQ(count("hello"), 2U);
  set("observe", {"", Then::cut});
  EXPECT_FALSE(attached.driver->observe({}, "", patient()));
  EXPECT_TRUE(attached.driver->traits(patient()));
  EXPECT_EQ(count("hello"), 3U);
}

TEST_F(AgentDriverTest, RefusesAnotherDeviceClusterProtocolOrDriver) {
  struct Wrong {
    std::function<void(Json&)> edit;
    ErrorKind kind;
    const char* part;
  };
  for (const Wrong& one :
       {Wrong{[](Json& json) { json["device"] = "gpu2"; }, ErrorKind::denied, "it is device gpu2, not gpu1"},
        {[](Json& json) { json["cluster"] = "lab"; }, ErrorKind::denied, "it is in cluster lab, not pod"},
        {[](Json& json) { json["protocol"] = 2; }, ErrorKind::unsupported, "it speaks protocol 2, not 1"},
        {[](Json& json) { json["drivers"].erase(1); }, ErrorKind::unsupported,
         "it has no driver linux; it has: frr"},
        {[](Json& json) { json["drivers"] = Json::array(); }, ErrorKind::unsupported, "it has: none"},
        {[](Json& json) { json["drivers"] = 7; }, ErrorKind::refused, "field 'drivers' is not"},
        {[](Json& json) { json["epoch"] = -1; }, ErrorKind::refused, "field 'epoch' is not"},
        {[](Json& json) { json["drivers"][1]["reads"] = {"interface[*]/admin"}; }, ErrorKind::refused,
         "field 'writes' has interface[*]/mtu"}}) {
    set("hello", {http(edited(kHello, one.edit))});
    const auto traits = attach().driver->traits(patient());
    EXPECT_TRUE(fails_as(traits, one.kind));
    EXPECT_TRUE(says(traits.error().what, one.part));
    expect_agent_named(traits.error());
  }
}

TEST_F(AgentDriverTest, ObservesWithTheEpochOfTheLeader) {
  const Attached attached = attach();
  const Scope scope{.rows = {path("interface[a]/mtu").row()}, .named = {path("interface[rail0]/mtu")}};
  const auto before = std::chrono::steady_clock::now();
  const auto seen = attached.driver->observe(scope, "r1", patient());
  ASSERT_TRUE(seen) << seen.error().text();
  EXPECT_EQ(seen->device, "gpu1");
  EXPECT_EQ(seen->revision, "r2");
  EXPECT_EQ(seen->armed, "t1");
  EXPECT_EQ(seen->have.size(), 1U);
  EXPECT_EQ(seen->have.value(path("interface[rail0]/mtu")), Value::integer(9000));
  EXPECT_GE(seen->when, before);
  EXPECT_LE(seen->when, std::chrono::steady_clock::now());
  EXPECT_EQ(without_leader(asked("observe")), Json::parse(R"({"driver": "linux", "epoch": 5, "ifNot": "r1",
      "rows": ["interface[*]/mtu"], "named": ["interface[rail0]/mtu"]})"));
  ASSERT_TRUE(epoch_->take(6));
  EXPECT_TRUE(attached.driver->observe({}, "", patient()));
  EXPECT_EQ(asked("observe").at("epoch"), 6);
}

TEST_F(AgentDriverTest, RefusesObservationsThatDoNotFit) {
  const Attached attached = attach();
  const Scope scope{.rows = {path("interface[a]/mtu").row()}};
  struct Wrong {
    std::string body;
    ErrorKind kind;
    const char* part;
  };
  const auto with = [](const std::function<void(Json&)>& edit) { return edited(kObservation, edit); };
  for (const Wrong& one :
       {Wrong{with([](Json& json) { json["device"] = "gpu2"; }), ErrorKind::denied,
              "field 'device' is 'gpu2', not 'gpu1'"},
        {with([](Json& json) { json.erase("device"); }), ErrorKind::denied, "field 'device' is ''"},
        {with([](Json& json) { json.erase("entries"); }), ErrorKind::refused, "field 'entries' is missing"},
        {with([](Json& json) { json["entries"][0][1] = 1.5; }), ErrorKind::refused, "of no known shape"},
        {with([](Json& json) { json["entries"][0][1] = Json::object(); }), ErrorKind::refused,
         "of no known shape"},
        {with([](Json& json) { json["entries"][0][1] = 18446744073709551615U; }), ErrorKind::refused,
         "more than a number may be"},
        {with([](Json& json) {
           json["entries"].push_back({"interface[rail0]/mtu", 1500});
         }),
         ErrorKind::refused, "interface[rail0]/mtu has two values"},
        {with([](Json& json) {
           json["entries"].push_back({"interface[rail0]/admin", "up"});
         }),
         ErrorKind::refused, "field 'entries' has interface[rail0]/admin, which was not asked for"},
        {with([](Json& json) {
           json["unsupported"] = {{{"row", "interface[*]/admin"}, {"reason", "no"}}};
         }),
         ErrorKind::refused, "field 'unsupported' has interface[*]/admin, which was not asked for"},
        {"", ErrorKind::refused, "observe is invalid"},
        {"[]", ErrorKind::refused, "observation is not an object"},
        {"{\"device\": \"gpu1\"", ErrorKind::refused, "observe is invalid"},
        {"{\"entries\": " + std::string(100'000, '['), ErrorKind::refused, "observe is invalid"}}) {
    set("observe", {http(one.body)});
    const auto seen = attached.driver->observe(scope, "", patient());
    EXPECT_TRUE(fails_as(seen, one.kind)) << one.body.substr(0, 100);
    EXPECT_TRUE(says(seen.error().text(), one.part));
    EXPECT_TRUE(says(seen.error().what, "its answer to observe is invalid: "));
    expect_agent_named(seen.error());
  }
}

TEST_F(AgentDriverTest, AppliesAsTheEngineAsks) {
  const Attached attached = attach();
  const auto receipt = attached.driver->apply(changes(), guard(), patient());
  ASSERT_TRUE(receipt) << receipt.error().text();
  EXPECT_EQ(receipt->ticket, "k1");
  ASSERT_EQ(receipt->outcomes.size(), 2U);
  EXPECT_FALSE(receipt->outcomes[0].error);
  ASSERT_TRUE(receipt->outcomes[1].error);
  EXPECT_EQ(receipt->outcomes[1].error->what, "too large");
  EXPECT_EQ(without_leader(asked("apply")), Json::parse(R"({"driver": "linux",
      "changes": [{"path": "interface[rail0]/mtu", "was": 1500, "want": 9000},
                  {"path": "interface[rail1]/mtu", "was": null, "want": 9000}],
      "guard": {"ticket": "k1", "revision": "r1", "epoch": 5, "undoAfterMs": 30000, "transaction": "t1",
                "undo": [{"path": "interface[rail0]/mtu", "was": 9000, "want": 1500}]}})"));
}

TEST_F(AgentDriverTest, RefusesToApplyWhatWouldNotBeRolledBack) {
  const Attached attached = attach();
  Guard unarmed = guard();
  unarmed.undo_after.reset();
  const auto receipt = attached.driver->apply(changes(), unarmed, patient());
  EXPECT_TRUE(fails_as(receipt, ErrorKind::unsupported));
  EXPECT_TRUE(says(receipt.error().what, "every apply needs an undo_after"));
  expect_agent_named(receipt.error());
  EXPECT_EQ(agent_.connections(), 0U);
}

TEST_F(AgentDriverTest, WritesNothingUnlessItLeads) {
  epoch_->resign();
  for (const auto& epoch : {epoch_, std::shared_ptr<CurrentEpoch>()}) {
    epoch_ = epoch;
    const Attached attached = attach();
    EXPECT_TRUE(fails_as(attached.driver->apply(changes(), guard(), patient()), ErrorKind::denied));
    EXPECT_TRUE(fails_as(attached.driver->settle("t1", Settlement::keep, patient()), ErrorKind::denied));
    EXPECT_EQ(count("apply") + count("settle"), 0U);
    EXPECT_TRUE(attached.driver->observe({}, "", patient()));
    EXPECT_EQ(asked("observe").at("epoch"), 0);
    EXPECT_FALSE(asked("observe").contains("leader"));
  }
}

TEST_F(AgentDriverTest, SaysWhoLeads) {
  const Attached attached = attach();
  EXPECT_TRUE(attached.driver->observe({}, "", patient()));
  EXPECT_TRUE(attached.driver->apply(changes(), guard(), patient()));
  EXPECT_TRUE(attached.driver->settle("t1", Settlement::keep, patient()));
  for (const char* const call : {"observe", "apply", "settle"})
    EXPECT_EQ(asked(call).at("leader"), epoch_->leader().id) << call;
  ASSERT_TRUE(epoch_->take(5));
  EXPECT_TRUE(attached.driver->settle("t1", Settlement::keep, patient()));
  EXPECT_EQ(asked("settle").at("leader"), epoch_->leader().id);
  EXPECT_NE(asked("settle").at("leader"), asked("observe").at("leader")) << "leads anew";
  Guard late = guard();
  late.epoch = 4;
  EXPECT_TRUE(attached.driver->apply(changes(), late, patient()));
  EXPECT_FALSE(asked("apply").contains("leader")) << "of an epoch that is not this leader's";
}

// A denial has many reasons: the agent's hello tells this one.
TEST_F(AgentDriverTest, LearnsThatTheAgentHasAnotherLeader) {
  const Attached attached = attach();
  const auto accepted = [&](std::uint64_t epoch, const std::string& leader) {
    set("hello", {http(edited(kHello, [&](Json& json) {
          json["epoch"] = epoch;
          if (!leader.empty()) json["leader"] = leader;
        }))});
    EXPECT_TRUE(epoch_->take(5));
    EXPECT_FALSE(attached.driver->observe({}, "", patient()));
    EXPECT_FALSE(attached.driver->apply(changes(), guard(), patient()));
    return epoch_->why_over("gpu1").value_or("");
  };
  set("observe", {http(R"({"kind": "denied", "what": "no"})", "403 Forbidden")});
  set("apply", {http(R"({"kind": "denied", "what": "no"})", "403 Forbidden")});
  EXPECT_EQ(accepted(9, "somebody"),
            "another controller (epoch 9) has taken over gpu1 from this one (epoch 5)");
  EXPECT_EQ(
      accepted(5, "somebody"),
      "another controller has the same epoch 5 and has taken over gpu1: its store is a copy of this one's");
  EXPECT_EQ(accepted(5, ""), "");
  EXPECT_EQ(accepted(4, "somebody"), "");
  set("hello", {"", Then::cut});
  EXPECT_FALSE(attached.driver->observe({}, "", patient()));
  EXPECT_FALSE(epoch_->why_over());
}

// Something was done, and nobody knows what.
TEST_F(AgentDriverTest, ReceiptThatDoesNotFitIsAnUnknownOutcome) {
  const Attached attached = attach();
  struct Wrong {
    std::string body;
    const char* part;
  };
  const auto with = [](const std::function<void(Json&)>& edit) { return edited(kReceipt, edit); };
  for (const Wrong& one :
       {Wrong{with([](Json& json) { json["outcomes"].erase(1); }), "field 'outcomes' has 1 for 2 changes"},
        {with([](Json& json) { json["outcomes"].push_back(json["outcomes"][0]); }),
         "field 'outcomes' has 3 for 2 changes"},
        {with([](Json& json) { std::swap(json["outcomes"][0], json["outcomes"][1]); }),
         "field 'outcomes' has interface[rail1]/mtu at 0, where interface[rail0]/mtu was asked for"},
        {with([](Json& json) { json.erase("outcomes"); }), "field 'outcomes' is missing"},
        {with([](Json& json) { json["ticket"] = "k0"; }), "field 'ticket' is 'k0', not 'k1'"},
        {with([](Json& json) { json["outcomes"][0]["path"] = "nothing/like/it"; }), "apply is invalid"},
        {with([](Json& json) { json["outcomes"][1]["error"]["kind"] = 7; }), "apply is invalid"},
        {"{}", "field 'outcomes' is missing"},
        {std::string(100'000, '['), "apply is invalid"},
        {"", "apply is invalid"}}) {
    set("apply", {http(one.body)});
    const auto receipt = attached.driver->apply(changes(), guard(), patient());
    EXPECT_TRUE(fails_as(receipt, ErrorKind::unknown_outcome)) << one.body.substr(0, 100);
    EXPECT_TRUE(says(receipt.error().what, one.part));
    expect_agent_named(receipt.error());
  }
}

TEST_F(AgentDriverTest, LostAnswerToAnApplyIsAnUnknownOutcome) {
  const Attached attached = attach();
  ASSERT_TRUE(attached.driver->observe({}, "", patient()));
  set("apply", {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", Then::cut});
  EXPECT_TRUE(fails_as(attached.driver->apply(changes(), guard(), patient()), ErrorKind::unknown_outcome));
  set("settle", {"", Then::cut});
  EXPECT_TRUE(
      fails_as(attached.driver->settle("t1", Settlement::undo, patient()), ErrorKind::unknown_outcome));
  set("observe", {"", Then::cut});
  EXPECT_TRUE(fails_as(attached.driver->observe({}, "", patient()), ErrorKind::transient));
}

TEST_F(AgentDriverTest, PassesOnTheDenialOfAnOlderEpoch) {
  const Attached attached = attach();
  const std::string body = R"({"error": {"kind": "denied", "what": "epoch 5 is older than 9"}})";
  for (const char* const call : {"observe", "apply", "settle"}) set(call, {http(body, "403 Forbidden")});
  const auto seen = attached.driver->observe({}, "", patient());
  EXPECT_TRUE(fails_as(seen, ErrorKind::denied));
  EXPECT_TRUE(says(seen.error().what, "epoch 5 is older than 9"));
  EXPECT_TRUE(fails_as(attached.driver->apply(changes(), guard(), patient()), ErrorKind::denied));
  EXPECT_TRUE(fails_as(attached.driver->settle("t1", Settlement::keep, patient()), ErrorKind::denied));
}

// `cancelled` stops whoever gets it: here, nobody asked for that.
TEST_F(AgentDriverTest, ChangeThatAStoppingAgentLeftOutMayBeTriedAgain) {
  const Attached attached = attach();
  set("apply",
      {http(edited(kReceipt, [](Json& json) { json["outcomes"][1]["error"]["kind"] = "cancelled"; }))});
  const auto receipt = attached.driver->apply(changes(), guard(), patient());
  ASSERT_TRUE(receipt) << receipt.error().text();
  EXPECT_EQ(to_string(receipt->outcomes.at(1).error->kind), to_string(ErrorKind::transient));
}

TEST_F(AgentDriverTest, Settles) {
  const Attached attached = attach();
  for (const auto& [settlement, word] :
       {std::pair{Settlement::keep, "keep"}, std::pair{Settlement::undo, "undo"},
        std::pair{Settlement::extend, "extend"}}) {
    const auto settled = attached.driver->settle("t1", settlement, patient());
    EXPECT_TRUE(settled) << settled.error().text();
    EXPECT_EQ(without_leader(asked("settle")),
              (Json{{"transaction", "t1"}, {"settlement", word}, {"epoch", 5}}));
  }
  set("settle", {http("7")});
  EXPECT_TRUE(
      fails_as(attached.driver->settle("t1", Settlement::keep, patient()), ErrorKind::unknown_outcome));
}

// The driver on this machine, without a device.
class Offline final : public Driver, public Preview, public Remedy, public Recall, public Usage {
 public:
  void recall(const Observation& observation, const Scope& scope) override {
    recalled.push_back(observation.revision + " of " + std::to_string(scope.rows.size()) + " rows");
  }
  std::vector<std::string> recalled;

  Result<Traits> traits(const Call&) override { return no_device(); }
  Result<Observation> observe(const Scope&, std::string_view, const Call&) override { return no_device(); }
  Result<Receipt> apply(const ChangeSet&, const Guard&, const Call&) override { return no_device(); }
  Result<Done> settle(std::string_view, Settlement, const Call&) override { return no_device(); }
  std::vector<std::string> native(const ChangeSet& changes) const override {
    return {"commands for " + changes.at(0).path.text()};
  }
  std::optional<Offer> offer(const Change& effect) const override {
    return Offer{"offered for " + effect.path.text(), "", Disruption::none, 1, seconds(1)};
  }
  std::optional<Offer> stands_by(const Change& effect) const override {
    return Offer{"stands by for " + effect.path.text(), "", Disruption::none, 1, seconds(1)};
  }
  Result<Done> cure(const ChangeSet&, const Call&) override { return no_device(); }
  bool knows(Path entry) const override { return entry.key(0) == "rail0"; }
  Result<Use> of(Path, const Call&) override { return no_device(); }

 private:
  static Error no_device() { return {ErrorKind::refused, "there is no device"}; }
};

Attached offline() {
  Attached out;
  auto driver = std::make_unique<Offline>();
  out.preview = driver.get();
  out.remedy = driver.get();
  out.recall = driver.get();
  out.usage = driver.get();
  out.driver = std::move(driver);
  return out;
}

TEST_F(AgentDriverTest, WhatTheAgentObservedIsKnownToTheDriverHere) {
  Attached here = offline();
  const auto& recalled = dynamic_cast<const Offline&>(*here.driver).recalled;
  const Attached attached = attach(std::move(here));
  const Scope mtu{.rows = {path("interface[rail0]/mtu").row()}};
  ASSERT_TRUE(attached.driver->observe(mtu, "", patient()));
  EXPECT_EQ(recalled, (std::vector<std::string>{"r2 of 1 rows"}));
  set("observe", {http(R"({"device": "gpu1", "bootId": "b1", "revision": "r2", "entries": []})")});
  ASSERT_TRUE(attached.driver->observe(mtu, "r2", patient()));
  EXPECT_EQ(recalled.size(), 1U) << "nothing changed, and the answer has no entries";
  set("observe", {http("{}", "503 Service Unavailable")});
  EXPECT_FALSE(attached.driver->observe(mtu, "", patient()));
  EXPECT_EQ(recalled.size(), 1U);
}

TEST_F(AgentDriverTest, PreviewsAndOffersWithoutTheAgent) {
  const Attached attached = attach(offline());
  ASSERT_NE(attached.preview, nullptr);
  ASSERT_NE(attached.remedy, nullptr);
  ASSERT_NE(attached.usage, nullptr);
  EXPECT_EQ(attached.preview->native(changes()).at(0), "commands for interface[rail0]/mtu");
  EXPECT_EQ(attached.remedy->offer(changes()[0])->name, "offered for interface[rail0]/mtu");
  EXPECT_EQ(attached.remedy->stands_by(changes()[1])->name, "stands by for interface[rail1]/mtu");
  EXPECT_TRUE(attached.usage->knows(path("interface[rail0]/mtu")));
  EXPECT_FALSE(attached.usage->knows(path("interface[rail1]/mtu")));
  EXPECT_EQ(agent_.connections(), 0U);
}

TEST_F(AgentDriverTest, CarriesOutRemediesAndReadsUseAtTheAgent) {
  const Attached attached = attach(offline());
  const auto cured = attached.remedy->cure({changes()[0]}, patient());
  EXPECT_TRUE(cured) << cured.error().text();
  EXPECT_EQ(without_leader(asked("remedy")), Json::parse(R"({"driver": "linux", "epoch": 5,
      "effects": [{"path": "interface[rail0]/mtu", "was": 1500, "want": 9000}]})"));
  set("remedy", {"", Then::cut});
  EXPECT_TRUE(fails_as(attached.remedy->cure({changes()[0]}, patient()), ErrorKind::unknown_outcome));

  const auto use = attached.usage->of(path("interface[rail0]/mtu"), patient());
  ASSERT_TRUE(use) << use.error().text();
  EXPECT_EQ(use->what, "queue pairs of mlx5_0");
  EXPECT_EQ(use->open, 7U);
  EXPECT_EQ(use->passed, 9U);
  EXPECT_EQ(asked("usage"), (Json{{"driver", "linux"}, {"entry", "interface[rail0]/mtu"}}));
  set("usage", {http(R"({"what": "x", "open": -1})")});
  const auto negative = attached.usage->of(path("interface[rail0]/mtu"), patient());
  EXPECT_TRUE(fails_as(negative, ErrorKind::refused));
  EXPECT_TRUE(says(negative.error().what, "field 'open' is not"));

  epoch_->resign();
  EXPECT_TRUE(fails_as(attached.remedy->cure({changes()[0]}, patient()), ErrorKind::denied));
}

TEST_F(AgentDriverTest, HasOnlyWhatTheDriverHasAndTheAddressThatIsDialled) {
  const Attached numeric = attach();
  EXPECT_EQ(numeric.preview, nullptr);
  EXPECT_EQ(numeric.remedy, nullptr);
  EXPECT_EQ(numeric.usage, nullptr);
  EXPECT_EQ(numeric.permission, nullptr);
  ASSERT_TRUE(numeric.address);
  EXPECT_EQ(numeric.address->text(), "127.0.0.1");
  EXPECT_FALSE(attach({}, "localhost").address);
}

TEST_F(AgentDriverTest, WatchesTheAgentsEvents) {
  const Attached attached = attach();
  const auto watcher = attached.watch();
  ASSERT_TRUE(watcher) << watcher.error().text();
  EXPECT_TRUE(agent_.wait([this] {
    const auto requests = agent_.requests();
    return !requests.empty() && requests.back().line == "GET /v1/events HTTP/1.1";
  }));
}

}  // namespace
}  // namespace lockstep
