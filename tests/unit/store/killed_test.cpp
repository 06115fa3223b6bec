// A writer is killed before each of its writes in turn: acknowledged data is stored, nothing is half-written,
// and the next writer continues.
#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>

#include "history_lab.hpp"
#include "killed_at_write.hpp"
#include "oracle.hpp"
#include "reconciler/store/backup.hpp"

namespace lockstep {
namespace {

// A counter that a child increments and that outlives it.
class SharedCount {
 public:
  SharedCount()
      : count_(static_cast<std::atomic<int>*>(mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedCount() { munmap(count_, sizeof *count_); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;
  std::atomic<int>& operator*() const { return *count_; }

 private:
  std::atomic<int>* count_;
};

class Killed : public StateDirectory {
 protected:
  Killed() {
    std::filesystem::create_directories(state());
    std::filesystem::create_directory(run() + "/elsewhere");
  }
  // The current state is where each child starts.
  void start_from_here() const {
    std::filesystem::copy(run(), directory + "/start", std::filesystem::copy_options::recursive);
  }
  void start_over() const {
    std::filesystem::remove_all(run());
    std::filesystem::copy(directory + "/start", run(), std::filesystem::copy_options::recursive);
  }
  std::string run() const { return directory + "/run"; }
  std::string state() const { return run() + "/state"; }
  std::string live() const { return state() + "/journal.sqlite"; }
  std::string backup() const { return run() + "/elsewhere/pod.sqlite"; }
  void change(int count) const {
    for (int i = 0; i < count; ++i) {
      const auto store = led(state());
      const auto begun = store->history().begin(Plan{}, "ann", "why");
      ASSERT_TRUE(begun && store->history().end(*begun, "kept"));
    }
  }
};

// One change from taking the leadership to its end. Every answer is counted.
void write_a_change(const std::string& directory, std::atomic<int>& answered) {
  const auto store = led(directory);
  ++answered;  // 1
  History& history = store->history();
  const auto change = history.begin(Plan{}, "ann", "why");
  if (!change) _exit(1);
  ++answered;  // 2
  if (!history.ticket(*change, ticket("t" + std::to_string(*change)))) _exit(1);
  ++answered;  // 3
  if (!history.receipt("t" + std::to_string(*change), TicketState::kept, "")) _exit(1);
  ++answered;  // 4
  if (!history.end(*change, "kept")) _exit(1);
  ++answered;  // 5
}

TEST_F(Killed, AtEachWriteOfAChangeKeepsAcknowledgedData) {
  start_from_here();
  int points = 0;
  for (bool killed = true; killed; ++points) {
    start_over();
    const SharedCount answered;
    killed = killed_at_write(points + 1, [&] { write_a_change(state(), *answered); });
    const int done = *answered;
    // The next process leads and finds the change.
    const auto next = led(state());
    EXPECT_GT(next->leadership().epoch(), done >= 1 ? 1U : 0U) << points;
    const Oracle oracle(live());
    ASSERT_TRUE(oracle.sound()) << points;
    const int reached = oracle.count("changes") == "0"                           ? 1
                        : oracle.count("tickets") == "0"                         ? 2
                        : oracle.count("tickets WHERE state = 1") == "0"         ? 3
                        : oracle.count("changes WHERE ended IS NOT NULL") == "0" ? 4
                                                                                 : 5;
    EXPECT_TRUE(done == 0 || reached == done || reached == done + 1) << points << ": " << done << reached;
    EXPECT_EQ(oracle.count("written"), reached >= 3 ? "1" : "0")
        << points << ": with the ticket or not at all";
    EXPECT_EQ(next->history().in_flight()->size(), reached >= 2 && reached < 5 ? 1U : 0U) << points;
    EXPECT_TRUE(next->history().begin(Plan{}, "bob", "next"));
  }
  EXPECT_GT(points, 20) << "of a change's writes";
}

TEST_F(Killed, AtEachWriteOfABackupKeepsTheLastOne) {
  change(1);
  ASSERT_TRUE(back_up(state(), backup(), {}));
  change(1);
  start_from_here();
  int points = 0;
  for (bool killed = true; killed; ++points) {
    start_over();
    const SharedCount answered;
    killed = killed_at_write(points + 1, [&] {
      if (back_up(state(), backup(), {})) ++*answered;
    });
    const Oracle oracle(backup(), SQLITE_OPEN_READONLY);
    ASSERT_TRUE(oracle.sound()) << points;
    const std::string changes = oracle.count("changes");
    EXPECT_TRUE(changes == "2" || (changes == "1" && *answered == 0)) << points << ": " << changes;
    EXPECT_EQ(Oracle(live()).count("changes"), "2");
  }
  EXPECT_GT(points, 10);
}

// Once with an intact store and once with a damaged one, which is replaced in a different way.
TEST_F(Killed, AtEachWriteOfARestoreLeavesTheOldOrTheNewState) {
  change(2);
  ASSERT_TRUE(back_up(state(), backup(), {}));
  change(3);
  start_from_here();
  for (const bool damaged : {false, true}) {
    int points = 0;
    for (bool killed = true; killed; ++points) {
      start_over();
      if (damaged) std::filesystem::resize_file(live(), 8192);
      const SharedCount answered;
      killed = killed_at_write(points + 1, [&] {
        if (restore(state(), backup(), "lockstep state restore", {})) ++*answered;
      });
      const std::string where = (damaged ? "damaged, " : "whole, ") + std::to_string(points);
      const auto store = open_store(state());
      const bool old_is_there =
          store && (*store)->history().totals() && (*store)->history().totals()->changes == 5;
      EXPECT_FALSE(*answered == 1 && old_is_there) << where;
      if (damaged && !Oracle(live()).sound()) {
        EXPECT_EQ(*answered, 0) << where;
        EXPECT_TRUE(restore(state(), backup(), "lockstep state restore", {})) << where;
      }
      const std::string changes = Oracle(live()).count("changes");
      EXPECT_TRUE(changes == "2" || (!damaged && changes == "5" && *answered == 0))
          << where << ": " << changes;
      ASSERT_TRUE(Oracle(live()).sound()) << where;
      const std::uint64_t epoch = led(state())->leadership().epoch();
      EXPECT_EQ(epoch > kEpochGap, changes == "2")
          << where << ": the epochs are the backup's, and below others";
      EXPECT_GT(epoch, 5U) << where;
    }
    EXPECT_GT(points, 20);
  }
}

}  // namespace
}  // namespace lockstep
