// How often a service tries, and what it ends in the middle: changes, measurements, and itself.
#include "service_lab.hpp"
#include "tests/unit/session/fake_traffic.hpp"

namespace lockstep {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class PaceOfAService : public ServiceLab {
 protected:
  using Kind = ServiceEvent::Kind;
  void commit_without_suite(const std::string& id, int probing) {
    auto all = files(probing, in_turn());
    all.erase("slo.yaml");
    source->commit(id, all);
    service->fetch_now();
  }
  void when_began(const std::string& id, std::function<void()> then) {
    on_event = [this, object = "Revision/" + id, then = std::move(then)](const ServiceEvent& event) {
      if (event.kind == Kind::change_began && event.object == object) then();
    };
  }

  const Path kProbing = *Path::parse("sysctl[net.ipv4.tcp_mtu_probing]");
};

// Nothing would be left half done, and unjudged.
TEST_F(PaceOfAService, WithoutAGateAChangeEndsBeforeANewerRevisionBegins) {
  commit_without_suite("aaaa1", 0);
  run_for(seconds(60));
  ASSERT_EQ(good(), "aaaa1");
  bool is_fetched = false;
  when_began("bbbb1", [this] { commit_without_suite("cccc1", 2); });
  devices.at("gpu2")->seen = [&](const SimulatedCall& call) {
    if (call.kind != SimulatedCall::Kind::apply) return;
    is_fetched = is_fetched || service->status()->revisions.front().shown.revision.source == "cccc1";
  };
  commit_without_suite("bbbb1", 1);
  run_for(minutes(5));
  EXPECT_TRUE(is_fetched) << "it was there before the last write";
  EXPECT_TRUE(measurer.asked.empty());
  EXPECT_EQ(count(Kind::change_superseded), 0U);
  std::vector<std::string> kept;
  for (const ServiceEvent& one : events)
    if (one.kind == Kind::change_kept) kept.push_back(one.object);
  EXPECT_EQ(kept, (std::vector<std::string>{"Revision/aaaa1", "Revision/bbbb1", "Revision/cccc1"}));
  expect_probing(2);
}

TEST_F(PaceOfAService, AChangeThatFailsIsTriedLessAndLessOften) {
  commit("aaaa1", 0);
  run_for(seconds(60));
  std::vector<Time> began;
  when_began("bbbb1", [&] { began.push_back(executor.now()); });
  devices.at("gpu2")->refuses = {kProbing.row()};
  commit("bbbb1", 1);
  run_for(hours(1));
  EXPECT_GE(began.size(), 5U);
  EXPECT_LE(began.size(), 15U);
  ASSERT_GE(began.size(), 3U);
  EXPECT_LT(began[1] - began[0], seconds(15));
  EXPECT_GT(began.back() - began[began.size() - 2], minutes(9));
  EXPECT_LT(began.back() - began[began.size() - 2], minutes(12));
  EXPECT_EQ(probing("gpu2"), Value::text("0"));
  devices.at("gpu2")->refuses = {};
  run_for(minutes(12));
  expect_probing(1);
  EXPECT_EQ(good(), "bbbb1");
}

TEST_F(PaceOfAService, AStopInMidChangeLeavesTheRestToTheNextService) {
  commit("aaaa1", 0, in_turn());
  run_for(minutes(5));
  ASSERT_EQ(good(), "aaaa1");
  bool is_stopped = false;
  devices.at("gpu1")->seen = [&](const SimulatedCall& call) {
    if (call.kind != SimulatedCall::Kind::apply || std::exchange(is_stopped, true)) return;
    executor.defer([this] { service->stop(); });
  };
  commit("bbbb1", 1, in_turn());
  run_for(minutes(5));
  ASSERT_TRUE(is_stopped);
  EXPECT_TRUE(ended);
  EXPECT_FALSE(service->status()->leads);
  EXPECT_TRUE(probing("gpu1") == Value::text("0") || probing("gpu1") == Value::text("1"));
  EXPECT_EQ(probing("gpu2"), Value::text("0"));
  EXPECT_EQ(good(), "aaaa1");
  kill();
  start_service();
  run_for(minutes(5));
  expect_probing(1);
  EXPECT_EQ(good(), "bbbb1");
}

// Measurements by the clock that take their time ----------------------------------------------------------

class SlowScheduledSuite : public PaceOfAService {
 protected:
  SlowScheduledSuite() {
    traffic = [this](const auto& plan, const auto& ends) -> Result<std::vector<bench::Measurement>> {
      executor.delays() = {};
      takes_up_to = {};
      began.push_back(executor.now());
      if (while_measuring) while_measuring();
      auto out = fake.measure(plan, ends);
      if (out && is_cut_off) out->front().trouble = bench::Trouble::cancelled;
      return out;
    };
    // The measurement's own job, and not the looks before it.
    executor.after_step = [this] {
      if (takes_up_to == seconds(0) || !runs()) return;
      executor.delays().slow = 1;
      executor.delays().slow_max = executor.delays().reply_max = takes_up_to / 2;
    };
  }
  ~SlowScheduledSuite() override { executor.after_step = {}; }

  void commit_scheduled(const std::string& schedule) {
    commit("aaaa1", 0, {{"slo.yaml", std::string(kSuite) + "  onSchedule: " + schedule + "\n"}});
  }
  bool runs() const {
    const auto status = service->status();
    return !status->schedules.empty() && status->schedules.front().runs;
  }
  std::vector<std::string> why_not_measured() const {
    std::vector<std::string> out;
    for (const ServiceEvent& one : events)
      if (one.kind == Kind::not_measured) out.push_back(one.message);
    return out;
  }

  FakeTraffic fake{1};
  std::vector<Time> began;
  seconds takes_up_to{0};  // the next one, most likely half of this; 0: no time
  bool is_cut_off = false;
  std::function<void()> while_measuring;
};

TEST_F(SlowScheduledSuite, ItsBudgetEndsItAndTheNextOneComesAnIntervalAfterItBegan) {
  takes_up_to = minutes(55);
  commit_scheduled("{every: 1h, budget: 2min}");
  while (began.empty() && executor.step()) {
  }
  run_for(minutes(3));
  EXPECT_EQ(why_not_measured(), std::vector<std::string>{"its budget was over before anything was measured"});
  EXPECT_FALSE(runs());
  run_for(hours(2));
  ASSERT_GE(began.size(), 2U);
  // Up to a tenth later.
  EXPECT_GT(began[1] - began[0], hours(1) - seconds(1));
  EXPECT_LT(began[1] - began[0], minutes(67));
  EXPECT_EQ(why_not_measured().size(), 1U);
  EXPECT_EQ(count(Kind::measured), began.size() - 1);
}

TEST_F(SlowScheduledSuite, DriftThatAppearsEndsItAndIsHealed) {
  takes_up_to = seconds(60);
  is_cut_off = true;
  while_measuring = [this] {
    while_measuring = {};
    devices.at("gpu1")->set(kProbing, Value::text("2"));
  };
  commit_scheduled("{every: 1h}");
  while (began.empty() && executor.step()) {
  }
  run_for(minutes(2));
  expect_probing(0);
  EXPECT_EQ(count(Kind::healed), 1U);
  EXPECT_EQ(why_not_measured(), std::vector<std::string>{"drift is healed"});
  is_cut_off = false;
  run_for(minutes(15));
  EXPECT_EQ(began.size(), 2U) << "and it is tried again";
  EXPECT_EQ(count(Kind::measured), 1U);
}

}  // namespace
}  // namespace lockstep
