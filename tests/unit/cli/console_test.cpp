// The prompt, with a pseudo-terminal as standard input; and exit codes.
#include "reconciler/cli/console.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace lockstep {
namespace {

class Question : public ::testing::Test {
 protected:
  Question() : person_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), before_(::dup(STDIN_FILENO)) {
    if (person_ < 0 || ::grantpt(person_) != 0 || ::unlockpt(person_) != 0)
      throw std::runtime_error("no pseudo-terminal");
    const int terminal = ::open(::ptsname(person_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ::dup2(terminal, STDIN_FILENO);
    ::close(terminal);
    console_.stop_fd = ::eventfd(0, EFD_CLOEXEC);
  }
  ~Question() override {
    ::close(console_.stop_fd);
    ::close(person_);
    ::dup2(before_, STDIN_FILENO);
    ::close(before_);
  }
  void types(std::string_view keys) const {
    ASSERT_EQ(::write(person_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  Result<bool> answer() const {
    testing::internal::CaptureStdout();
    auto out = console_.ask("apply this plan?");
    EXPECT_TRUE(testing::internal::GetCapturedStdout().starts_with("apply this plan? [y/N] "));
    return out;
  }

  int person_;
  int before_;
  Console console_;
};

TEST_F(Question, OnlyYesIsYes) {
  for (const char* yes : {"y\n", "yes\n"}) {
    types(yes);
    const auto said = answer();
    ASSERT_TRUE(said) << said.error().text();
    EXPECT_TRUE(*said) << yes;
  }
  for (const char* no : {"\n", "n\n", "yeah\n", "\x04"}) {  // the last: the end of input (Ctrl-D)
    types(no);
    const auto said = answer();
    ASSERT_TRUE(said) << said.error().text();
    EXPECT_FALSE(*said) << no;
  }
}

TEST_F(Question, StopEndsItWithoutAnAnswer) {
  ASSERT_EQ(::eventfd_write(console_.stop_fd, 1), 0);
  const auto said = answer();
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().kind, ErrorKind::cancelled);
}

// poll(2) fails with more descriptors than the process's limit (RLIMIT_NOFILE).
TEST_F(Question, FailedWaitIsNotAnInterruption) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  testing::internal::CaptureStdout();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto said = console_.ask("apply this plan?");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  testing::internal::GetCapturedStdout();
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().text(), "can't wait for the answer: poll: Invalid argument");
}

TEST_F(Question, UnreadableInputIsNotAnAnswer) {
  const int folder = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::dup2(folder, STDIN_FILENO), STDIN_FILENO);
  ::close(folder);
  const auto said = answer();
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().text(), "can't read the answer: Is a directory");
}

// The same for plan and drift: a difference (2) outranks a device that could not be read (3).
TEST(ExitCode, DifferencesOutrankUnreadDevices) {
  EXPECT_EQ(exit_code_of(true, false), 2);
  EXPECT_EQ(exit_code_of(true, true), 2);
  EXPECT_EQ(exit_code_of(false, false), 3);
  EXPECT_EQ(exit_code_of(false, true), 0);
}

}  // namespace
}  // namespace lockstep
