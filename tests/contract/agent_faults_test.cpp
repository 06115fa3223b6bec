// What a cut, stalled or late connection leaves on a machine with an agent: the kernel as ip(8) shows it, the
// agent's journal on disk, and what the controller was told.
#include <gtest/gtest.h>

#include <sstream>

#include "specs/model/schema_rows.hpp"
#include "tests/contract/agent_subject.hpp"
#include "tests/contract/contract.hpp"
#include "tests/needs.hpp"
#include "tests/unit/frr/lab.hpp"

namespace lockstep::contract {
namespace {

using To = TcpRelay::To;

constexpr std::chrono::seconds kSettledWithin{30};
// Their request and their answer have more than one TLS record (RFC 8446 5.1: 16 KiB) each.
constexpr int kMany = 400;
constexpr std::size_t kBeyondARecord = 17'000;
constexpr std::size_t kWithinARecord = 20;

Call until(std::chrono::milliseconds time) {
  return Call{.deadline = std::chrono::steady_clock::now() + time, .stop = {}};
}

template <class T>
::testing::AssertionResult fails_as(const Result<T>& answer, ErrorKind kind, const std::string& says = "") {
  if (answer) return ::testing::AssertionFailure() << "a success";
  if (answer.error().kind != kind || answer.error().text().find(says) == std::string::npos)
    return ::testing::AssertionFailure() << to_string(answer.error().kind) << ": " << answer.error().text();
  return ::testing::AssertionSuccess();
}

// Addresses of rail0, which has none at first.
ChangeSet changes(int count) {
  ChangeSet out;
  for (int i = 0; i < count; ++i)
    out.push_back({path("interface[rail0]/address[10.70." + std::to_string(i / 200) + "." +
                        std::to_string(i % 200) + "/32]"),
                   {},
                   Value::present(),
                   0});
  return out;
}

class AgentFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = impossible("agent"); !why.empty()) LOCKSTEP_NOT_TESTED_BUT_ON_CI(why);
    made_ = make_subject("agent");
    agent_ = dynamic_cast<AgentSubject*>(made_.get());
    ASSERT_NE(agent_, nullptr);
  }

  Result<Receipt> apply(int count, const Call& call = soon()) {
    const ChangeSet all = changes(count);
    Guard guard;
    guard.ticket = "s1-1";
    guard.transaction = "s1";
    guard.epoch = 1;
    guard.undo_after = kSettledWithin;
    for (auto one = all.rbegin(); one != all.rend(); ++one)
      guard.undo.push_back({one->path, one->want, one->was, 0});
    return agent_->driver().apply(all, guard, call);
  }
  Result<Observation> observe() {
    return agent_->driver().observe({.rows = {row("interface[*]/address[*]")}, .named = {}}, "", soon());
  }
  Result<Done> settle(Settlement settlement) { return agent_->driver().settle("s1", settlement, soon()); }
  // Opens the connection, so that the next bytes to the agent are those of the next request.
  void connect() { ASSERT_TRUE(observe()); }
  void hang_after_write(std::stop_source& caller) {
    agent_->after_write([this, &caller] {
      agent_->relay().hang(true);
      caller.request_stop();
    });
  }
  void heal() {
    agent_->after_write({});
    agent_->relay().hang(false);
    agent_->come_to_rest();
  }

  int addresses() {
    std::istringstream lines(
        frr::run({"ip", "-n", agent_->netns, "-4", "-o", "address", "show", "dev", "rail0"}));
    int out = 0;
    for (std::string line; std::getline(lines, line);)
      if (line.find("inet 10.70.") != line.npos) ++out;
    return out;
  }
  std::string armed() {
    const agent::JournalState now = agent_->journal();
    return now.armed ? now.armed->transaction : "";
  }
  void expect_armed(int count) {
    EXPECT_EQ(addresses(), count);
    EXPECT_EQ(armed(), "s1");
    const auto seen = observe();
    ASSERT_TRUE(seen) << seen.error().text();
    EXPECT_EQ(seen->armed, "s1");
  }
  void expect_nothing_done() {
    EXPECT_EQ(addresses(), 0);
    EXPECT_EQ(armed(), "");
    EXPECT_TRUE(agent_->journal().settled.empty());
  }
  void expect_settled(Settlement settlement, int count) {
    EXPECT_EQ(addresses(), count);
    EXPECT_EQ(armed(), "");
    const agent::JournalState now = agent_->journal();
    ASSERT_EQ(now.settled.size(), 1U);
    EXPECT_EQ(now.settled[0].transaction, "s1");
    EXPECT_EQ(now.settled[0].settlement, settlement);
    EXPECT_FALSE(now.failed);
  }
  void expect_rolled_back_in_time(int count) {
    agent_->pass(kSettledWithin - std::chrono::seconds(1));
    EXPECT_EQ(addresses(), count);
    agent_->pass(std::chrono::seconds(2));
    expect_settled(Settlement::undo, 0);
    EXPECT_TRUE(fails_as(settle(Settlement::keep), ErrorKind::conflict));
  }
  void expect_kept_for_good(int count) {
    EXPECT_TRUE(settle(Settlement::keep)) << "over a new connection";
    agent_->pass(2 * kSettledWithin);
    expect_settled(Settlement::keep, count);
  }

  std::unique_ptr<Subject> made_;
  AgentSubject* agent_ = nullptr;
};

struct Cut {
  const char* name;
  int count;  // of changes
  std::size_t after;
  const char* says;
};
void PrintTo(const Cut& cut, std::ostream* out) { *out << cut.name; }

class AgentAnswer : public AgentFaults, public ::testing::WithParamInterface<Cut> {
 protected:
  void apply_and_lose() {
    connect();
    agent_->after_write([this] { agent_->relay().cut_after(To::controller, GetParam().after); });
    EXPECT_TRUE(fails_as(apply(GetParam().count), ErrorKind::unknown_outcome, GetParam().says));
    heal();
    expect_armed(GetParam().count);
  }
};

TEST_P(AgentAnswer, OfAnApplyThatIsCutLeavesItArmedAndRolledBackInTime) {
  apply_and_lose();
  expect_rolled_back_in_time(GetParam().count);
}

TEST_P(AgentAnswer, OfAnApplyThatIsCutLeavesItToBeKept) {
  apply_and_lose();
  expect_kept_for_good(GetParam().count);
}

TEST_P(AgentAnswer, OfAnObservationThatIsCutIsAskedForAgain) {
  ASSERT_TRUE(apply(kMany));
  agent_->relay().cut_after(To::controller, GetParam().after);
  EXPECT_TRUE(fails_as(observe(), ErrorKind::transient, GetParam().says));
  const auto seen = observe();
  ASSERT_TRUE(seen) << seen.error().text();
  EXPECT_EQ(seen->have.entries().size(), static_cast<std::size_t>(kMany + 1)) << "and one by hand";
}

INSTANTIATE_TEST_SUITE_P(Cut, AgentAnswer,
                         ::testing::Values(Cut{"before_it", 1, 0, "before it answered"},
                                           Cut{"in_its_headers", 1, kWithinARecord, "before it answered"},
                                           Cut{"in_its_body", kMany, kBeyondARecord, "within its answer"}),
                         [](const auto& at) { return std::string(at.param.name); });

class AgentRequest : public AgentFaults, public ::testing::WithParamInterface<Cut> {};

TEST_P(AgentRequest, OfAnApplyThatIsCutIsNotDone) {
  connect();
  agent_->relay().cut_after(To::agent, GetParam().after);
  EXPECT_TRUE(fails_as(apply(GetParam().count), ErrorKind::unknown_outcome));
  heal();
  expect_nothing_done();
  EXPECT_TRUE(apply(GetParam().count));
  expect_armed(GetParam().count);
}

INSTANTIATE_TEST_SUITE_P(Cut, AgentRequest,
                         ::testing::Values(Cut{"in_its_headers", 1, kWithinARecord, ""},
                                           Cut{"in_its_body", kMany, kBeyondARecord, ""}),
                         [](const auto& at) { return std::string(at.param.name); });

TEST_F(AgentFaults, AnApplyThatIsDoneAndNeverAnsweredIsRolledBackInTime) {
  connect();
  std::stop_source caller;
  hang_after_write(caller);
  Call call = until(std::chrono::minutes(1));
  call.stop = caller.get_token();
  EXPECT_TRUE(fails_as(apply(1, call), ErrorKind::unknown_outcome));
  heal();
  expect_armed(1);
  expect_rolled_back_in_time(1);
}

TEST_F(AgentFaults, AnApplyIsRolledBackInTimeWhileThePathIsGone) {
  ASSERT_TRUE(apply(1));
  agent_->relay().hang(true);
  EXPECT_EQ(addresses(), 1);
  agent_->pass(2 * kSettledWithin);
  expect_settled(Settlement::undo, 0);
  heal();
  EXPECT_TRUE(fails_as(settle(Settlement::keep), ErrorKind::conflict));
}

// The call has ended when its request arrives: what it does then is armed, as by any other.
TEST_F(AgentFaults, ARequestThatArrivesLateIsRolledBackInTime) {
  connect();
  agent_->relay().hang(true);
  EXPECT_TRUE(fails_as(apply(1, until(std::chrono::seconds(1))), ErrorKind::unknown_outcome));
  expect_nothing_done();
  heal();
  expect_armed(1);
  expect_rolled_back_in_time(1);
}

TEST_F(AgentFaults, AnAgentThatNeverAnswersANewConnectionHasDoneNothing) {
  agent_->relay().hang(true);
  EXPECT_TRUE(fails_as(apply(1, until(std::chrono::milliseconds(300))), ErrorKind::transient));
  heal();
  expect_nothing_done();
}

TEST_F(AgentFaults, ASettlementWhoseAnswerIsLostIsRepeated) {
  for (const Settlement settlement : {Settlement::keep, Settlement::undo}) {
    SetUp();
    const bool kept = settlement == Settlement::keep;
    ASSERT_TRUE(apply(1));
    agent_->after_write([this] { agent_->relay().cut_after(To::controller, 0); });
    EXPECT_TRUE(fails_as(settle(settlement), ErrorKind::unknown_outcome));
    heal();
    expect_settled(settlement, kept ? 1 : 0);
    EXPECT_TRUE(settle(settlement));
    EXPECT_TRUE(fails_as(settle(kept ? Settlement::undo : Settlement::keep), ErrorKind::conflict));
    agent_->pass(2 * kSettledWithin);
    expect_settled(settlement, kept ? 1 : 0);
  }
}

// The connection of an earlier attempt stood still until then.
TEST_F(AgentFaults, AnApplyThatIsRepeatedAfterItsSettlementIsAConflictAndArmsNothing) {
  for (const Settlement settlement : {Settlement::keep, Settlement::undo}) {
    SetUp();
    const int count = settlement == Settlement::keep ? 1 : 0;
    ASSERT_TRUE(apply(1));
    ASSERT_TRUE(settle(settlement));
    EXPECT_TRUE(fails_as(apply(1), ErrorKind::conflict, "this attempt comes late"));
    expect_settled(settlement, count);
    agent_->pass(2 * kSettledWithin);
    expect_settled(settlement, count);
  }
}

// The driver there knows only the epochs of applies.
TEST_F(AgentFaults, AnOlderLeaderIsDeniedOnceANewerOneHasObserved) {
  ASSERT_TRUE(agent_->epoch->take(2));
  ASSERT_TRUE(observe());
  ASSERT_TRUE(agent_->epoch->take(1));
  EXPECT_EQ(agent_->journal().epoch, 2U);
  EXPECT_TRUE(fails_as(apply(1), ErrorKind::denied));
  EXPECT_TRUE(fails_as(settle(Settlement::keep), ErrorKind::denied));
  EXPECT_TRUE(fails_as(observe(), ErrorKind::denied));
  expect_nothing_done();
}

}  // namespace
}  // namespace lockstep::contract
