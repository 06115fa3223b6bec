// The promises of drivers/driver.hpp for the end of calls: by a deadline, a stop, a lost reply, an older
// leader, a stale revision; and for the optional parts of a driver: its watch and its remedies.
#include <poll.h>
#include <sys/eventfd.h>

#include <cstdio>
#include <map>
#include <thread>

#include "specs/files/descriptor.hpp"
#include "specs/model/schema_rows.hpp"
#include "tests/contract/contract.hpp"
#include "tests/needs.hpp"

namespace lockstep::contract {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

Guard guard(std::string ticket, std::uint64_t epoch = 0, std::string revision = "",
            std::optional<milliseconds> undo_after = std::nullopt) {
  return Guard{std::move(ticket), std::move(revision), epoch, undo_after};
}

std::string_view kind_of(const Error& error) { return to_string(error.kind); }

bool is_readable(int descriptor, milliseconds wait) {
  pollfd one{descriptor, POLLIN, 0};
  return ::poll(&one, 1, static_cast<int>(wait.count())) == 1;
}

// A call that another thread stops, as the executor does: by its token and its descriptor.
class StoppedLater {
 public:
  explicit StoppedLater(microseconds after)
      : wake_(::eventfd(0, EFD_CLOEXEC)), over_(::eventfd(0, EFD_CLOEXEC)) {
    call.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    call.stop = source_.get_token();
    call.wake_fd = wake_.number();
    thread_ = std::jthread([this, after] {
      pollfd over{over_.number(), POLLIN, 0};
      const timespec wait{after.count() / 1'000'000, after.count() % 1'000'000 * 1000};
      if (::ppoll(&over, 1, &wait, nullptr) == 0) stop();
    });
  }
  ~StoppedLater() { eventfd_write(over_.number(), 1); }
  StoppedLater(const StoppedLater&) = delete;
  StoppedLater& operator=(const StoppedLater&) = delete;
  void stop() {
    source_.request_stop();
    eventfd_write(wake_.number(), 1);
  }
  Call call;

 private:
  std::stop_source source_;
  Descriptor wake_;
  Descriptor over_;
  std::jthread thread_;
};

class Calls : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (!subject_) return;
    const Sample& sample = *simple_sample();
    entry_ = path(sample.entry);
    first_ = sample.first;
  }

  Value have() { return observed().have.value(entry_); }
  ChangeSet change() { return {{entry_, have(), first_, 0}}; }
  bool removable() const { return !subject_->never_unset.contains(pattern_of(entry_)); }

  // What an answer reports about the entry must be true; an unknown outcome reports nothing.
  void expect_true(const Result<Receipt>& answer, Value was) {
    std::optional<Error> error;
    if (!answer)
      error = answer.error();
    else if (answer->outcomes.empty())
      ADD_FAILURE() << "no outcome";
    else
      error = answer->outcomes.front().error;
    if (error && error->kind == ErrorKind::unknown_outcome) return;
    SCOPED_TRACE(error ? error->text() : "believed done");
    EXPECT_EQ(have(), error ? was : first_);
  }

  void put_back(Value was) {
    settle_rest();
    if (const Value now = have(); now != was) done({{entry_, now, was, 0}});
  }

  // Every entry has its actual value or is reported as unread.
  void expect_whole_or_told(const Result<Observation>& seen, const Observation& truth) {
    if (!seen) return;
    for (const Entry& entry : truth.have.entries())
      if (schema_row(entry.path.row()).facet == Facet::config && !is_unread(seen->unread, entry.path)) {
        EXPECT_EQ(seen->have.value(entry.path), entry.value) << entry.path.text();
      }
  }

  Path entry_;
  Value first_;
};

// From before a call begins until long after its end.
constexpr microseconds kMoments[] = {microseconds(0),    microseconds(20),    microseconds(50),
                                     microseconds(100),  microseconds(200),   microseconds(400),
                                     microseconds(800),  microseconds(1500),  microseconds(3000),
                                     microseconds(6000), microseconds(12000), microseconds(25000)};

TEST_P(Calls, AnApplyReportsTheTruthWheneverItsDeadlinePasses) {
  const Value was = have();
  for (const microseconds moment : kMoments) {
    SCOPED_TRACE(moment.count());
    Call call;
    call.deadline = std::chrono::steady_clock::now() + moment;
    expect_true(apply({{entry_, was, first_, 0}}, guard("t"), call), was);
    if (!removable()) return;
    put_back(was);
  }
}

TEST_P(Calls, AnApplyReportsTheTruthWheneverItIsStopped) {
  const Value was = have();
  for (const microseconds moment : kMoments) {
    SCOPED_TRACE(moment.count());
    StoppedLater later(moment);
    expect_true(apply({{entry_, was, first_, 0}}, guard("t"), later.call), was);
    if (!removable()) return;
    put_back(was);
  }
}

TEST_P(Calls, AnObservationIsCompleteOrReportsGapsWheneverItsDeadlinePasses) {
  done(change());
  const Observation truth = observed();
  for (const microseconds moment : kMoments) {
    SCOPED_TRACE(moment.count());
    Call call;
    call.deadline = std::chrono::steady_clock::now() + moment;
    expect_whole_or_told(driver().observe(whole(), "", call), truth);
    StoppedLater later(moment);
    expect_whole_or_told(driver().observe(whole(), "", later.call), truth);
  }
}

TEST_P(Calls, ACallStoppedBeforeItsStartIsCancelledAndChangesNothing) {
  const std::string before = config();
  StoppedLater later{std::chrono::seconds(1)};
  later.stop();
  const auto seen = driver().observe(whole(), "", later.call);
  ASSERT_FALSE(seen);
  EXPECT_EQ(kind_of(seen.error()), to_string(ErrorKind::cancelled));
  const auto answer = apply(change(), guard("t"), later.call);
  if (answer)
    for (const Receipt::Outcome& one : answer->outcomes) {
      ASSERT_TRUE(one.error);
      EXPECT_EQ(kind_of(*one.error), to_string(ErrorKind::cancelled));
    }
  else
    EXPECT_EQ(kind_of(answer.error()), to_string(ErrorKind::cancelled));
  expect_config(before, "after a stop");
}

TEST_P(Calls, ADeviceThatHangsBlocksNoCallBeyondItsDeadlineOrStop) {
  const Observation truth = observed();
  const Value was = have();
  if (!subject_->hang(true)) LOCKSTEP_NOT_TESTED(GetParam() + " always answers");
  Call call;
  call.deadline = std::chrono::steady_clock::now() + milliseconds(300);
  expect_whole_or_told(driver().observe(whole(), "", call), truth);
  // Its deadline is a minute away: only the stop can end it earlier.
  StoppedLater observation(milliseconds(50));
  const auto seen = driver().observe(whole(), "", observation.call);
  EXPECT_LT(std::chrono::steady_clock::now(), observation.call.deadline);
  if (!seen) {
    EXPECT_EQ(kind_of(seen.error()), to_string(ErrorKind::cancelled));
  }
  StoppedLater write(milliseconds(50));
  const auto answer = apply({{entry_, {}, first_, 0}}, guard("t"), write.call);
  EXPECT_LT(std::chrono::steady_clock::now(), write.call.deadline);
  EXPECT_FALSE(answer && !answer->outcomes.front().error) << "believed done";
  subject_->hang(false);
  expect_true(answer, was);  // a change that was not done is not done later
}

TEST_P(Calls, AnOlderLeaderIsDenied) {
  const std::string before = config();
  ASSERT_TRUE(apply({}, guard("t1", 7), soon()));
  const auto older = apply(change(), guard("t2", 6), soon());
  ASSERT_FALSE(older);
  EXPECT_EQ(kind_of(older.error()), to_string(ErrorKind::denied));
  expect_config(before, "after an older leader");
  done(change(), guard("", 7));
}

TEST_P(Calls, AStaleRevisionIsAConflict) {
  const std::string known = observed().revision;
  if (known.empty()) LOCKSTEP_NOT_TESTED(GetParam() + " has no revisions");
  const auto never = apply(change(), guard("t1", 0, "nobody-was-here"), soon());
  ASSERT_FALSE(never);
  EXPECT_EQ(kind_of(never.error()), to_string(ErrorKind::conflict));
  subject_->touch();
  const std::string before = config();
  const auto moved = apply(change(), guard("t2", 0, known), soon());
  ASSERT_FALSE(moved);
  EXPECT_EQ(kind_of(moved.error()), to_string(ErrorKind::conflict));
  expect_config(before, "after conflicts");
  done(change(), guard("", 0, observed().revision));
}

// A step observes only what it writes.
TEST_P(Calls, ARevisionOfOneRowIsValidAsLongAsTheRowIsUnchanged) {
  Scope few = whole();
  few.rows = {entry_.row()};
  few.named.push_back(entry_);
  const auto seen = driver().observe(few, "", soon());
  ASSERT_TRUE(seen) << seen.error().text();
  if (seen->revision.empty()) LOCKSTEP_NOT_TESTED(GetParam() + " has no revisions");
  const Value was = have();  // another observation, of all rows
  done(change(), guard("t1", 0, seen->revision));
  ASSERT_NE(have(), was);
  const auto moved = apply({{entry_, first_, was, 0}}, guard("t2", 0, seen->revision), soon());
  ASSERT_FALSE(moved);
  EXPECT_EQ(kind_of(moved.error()), to_string(ErrorKind::conflict));
  EXPECT_EQ(have(), first_);
}

TEST_P(Calls, ALostReplyIsAnUnknownOutcomeAndAnObservationShowsTheTruth) {
  if (!subject_->lose_replies(true)) LOCKSTEP_NOT_TESTED(GetParam() + " can't lose one");
  const auto answer = apply(change(), guard("t"), soon());
  std::optional<Error> error;
  if (!answer)
    error = answer.error();
  else
    error = answer->outcomes.front().error;
  ASSERT_TRUE(error) << "believed done";
  EXPECT_EQ(kind_of(*error), to_string(ErrorKind::unknown_outcome)) << error->text();
  subject_->lose_replies(false);
  EXPECT_EQ(have(), first_) << "the reply was lost, not the write";
  done({{entry_, {}, first_, 0}});
  EXPECT_EQ(have(), first_);
}

TEST_P(Calls, AWatchWakesForForeignChangesAndNotForAnObservation) {
  if (!subject_->attached.watch) LOCKSTEP_NOT_TESTED(GetParam() + " can't be watched");
  auto opened = subject_->attached.watch();
  ASSERT_TRUE(opened) << opened.error().text();
  Watcher& watcher = **opened;
  const std::string device = observed().device;
  ASSERT_TRUE(watcher.drain());
  EXPECT_FALSE(is_readable(watcher.descriptor(), milliseconds(0))) << "an observation changes nothing";
  const auto quiet = watcher.drain();
  ASSERT_TRUE(quiet);
  EXPECT_FALSE(quiet->any());
  for (int round = 0; round < 3; ++round) {
    const std::string before = config();
    subject_->touch();
    ASSERT_TRUE(is_readable(watcher.descriptor(), std::chrono::seconds(5)));
    const auto woken = watcher.drain();
    ASSERT_TRUE(woken);
    EXPECT_EQ(woken->devices, std::vector<std::string>{device});
    EXPECT_NE(config(), before);
  }
  // A reader that is behind is still notified.
  for (int i = 0; i < 50; ++i) subject_->touch();
  ASSERT_TRUE(is_readable(watcher.descriptor(), std::chrono::seconds(5)));
  const auto behind = watcher.drain();
  ASSERT_TRUE(behind);
  EXPECT_TRUE(behind->all || behind->devices == std::vector<std::string>{device});
}

TEST_P(Calls, ARemedyIsNamedAndBoundedAndKeepsTheConfiguration) {
  Remedy* const remedy = subject_->attached.remedy;
  if (remedy == nullptr) LOCKSTEP_NOT_TESTED(GetParam() + " has no remedy");
  EXPECT_FALSE(remedy->offer(change().front())) << "a difference of configuration is no effect";
  const std::vector<Change> broken = subject_->break_effects();
  ASSERT_FALSE(broken.empty());
  const std::string before = config();
  const std::string foreign = subject_->foreign();
  std::map<std::string, ChangeSet> groups;  // by remedy
  for (const Change& effect : broken) {
    SCOPED_TRACE(effect.path.text());
    EXPECT_EQ(schema_row(effect.path.row()).facet, Facet::effect);
    const auto offer = remedy->offer(effect);
    ASSERT_TRUE(offer);
    EXPECT_FALSE(offer->name.empty());
    EXPECT_FALSE(offer->what_it_does.empty());
    EXPECT_GE(offer->tries_max, 1);
    EXPECT_GT(offer->within.count(), 0);
    groups[offer->name].push_back(effect);
    if (const auto standing = remedy->stands_by(effect)) {
      EXPECT_EQ(standing->disruption, offer->disruption) << "a plan has it with its worst";
    }
  }
  for (const auto& [name, effects] : groups) {
    SCOPED_TRACE(name);
    const auto cured = remedy->cure(effects, soon());
    EXPECT_TRUE(cured) << cured.error().text();
    expect_config(before, "after a remedy");
    EXPECT_EQ(subject_->foreign(), foreign);
  }
  EXPECT_FALSE(remedy->cure({change().front()}, soon())) << "what it never offered";
}

INSTANTIATE_TEST_SUITE_P(Drivers, Calls, ::testing::ValuesIn(subject_names()),
                         [](const auto& at) { return at.param; });

}  // namespace
}  // namespace lockstep::contract
