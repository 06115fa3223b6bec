// Programs that end, fail, hang or are missing.
#include "drivers/posix/program.hpp"

#include <gtest/gtest.h>

#include <csignal>

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

TEST(Program, ThatIsMissingIsReportedWithItsPackage) {
  const auto ended = run({.name = "no-such-program", .package = "such", .words = {}, .patience = {}});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(ended.error().what, "there is no no-such-program here: install such");
}

}  // namespace
}  // namespace lockstep
