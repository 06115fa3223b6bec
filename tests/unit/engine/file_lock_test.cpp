#include "reconciler/engine/file_lock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>

namespace lockstep {
namespace {

class FileLocks : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/lockstep-lock-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name + "/made/when/needed";
    top_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  std::string top_;
  std::string directory_;
};

TEST_F(FileLocks, ARefusalNamesTheOwnerAndItsCommand) {
  std::optional<Result<FileLock>> first(lock_for_measuring(directory_, "lockstep bench"));
  ASSERT_TRUE(*first) << first->error().text();
  const auto second = lock_for_measuring(directory_, "lockstep bench");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::conflict);
  EXPECT_EQ(
      second.error().what.find("this cluster is being measured by process " + std::to_string(::getpid())), 0U)
      << second.error().what;
  EXPECT_NE(second.error().what.find("(lockstep bench)"), std::string::npos);
  EXPECT_TRUE(lock_for_writing(directory_, "lockstep apply")) << "who writes does not measure";
  first.reset();
  EXPECT_TRUE(lock_for_measuring(directory_, "lockstep bench"));
}

TEST_F(FileLocks, OneOnAFileThatIsGoneHoldsNobodyUp) {
  const auto old = lock_for_writing(directory_, "lockstep twin down");
  ASSERT_TRUE(old);
  std::filesystem::remove_all(directory_);
  const auto fresh = lock_for_writing(directory_, "lockstep apply");
  ASSERT_TRUE(fresh) << fresh.error().text();
  EXPECT_FALSE(lock_for_writing(directory_, "lockstep apply"));
}

TEST_F(FileLocks, AnOwnerThatDiesLetsGo) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto held = lock_for_writing(directory_, "lockstep apply");
    (void)::write(ends[1], held ? "y" : "n", 1);
    ::pause();
    ::_exit(0);
  }
  char said = 0;
  ASSERT_EQ(::read(ends[0], &said, 1), 1);
  EXPECT_EQ(said, 'y');
  EXPECT_FALSE(lock_for_writing(directory_, "lockstep apply"));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(lock_for_writing(directory_, "lockstep apply"));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace lockstep
