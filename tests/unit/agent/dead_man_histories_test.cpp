// Random histories of one agent: a controller that applies and settles, an agent that is killed and restarted
// anywhere, reboots, time, other writers, failing writes, new leaders. A model knows what may be on the
// device; it sees only what the controller sees, and the device itself.
//
// LOCKSTEP_AGENT_SEEDS=20000 runs more of them; LOCKSTEP_AGENT_SEED=N only that one.
#include <algorithm>
#include <cstdlib>

#include "dead_man_test_fixture.hpp"
#include "drivers/runtime/random.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::agent {
namespace {

using Values = std::map<Path, Value>;
constexpr nanoseconds kDecided{1};  // a deadline that has passed

struct OpenTransaction {
  std::string name;
  std::string driver;
  Values before;           // of the entries that it changes
  Values wants;            // likewise: a retry wants the same
  Values written;          // acknowledged, and not rolled back since
  nanoseconds deadline{};  // 0: it was never armed
  bool of_this_boot = true;
};

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) {
    for (const char* const name : {"linux", "frr"}) {
      for (const Path path : entries_of(name)) set(name, path, fresh());
    }
  }

  void run() {
    const std::uint64_t events = 4 + random_.below(12);
    for (std::uint64_t i = 0; i < events && !::testing::Test::HasFailure(); ++i) one_event();
    quiet();
  }
  const std::string& story() const { return story_; }

 private:
  static const std::vector<Path>& entries_of(const std::string& driver) {
    static const std::vector<Path> kLinux{entry("interface[rail0]/mtu"), entry("interface[rail1]/mtu"),
                                          entry("interface[rail0]/class[0]/share"),
                                          entry("interface[rail0]/class[3]/share"),
                                          entry("sysctl[net.core.x]")};
    static const std::vector<Path> kFrr{entry("bgp/max-paths"), entry("bgp/asn")};
    return driver == "linux" ? kLinux : kFrr;
  }
  static bool is_lost_at_boot(Path path) { return schema_row(path.row()).takes == Takes::lost_at_boot; }
  SimulatedDevice& device(const std::string& driver) {
    return driver == "linux" ? agent_.linux().device : agent_.frr().device;
  }
  Value fresh() { return number(++last_value_); }
  void set(const std::string& driver, Path path, Value value) {
    device(driver).set(path, value);
    base_[path] = value;
  }
  Value have(Path path) {
    for (const char* const driver : {"linux", "frr"})
      if (const Value value = device(driver).truth().value(path)) return value;
    return {};
  }
  void tell(const std::string& what) {
    story_ += std::to_string(std::chrono::duration_cast<seconds>(agent_.now()).count()) + ": " + what + "\n";
  }
  bool is_overdue() const { return open_ && (!open_->of_this_boot || agent_.now() >= open_->deadline); }

  // The device holds what was kept or what was before, and nothing else.
  void expect_settled(const char* when) {
    for (const auto& [path, value] : base_)
      EXPECT_EQ(have(path), value) << when << ": " << path.text() << " is " << have(path).to_string()
                                   << " instead of " << value.to_string();
    open_.reset();
  }
  // What is due was rolled back, unless the device refuses it.
  void check_time() {
    if (is_overdue() && !refuses_) expect_settled("past its time");
  }

  void one_event() {
    switch (random_.below(13)) {
      case 0:
      case 1:
      case 2: return apply();
      case 3: return settle_keep();
      case 4: return settle_undo();
      case 5: return extend();
      case 6:
      case 7: return pass_time();
      case 8: return end_agent();
      case 9: return another_writer();
      case 10: return lead_anew();
      case 11: return intrude();
      default: return toggle();
    }
  }

  void apply() {
    if (!open_) {
      open_.emplace();
      open_->name = "s" + std::to_string(++transactions_);
      open_->driver = random_.chance(0.7) ? "linux" : "frr";
      for (const Path path : entries_of(open_->driver)) {
        if (random_.chance(0.4)) continue;
        open_->before[path] = have(path);
        // One that is lost with the boot is never removed: a rollback after the boot would bring it back.
        const bool removes = !is_lost_at_boot(path) && random_.chance(0.2);
        open_->wants[path] = removes ? Value{} : fresh();
      }
    }
    OpenTransaction& one = *open_;
    ChangeSet changes;
    ChangeSet undo;
    for (const auto& [path, want] : one.wants) {
      const Value now = have(path);
      if (now == one.before[path] && now != want) changes.push_back({path, now, want, 0});
      if (want != one.before[path]) undo.push_back({path, want, one.before[path], 0});
    }
    std::reverse(undo.begin(), undo.end());
    const bool comes_late = is_overdue() && one.deadline != nanoseconds::zero();
    if (random_.chance(0.3)) agent_.kill_at(static_cast<int>(random_.below(8)));
    const nanoseconds at = agent_.now();
    const auto receipt = agent_.apply(changes, armed(one.name, undo, epoch_), one.driver);
    tell("apply " + one.name + ": " + kind_of(receipt) + (agent_.is_killed() ? ", killed" : ""));
    if (comes_late) one.written.clear();
    if (receipt && !agent_.is_killed()) {
      for (std::size_t i = 0; i < changes.size(); ++i)
        if (!receipt->outcomes.at(i).error) one.written[changes[i].path] = changes[i].want;
      EXPECT_TRUE(hold_.empty()) << "written in spite of a hold";
    }
    // Armed anew, or not begun: then an earlier attempt's time is still the limit.
    if ((receipt || agent_.is_killed()) && !comes_late) {
      one.deadline = std::max(one.deadline, at + kUndoAfter);
      one.of_this_boot = true;
    }
    if (agent_.is_killed()) return end_agent();
    agent_.kill_at(-1);
    if (!comes_late) return;
    EXPECT_FALSE(receipt) << "armed again past its time";
    check_time();
  }

  void settle_keep() {
    if (!open_) return;
    const bool late = is_overdue();
    const auto answer = agent_.settle(open_->name, Settlement::keep, epoch_);
    tell("keep " + open_->name + ": " + kind_of(answer));
    if (!answer) return;
    EXPECT_FALSE(late && !open_->written.empty()) << "kept past its time";
    for (const auto& [path, value] : open_->written)
      EXPECT_EQ(have(path), value) << path.text() << " was kept and is not there";
    for (const auto& [path, value] : open_->wants) base_[path] = have(path);
    open_.reset();
  }

  void settle_undo() {
    if (!open_) return;
    if (random_.chance(0.4)) agent_.kill_at(static_cast<int>(random_.below(8)));
    const auto answer = agent_.settle(open_->name, Settlement::undo, epoch_);
    tell("undo " + open_->name + ": " + kind_of(answer) + (agent_.is_killed() ? ", killed" : ""));
    // The answer may be lost with the agent, but not what it has decided.
    if (agent_.is_killed()) {
      open_->deadline = kDecided;
      return end_agent();
    }
    agent_.kill_at(-1);
    if (answer)
      expect_settled("rolled back");
    else
      open_->deadline = kind_of(answer) == "transient" ? kDecided : open_->deadline;
  }

  void extend() {
    if (!open_) return;
    const bool late = is_overdue();
    const auto answer = agent_.settle(open_->name, Settlement::extend, epoch_);
    tell("extend " + open_->name + ": " + kind_of(answer));
    if (!answer) return;
    EXPECT_FALSE(late) << "extended past its time";
    open_->deadline = agent_.now() + kUndoAfter;
  }

  void pass_time() {
    const seconds time(random_.below(200));
    if (random_.chance(0.2)) {  // the machine sleeps, or the loop is late
      agent_.skip(time);
      return tell("time without the loop");
    }
    if (random_.chance(0.3)) agent_.kill_at(static_cast<int>(random_.below(12)));
    agent_.pass(time);
    tell(agent_.is_killed() ? "time, killed" : "time");
    if (agent_.is_killed()) return end_agent();
    agent_.kill_at(-1);
    check_time();
  }

  void end_agent() {
    if (random_.chance(0.7)) {
      agent_.restart();
      tell("restarted");
    } else {
      agent_.reboot();
      tell("rebooted");
      for (auto& [path, value] : base_)
        if (is_lost_at_boot(path)) value = {};
      if (open_) {
        open_->of_this_boot = false;
        for (auto& [path, value] : open_->before)
          if (is_lost_at_boot(path)) value = {};
        std::erase_if(open_->written, [](const auto& one) { return is_lost_at_boot(one.first); });
      }
    }
    check_time();
  }

  void another_writer() {
    const std::string driver = random_.chance(0.7) ? "linux" : "frr";
    const Path path = entries_of(driver)[random_.below(entries_of(driver).size())];
    set(driver, path, fresh());
    tell("another writer: " + path.text());
    if (!open_) return;
    open_->before.erase(path);
    open_->wants.erase(path);
    open_->written.erase(path);
  }

  void lead_anew() {
    ++epoch_;
    const bool late = is_overdue();
    EXPECT_TRUE(agent_.observe(epoch_));
    tell("leader of epoch " + std::to_string(epoch_));
    EXPECT_EQ(kind_of(agent_.apply({}, armed("old", {}, epoch_ - 1))), "denied");
    EXPECT_EQ(kind_of(agent_.settle("old", Settlement::keep, epoch_ - 1)), "denied");
    (void)late;
  }

  // Somebody who does not know of the open transaction.
  void intrude() {
    if (!open_ || open_->written.empty() || is_overdue()) return;
    const ChangeSet change{{entry("memlock"), {}, Value::text("unlimited"), 0}};
    EXPECT_NE(kind_of(agent_.apply(change, armed("intruder", {}, epoch_))), "done");
    EXPECT_FALSE(have(entry("memlock")));
  }

  void toggle() {
    if (random_.chance(0.5)) {
      hold_ = hold_.empty() ? "on hold" : "";
      EXPECT_TRUE(agent_.dead_man().hold(hold_));
      return tell("hold: " + hold_);
    }
    refuses_ ? accept() : refuse();
  }
  void refuse() {
    refuses_ = true;
    device("linux").refuses = {entry("interface[rail0]/mtu").row()};
    tell("writes are refused");
    agent_.pass(seconds(random_.below(240)));
  }
  // Before a rollback is given up: the next try succeeds.
  void accept() {
    refuses_ = false;
    device("linux").refuses = {};
    tell("writes are accepted");
    agent_.pass(seconds(30));
    check_time();
  }

  void quiet() {
    if (::testing::Test::HasFailure()) return;
    tell("quiet");
    accept();
    agent_.restart();
    agent_.pass(2 * kUndoAfter);
    if (agent_.journal().failed) return;
    expect_settled("at the end");
    EXPECT_EQ(agent_.observe()->armed, "");
    EXPECT_EQ(agent_.dead_man().next_time(), std::nullopt);
  }

  Random random_;
  AgentUnderTest agent_;
  Values base_;  // when all is quiet
  std::optional<OpenTransaction> open_;
  std::int64_t last_value_ = 1000;
  int transactions_ = 0;
  std::uint64_t epoch_ = 1;
  bool refuses_ = false;
  std::string hold_;
  std::string story_;
};

TEST(DeadManHistories, LeaveWhatWasKeptOrWhatWasBefore) {
  const char* const only = std::getenv("LOCKSTEP_AGENT_SEED");
  const char* const more = std::getenv("LOCKSTEP_AGENT_SEEDS");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 0;
  const std::uint64_t count = only != nullptr ? 1 : more != nullptr ? std::strtoull(more, nullptr, 10) : 2000;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    History history(seed);
    history.run();
    if (::testing::Test::HasFailure()) FAIL() << "LOCKSTEP_AGENT_SEED=" << seed << "\n" << history.story();
  }
}

}  // namespace
}  // namespace lockstep::agent
