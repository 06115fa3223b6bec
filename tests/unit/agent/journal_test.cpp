// The agent's journal: what is written is read again, whenever the writer is killed, and what can't be read
// is an error.
#include "reconciler/agent/journal.hpp"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <vector>

#include "journal_test_folder.hpp"
#include "tests/needs.hpp"

namespace lockstep::agent {
namespace {

Path entry(const char* text) { return *Path::parse(text); }

JournalState full_state() {
  JournalState out;
  out.epoch = 18'446'744'073'709'551'615U;
  out.leader = "3f1c2b7e";
  const ChangeSet changes{{entry("interface[rail0]/mtu"), Value::integer(1500), Value::integer(9000), 0},
                          {entry("interface[ra\xffil]/pfc"), {}, Value::set({"3", "4"}), 0},
                          {entry("memlock"), Value::text("\xfe"), {}, 0}};
  out.armed = ArmedTransaction{.transaction = "e3-c1-s2",
                               .driver = "linux",
                               .ticket = "e3-c1-s2-1",
                               .changes = changes,
                               .undo = {changes[1], changes[0]},
                               .way_back = {changes[2]},
                               .undo_after = std::chrono::minutes(2),
                               .deadline = std::chrono::hours(100'000),
                               .boot_id = "boot1",
                               .rolling_back = true,
                               .rolling_back_since = std::chrono::nanoseconds(7)};
  out.settled = {{"e1-c1-s1", Settlement::keep, std::chrono::nanoseconds(5)},
                 {"e2-c1-s1", Settlement::undo, {}}};
  out.failed = FailedRollback{"e2-c1-s1", "no such device", {changes[0]}};
  out.hold = "fans are being replaced";
  return out;
}

// Every field, without the code under test.
std::string held(const ChangeSet& changes) {
  std::string out;
  for (const Change& one : changes)
    out += one.path.text() + ": " + one.was.to_string() + " -> " + one.want.to_string() + "\n";
  return out;
}
std::string held(const JournalState& state) {
  std::string out = std::to_string(state.epoch) + " " + state.leader + " " + state.hold + "\n";
  if (const auto& armed = state.armed)
    out += armed->transaction + " " + armed->driver + " " + armed->ticket + " " + armed->boot_id + " " +
           std::to_string(armed->undo_after.count()) + " " + std::to_string(armed->deadline.count()) + " " +
           std::to_string(static_cast<int>(armed->rolling_back)) + " " +
           std::to_string(armed->rolling_back_since.count()) + "\n" + held(armed->changes) + "undo\n" +
           held(armed->undo) + "way back\n" + held(armed->way_back);
  for (const SettledTransaction& one : state.settled)
    out += "settled " + one.transaction + " " + std::to_string(static_cast<int>(one.settlement)) + " " +
           std::to_string(one.at.count()) + "\n";
  if (state.failed)
    out += "failed " + state.failed->transaction + " " + state.failed->why + held(state.failed->left);
  return out;
}

JournalState simple_state(std::uint64_t epoch) {
  JournalState out = full_state();
  out.epoch = epoch;
  return out;
}

class Journal : public ::testing::Test {
 protected:
  const TestFolder test_;
  const std::string folder_ = test_.path("journal");
};

TEST_F(Journal, IsEmptyAtFirstAndForItsOwnerAlone) {
  const auto journal = AgentJournal::open(folder_);
  ASSERT_TRUE(journal) << journal.error().text();
  EXPECT_EQ(held(journal->state()), held(JournalState{}));
  struct stat folder {};
  struct stat file {};
  ASSERT_EQ(::stat(folder_.c_str(), &folder), 0);
  ASSERT_EQ(::stat(journal_file(folder_).c_str(), &file), 0) << "an empty journal is there from the first";
  EXPECT_EQ(folder.st_mode & 07777, 0700U);
  EXPECT_EQ(file.st_mode & 07777, 0600U);
}

TEST_F(Journal, HoldsWhatWasWrittenWhenOpenedAgain) {
  {
    auto journal = AgentJournal::open(folder_);
    ASSERT_TRUE(journal->write(full_state()));
    EXPECT_EQ(held(journal->state()), held(full_state()));
  }
  const auto again = AgentJournal::open(folder_);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(held(again->state()), held(full_state()));
}

TEST_F(Journal, IsOpenedByOneAgentAtATime) {
  {
    auto first = AgentJournal::open(folder_);
    ASSERT_TRUE(first);
    const AgentJournal moved = *std::move(first);
    const auto second = AgentJournal::open(folder_);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().text().find("another lockstep-agent"), std::string::npos);
  }
  EXPECT_TRUE(AgentJournal::open(folder_));
}

TEST_F(Journal, RemovesWhatAKilledAgentLeftUnfinishedAndNothingElse) {
  { ASSERT_TRUE(AgentJournal::open(folder_)); }
  const auto in = [this](const char* name) { return folder_ + "/" + name; };
  const auto is_there = [](const std::string& file) {
    struct stat none {};
    return ::lstat(file.c_str(), &none) == 0;
  };
  write_file(in(".lockstep-0123456789abcdef"), "half");
  const std::vector<std::string> others{in(".lockstep-0123456789abcde"),   in(".lockstep-0123456789abcdef0"),
                                        in(".lockstep-0123456789abcdeg"),  in(".lockstep-0123456789ABCDEF"),
                                        in("x.lockstep-0123456789abcdef"), in("request.json")};
  for (const std::string& other : others) write_file(other, "of somebody else");
  std::filesystem::create_directory(in(".lockstep-0000000000000000"));
  std::filesystem::create_symlink(others[0], in(".lockstep-1111111111111111"));
  { ASSERT_TRUE(AgentJournal::open(folder_)); }
  EXPECT_FALSE(is_there(in(".lockstep-0123456789abcdef")));
  for (const std::string& other : others) EXPECT_TRUE(is_there(other)) << other;
  EXPECT_TRUE(is_there(in(".lockstep-0000000000000000")));
  EXPECT_TRUE(is_there(in(".lockstep-1111111111111111")));
  if (::geteuid() != 0) return;
  write_file(in(".lockstep-2222222222222222"), "of another user");
  ASSERT_EQ(::chown(in(".lockstep-2222222222222222").c_str(), 1, 1), 0);
  { ASSERT_TRUE(AgentJournal::open(folder_)); }
  EXPECT_TRUE(is_there(in(".lockstep-2222222222222222")));
}

TEST_F(Journal, SaysWhetherAnAgentHasItOpen) {
  EXPECT_FALSE(is_journal_open(folder_)) << "there is none";
  {
    const auto journal = AgentJournal::open(folder_);
    EXPECT_TRUE(is_journal_open(folder_));
  }
  EXPECT_FALSE(is_journal_open(folder_));
}

TEST_F(Journal, WhatCannotBeReadIsAnError) {
  { ASSERT_TRUE(AgentJournal::open(folder_)); }
  const std::string full = journal_text(full_state());
  std::vector<std::string> texts{"",
                                 "\n",
                                 "{}",
                                 "null",
                                 "[]",
                                 std::string(100, '\0'),
                                 full + full,
                                 R"({"version":2,"epoch":0,"settled":[]})",
                                 R"({"version":1,"epoch":0})",
                                 R"({"version":1,"epoch":-1,"settled":[]})",
                                 R"({"version":1,"settled":[],"armed":{}})",
                                 R"({"version":1,"settled":[],"armed":[]})",
                                 R"({"version":1,"settled":[{"kept":true}]})",
                                 R"({"version":1,"settled":[],"failed":{"transaction":"s1"}})",
                                 R"({"version":1,"settled":[],"hold":true})",
                                 std::string(100'000, '[')};
  for (std::size_t size = 0; size + 1 < full.size(); ++size) texts.push_back(full.substr(0, size));
  for (const std::string& text : texts) {
    write_file(journal_file(folder_), text);
    const auto journal = AgentJournal::open(folder_);
    ASSERT_FALSE(journal) << text;
    EXPECT_NE(journal.error().text().find(journal_file(folder_)), std::string::npos)
        << journal.error().text();
    EXPECT_EQ(text_of_file(journal_file(folder_)), text) << "left for whoever examines it";
  }
}

TEST_F(Journal, AnUnknownRowIsAnError) {
  { ASSERT_TRUE(AgentJournal::open(folder_)); }
  std::string text = journal_text(full_state());
  text.replace(text.find("rail0]/mtu"), 10, "rail0]/xtu");
  write_file(journal_file(folder_), text);
  EXPECT_FALSE(AgentJournal::open(folder_)) << "an older agent can't roll it back";
}

TEST_F(Journal, SomethingElseInItsPlaceIsAnError) {
  ASSERT_TRUE(std::filesystem::create_directories(journal_file(folder_)));
  EXPECT_FALSE(AgentJournal::open(folder_));
  std::filesystem::remove(journal_file(folder_));
  std::filesystem::create_symlink(test_.path("nowhere"), journal_file(folder_));
  EXPECT_FALSE(AgentJournal::open(folder_));
}

TEST_F(Journal, AFailedWriteLeavesTheOldState) {
  auto journal = AgentJournal::open(folder_);
  ASSERT_TRUE(journal->write(simple_state(1)));
  std::filesystem::rename(folder_, test_.path("away"));
  EXPECT_FALSE(journal->write(simple_state(2)));
  EXPECT_EQ(held(journal->state()), held(simple_state(1)));
  EXPECT_EQ(held(*parse_journal(text_of_file(journal_file(test_.path("away"))))), held(simple_state(1)));
}

TEST_F(Journal, RefusesWhatItCouldNotReadAgain) {
  auto journal = AgentJournal::open(folder_);
  JournalState large;
  large.hold = std::string(65U << 20, 'x');
  EXPECT_FALSE(journal->write(std::move(large)));
  EXPECT_TRUE(AgentJournal::open(test_.path("other")));
  EXPECT_EQ(held(*parse_journal(text_of_file(journal_file(folder_)))), held(JournalState{}));
}

// A child that replaces state 1 by state 2, stopped at each begin and end of a system call.
class TracedWriter {
 public:
  explicit TracedWriter(const std::string& folder) {
    child_ = ::fork();
    if (child_ != 0) {
      traced_ = child_ > 0 && wait() && WIFSTOPPED(status_) &&
                ::ptrace(PTRACE_SETOPTIONS, child_, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0;
      return;
    }
    auto journal = AgentJournal::open(folder);
    if (!journal || ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(3);
    (void)::raise(SIGSTOP);
    ::_exit(journal->write(simple_state(2)) ? 0 : 4);
  }
  ~TracedWriter() {
    if (child_ <= 0 || ended_) return;
    (void)::kill(child_, SIGKILL);
    (void)wait();
  }
  TracedWriter(const TracedWriter&) = delete;
  TracedWriter& operator=(const TracedWriter&) = delete;

  bool traced() const { return traced_; }
  // To the next begin or end of a system call; false: it has exited.
  bool go_on() {
    return ::ptrace(PTRACE_SYSCALL, child_, nullptr, nullptr) == 0 && wait() && WIFSTOPPED(status_);
  }
  bool succeeded() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }
  // The system call that begins here; -1: one ends.
  long begins() const {
    __ptrace_syscall_info info{};
    (void)::ptrace(PTRACE_GET_SYSCALL_INFO, child_, sizeof info, &info);
    return info.op == PTRACE_SYSCALL_INFO_ENTRY ? static_cast<long>(info.entry.nr) : -1;
  }

 private:
  bool wait() {
    const bool waited = ::waitpid(child_, &status_, 0) == child_;
    ended_ = waited && (WIFEXITED(status_) || WIFSIGNALED(status_));
    return waited;
  }
  pid_t child_ = -1;
  int status_ = 0;
  bool traced_ = false;
  bool ended_ = false;
};

TEST_F(Journal, HoldsTheOldStateOrTheNewWhereverItsWriterIsKilled) {
  const std::vector<std::string> both{held(simple_state(1)), held(simple_state(2))};
  std::size_t old_states = 0;
  bool over = false;
  for (int steps = 0; !over; ++steps) {
    ASSERT_LT(steps, 1000);
    {
      auto journal = AgentJournal::open(folder_);
      ASSERT_TRUE(journal) << journal.error().text();
      ASSERT_TRUE(journal->write(simple_state(1)));
    }
    {
      TracedWriter writer(folder_);
      if (!writer.traced()) LOCKSTEP_NOT_TESTED("processes can't be traced here (ptrace(2))");
      for (int i = 0; i < steps && !over; ++i) over = !writer.go_on();
      if (over) {
        EXPECT_TRUE(writer.succeeded());
      }
    }
    const auto journal = AgentJournal::open(folder_);
    ASSERT_TRUE(journal) << "killed after " << steps << " stops: " << journal.error().text();
    for (const auto& file : std::filesystem::directory_iterator(folder_))
      EXPECT_FALSE(file.path().filename().string().starts_with(".lockstep-")) << file.path();
    const std::string now = held(journal->state());
    EXPECT_TRUE(now == both[0] || now == both[1]) << now;
    old_states += now == both[0] ? 1 : 0;
    if (over) {
      EXPECT_EQ(now, both[1]);
    }
  }
  EXPECT_GT(old_states, 10U) << "killed before the new state was there";
}

TEST_F(Journal, SyncsTheFileThenRenamesItThenSyncsTheFolder) {
  { ASSERT_TRUE(AgentJournal::open(folder_)); }
  TracedWriter writer(folder_);
  if (!writer.traced()) LOCKSTEP_NOT_TESTED("processes can't be traced here (ptrace(2))");
  std::vector<long> calls;
  while (writer.go_on()) {
    const long call = writer.begins();
    if (call == SYS_fsync || call == SYS_renameat || call == SYS_renameat2 || call == SYS_write)
      calls.push_back(call == SYS_renameat2 ? SYS_renameat : call);
  }
  EXPECT_TRUE(writer.succeeded());
  EXPECT_EQ(calls, (std::vector<long>{SYS_write, SYS_fsync, SYS_renameat, SYS_fsync}));
}

}  // namespace
}  // namespace lockstep::agent
