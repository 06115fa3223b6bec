#include "reconciler/cli/command_session.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace lockstep {
namespace {

TEST(CommandSession, RefusesToStartIfCtrlCCannotBeWatched) {
  Console console;
  console.stop_fd = open(LOCKSTEP_SOURCE_DIR "/README.md", O_RDONLY | O_CLOEXEC);  // not usable with epoll
  ClusterSource source;
  source.specs = {LOCKSTEP_SOURCE_DIR "/examples/rail-pod"};
  testing::internal::CaptureStderr();
  const auto session = CommandSession::open(source, console, "");
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_EQ(session, nullptr);
  EXPECT_NE(err.find("error: can't wait for Ctrl-C: can't watch descriptor "), std::string::npos) << err;
  close(console.stop_fd);
}

}  // namespace
}  // namespace lockstep
