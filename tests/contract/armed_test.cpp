// The promises of drivers/driver.hpp for a device that undoes changes by itself: one armed transaction, the
// given undo, idempotent settlements. A device without this ability must refuse to be armed.
#include "specs/model/schema_rows.hpp"
#include "tests/contract/contract.hpp"

namespace lockstep::contract {
namespace {

constexpr std::chrono::seconds kUndoAfter{30};

class Armed : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (!subject_) return;
    const Sample& sample = *simple_sample();
    entry_ = path(sample.entry);
    first_ = sample.first;
    was_ = have();
  }

  Value have() { return observed().have.value(entry_); }
  ChangeSet change() { return {{entry_, was_, first_, 0}}; }
  ChangeSet reverse() { return {{entry_, first_, was_, 0}}; }
  bool undoes_itself() { return traits().undoes_itself; }
  Guard armed(const std::string& transaction) {
    Guard guard;
    guard.ticket = transaction + "-1";
    guard.transaction = transaction;
    guard.undo_after = kUndoAfter;
    guard.undo = reverse();
    return guard;
  }
  void arm(const std::string& transaction) {
    done(change(), armed(transaction));
    ASSERT_EQ(have(), first_);
  }
  Result<Done> settle(const std::string& transaction, Settlement settlement) {
    return driver().settle(transaction, settlement, soon());
  }
  static void expect_conflict(const Result<Done>& answer) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(to_string(answer.error().kind), to_string(ErrorKind::conflict)) << answer.error().text();
  }

  Path entry_;
  Value first_;
  Value was_;
};

TEST_P(Armed, ADeviceThatDoesNotUndoByItselfRefusesToBeArmed) {
  if (undoes_itself()) return;
  const std::string before = config();
  const auto answer = apply(change(), armed("s1"), soon());
  ASSERT_FALSE(answer);
  EXPECT_EQ(to_string(answer.error().kind), to_string(ErrorKind::unsupported));
  expect_config(before, "after a refusal");
  done(change());
  const std::string after = config();
  EXPECT_TRUE(settle("s2", Settlement::keep));
  const auto undo = settle("s2", Settlement::undo);
  ASSERT_FALSE(undo);
  EXPECT_EQ(to_string(undo.error().kind), to_string(ErrorKind::unsupported));
  expect_config(after, "after settlements");
  EXPECT_EQ(observed().armed, "");
}

TEST_P(Armed, AKeptChangeStaysBeyondTheDeadManTimeout) {
  if (!undoes_itself()) return;
  arm("s1");
  EXPECT_EQ(observed().armed, "s1");
  ASSERT_TRUE(settle("s1", Settlement::keep));
  EXPECT_EQ(observed().armed, "");
  EXPECT_TRUE(settle("s1", Settlement::keep)) << "the first answer may have been lost";
  expect_conflict(settle("s1", Settlement::undo));
  subject_->pass(2 * kUndoAfter);
  EXPECT_EQ(have(), first_);
}

TEST_P(Armed, AnUndoneChangeRestoresThePreviousValue) {
  if (!undoes_itself()) return;
  arm("s1");
  ASSERT_TRUE(settle("s1", Settlement::undo));
  EXPECT_EQ(have(), was_);
  EXPECT_TRUE(settle("s1", Settlement::undo)) << "the first answer may have been lost";
  expect_conflict(settle("s1", Settlement::keep));
  EXPECT_EQ(have(), was_);
}

TEST_P(Armed, AnUnsettledChangeIsUndoneAndCannotBeKeptAfterwards) {
  if (!undoes_itself()) return;
  arm("s1");
  subject_->pass(kUndoAfter - std::chrono::seconds(1));
  EXPECT_EQ(have(), first_);
  subject_->pass(std::chrono::seconds(2));
  EXPECT_EQ(have(), was_);
  expect_conflict(settle("s1", Settlement::keep));
}

TEST_P(Armed, AnExtendedTransactionIsUndoneLater) {
  if (!undoes_itself()) return;
  arm("s1");
  subject_->pass(kUndoAfter - std::chrono::seconds(1));
  ASSERT_TRUE(settle("s1", Settlement::extend));
  subject_->pass(kUndoAfter - std::chrono::seconds(1));
  EXPECT_EQ(have(), first_);
  subject_->pass(std::chrono::minutes(10));
  EXPECT_EQ(have(), was_);
}

TEST_P(Armed, AnotherTransactionIsAConflictAndARetryIsNot) {
  if (!undoes_itself()) return;
  arm("s1");
  for (const Guard& other : {armed("s2"), Guard{}}) {
    const auto refused = apply(reverse(), other, soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(to_string(refused.error().kind), to_string(ErrorKind::conflict)) << refused.error().text();
    EXPECT_EQ(have(), first_);
  }
  Guard again = armed("s1");
  again.ticket = "s1-2";
  done({{entry_, first_, first_, 0}}, again);
  ASSERT_TRUE(settle("s1", Settlement::keep));
  done(reverse());
  EXPECT_EQ(have(), was_);
}

TEST_P(Armed, AnUndoKeepsValuesThatChangedMeanwhile) {
  if (!undoes_itself()) return;
  Guard guard = armed("s1");
  for (Change& one : guard.undo) one.was = was_;  // not the value that the apply sets
  done(change(), guard);
  ASSERT_TRUE(settle("s1", Settlement::undo));
  EXPECT_EQ(have(), first_);
}

INSTANTIATE_TEST_SUITE_P(Drivers, Armed, ::testing::ValuesIn(subject_names()),
                         [](const auto& at) { return at.param; });

}  // namespace
}  // namespace lockstep::contract
