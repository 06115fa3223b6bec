// Programs that end, fail, hang or are missing.
#include "drivers/posix/program.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "drivers/posix/wait.hpp"
#include "drivers/posix/wake_descriptor.hpp"

namespace lockstep {
namespace {

Program shell(const std::string& script, std::chrono::milliseconds patience = std::chrono::seconds(20)) {
  return {.name = "/bin/sh", .package = {}, .words = {"-c", script}, .patience = patience};
}

TEST(Program, IsGivenItsInputAndItsOutputsAreKeptApart) {
  const auto ended = run(shell("cat; echo wrong >&2; exit 3"), "input");
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_FALSE(ended->well);
  EXPECT_EQ(ended->out, "input");
  EXPECT_EQ(ended->err, "wrong\n");
  EXPECT_EQ(ended->complaint(), "wrong;input");
  EXPECT_TRUE(run(shell("true"))->well);
}

// Signals 32 and 33 are reserved by the C library (signal(7)).
TEST(Program, HasThreeDescriptorsAndNoBlockedSignals) {
  ::signal(SIGPIPE, SIG_IGN);
  const auto ended = run(shell("ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign)' /proc/self/status"));
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_EQ(ended->out.substr(0, 2), "4\n") << "three, and that of the folder: " << ended->out;
  EXPECT_NE(ended->out.find("SigBlk:\t0000000000000000"), std::string::npos) << ended->out;
  const std::size_t ignored = ended->out.find("SigIgn:\t");
  ASSERT_NE(ignored, std::string::npos) << ended->out;
  EXPECT_EQ(std::stoull(ended->out.substr(ignored + 8), nullptr, 16) & 0x7fffffff, 0U) << ended->out;
}

TEST(Program, ThatDoesNotEndIsKilled) {
  const auto ended = run(shell("exec sleep 60", std::chrono::milliseconds(50)));
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::transient);
}

// The state letter of a process (proc(5)); empty: there is none. 'Z' has ended.
std::string state_of(const std::string& pid) {
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string line;
  std::getline(stat, line);
  const std::size_t after = line.rfind(") ");
  return after == std::string::npos ? "" : line.substr(after + 2, 1);
}

bool runs(const std::string& pid) {
  const std::string state = state_of(pid);
  return !state.empty() && state != "Z";
}

Program in_own_group(const std::string& script) {
  Program program = shell(script);
  program.own_group = true;
  return program;
}

TEST(Program, HasExactlyTheEnvironmentThatItIsGiven) {
  ::setenv("LOCKSTEP_TEST_INHERITED", "yes", 1);
  Program program{.name = "/usr/bin/env", .package = {}, .words = {}, .patience = std::chrono::seconds(20)};
  auto ended = run(program);
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_NE(ended->out.find("LOCKSTEP_TEST_INHERITED=yes"), std::string::npos);
  program.environment = {"ONLY=this one"};
  ended = run(program);
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_EQ(ended->out, "ONLY=this one\n");
  program.environment = std::vector<std::string>{};
  ended = run(program);
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_EQ(ended->out, "");
}

TEST(Program, OutputIsCutAtItsLimit) {
  Program program = shell("head -c 3000000 /dev/zero; head -c 20 /dev/zero >&2");
  EXPECT_EQ(run(program)->out.size(), std::size_t{1} << 20);
  program.largest_output = 10;
  EXPECT_EQ(run(program)->out.size(), 10U);
  EXPECT_EQ(run(program)->err.size(), 10U);
  program.largest_output = 4'000'000;
  EXPECT_EQ(run(program)->out.size(), 3'000'000U);
}

TEST(Program, ThatASignalEndedReportsIt) {
  EXPECT_EQ(run(shell("kill -TERM $$"))->signal, SIGTERM);
  EXPECT_EQ(run(shell("exit 3"))->signal, 0);
}

TEST(Program, EndsWithTheDeadlineOfItsCall) {
  const auto begin = std::chrono::steady_clock::now();
  const auto ended =
      run(in_own_group("sleep 60"), "", {.deadline = begin + std::chrono::milliseconds(50), .stop = {}});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::transient);
  EXPECT_EQ(ended.error().what, "/bin/sh did not answer before the deadline");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(Program, IsNotStartedWhenItsCallHasEnded) {
  const std::string file =
      std::filesystem::temp_directory_path() / ("lockstep-started-" + std::to_string(::getpid()));
  const auto ended =
      run(shell("touch " + file), "", {.deadline = std::chrono::steady_clock::now(), .stop = {}});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().what, "the deadline passed");
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Program, EndsWhenItsCallIsStopped) {
  for (const bool wakes : {true, false}) {
    std::stop_source stop;
    const WakeDescriptor wake;
    const Call call{.stop = stop.get_token(), .wake_fd = wakes ? wake.number() : -1};
    std::jthread stopper([&] {
      (void)pause(std::chrono::milliseconds(100), {});
      stop.request_stop();
      wake.signal();
    });
    const auto ended = run(in_own_group("sleep 60"), "", call);
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().kind, ErrorKind::cancelled);
  }
}

// A grandchild that nobody waits for, as git's helpers are when git is killed.
TEST(Program, WithAGroupOfItsOwnLeavesNoProcess) {
  const std::string leaves = "sleep 60 & echo $!; ";
  for (const std::string end : {"exit 0", "exit 1", "kill -KILL $$"}) {
    const auto ended = run(in_own_group(leaves + end));
    ASSERT_TRUE(ended) << ended.error().text();
    const std::string pid = ended->out.substr(0, ended->out.find('\n'));
    ASSERT_FALSE(pid.empty());
    EXPECT_FALSE(runs(pid)) << end;
  }
  const std::string file =
      std::filesystem::temp_directory_path() / ("lockstep-pid-" + std::to_string(::getpid()));
  Program hangs = in_own_group("sleep 60 & echo $! >" + file + "; wait");
  hangs.patience = std::chrono::milliseconds(500);
  EXPECT_FALSE(run(hangs));
  std::string pid;
  std::ifstream(file) >> pid;
  std::filesystem::remove(file);
  ASSERT_FALSE(pid.empty());
  EXPECT_FALSE(runs(pid));
}

// A program that asks at the terminal must be in its caller's group.
TEST(Program, SharesTheGroupOfItsCallerUnlessItHasItsOwn) {
  const std::string group = "cut -d' ' -f5 /proc/$$/stat";
  EXPECT_EQ(run(shell(group))->out, std::to_string(::getpgrp()) + "\n");
  EXPECT_NE(run(in_own_group(group))->out, std::to_string(::getpgrp()) + "\n");
}

TEST(Program, ThatIsMissingIsReportedWithItsPackage) {
  const auto ended = run({.name = "no-such-program", .package = "such", .words = {}, .patience = {}});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(ended.error().what, "there is no no-such-program here: install such");
}

}  // namespace
}  // namespace lockstep
