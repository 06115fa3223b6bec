#include "reconciler/store/file_lock.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <utility>

namespace {
// Runs once between the open(2) and the flock(2) of a lock. Returns an errno, or 0 to call the kernel.
std::function<int()> before_flock;
}  // namespace

// Overrides libc's flock(2) in this program.
extern "C" int flock(int descriptor, int operation) noexcept {
  if (before_flock) {
    errno = std::exchange(before_flock, nullptr)();
    if (errno != 0) return -1;
  }
  return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
}

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

TEST_F(FileLocks, RefusalReportsTheOwnerAndItsCommand) {
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

TEST_F(FileLocks, LockOnADeletedFileBlocksNobody) {
  const auto old = lock_for_writing(directory_, "lockstep twin down");
  ASSERT_TRUE(old);
  std::filesystem::remove_all(directory_);
  const auto fresh = lock_for_writing(directory_, "lockstep apply");
  ASSERT_TRUE(fresh) << fresh.error().text();
  EXPECT_FALSE(lock_for_writing(directory_, "lockstep apply"));
}

TEST_F(FileLocks, LockOnAFileRemovedBeforeFlockIsRetaken) {
  std::filesystem::create_directories(directory_);
  before_flock = [this] {
    std::filesystem::remove(directory_ + "/lock");
    return 0;
  };
  const auto held = lock_for_writing(directory_, "lockstep apply");
  ASSERT_TRUE(held) << held.error().text();
  EXPECT_FALSE(lock_for_writing(directory_, "lockstep apply")) << "it holds a file that nobody else finds";
}

TEST_F(FileLocks, KernelErrorIsReported) {
  before_flock = [] { return ENOLCK; };
  const auto none = lock_for_writing(directory_, "lockstep apply");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::denied);
  EXPECT_NE(none.error().what.find("No locks available"), std::string::npos) << none.error().what;
}

TEST_F(FileLocks, FileContainsItsHolderUntilTheRelease) {
  std::optional<Result<FileLock>> held(lock_for_writing(directory_, "lockstep apply"));
  ASSERT_TRUE(*held);
  const std::filesystem::path file = directory_ + "/lock";
  EXPECT_GT(std::filesystem::file_size(file), 0U);
  EXPECT_FALSE(lock_for_writing(directory_, "lockstep apply"));
  EXPECT_GT(std::filesystem::file_size(file), 0U) << "who was refused emptied it";
  held.reset();
  EXPECT_EQ(std::filesystem::file_size(file), 0U);
}

TEST_F(FileLocks, WriterQueryReturnsTheWriterAndTakesNoLock) {
  EXPECT_FALSE(writer_of(directory_));
  EXPECT_FALSE(std::filesystem::exists(directory_)) << "a question makes nothing";
  {
    const auto held = lock_for_writing(directory_, "lockstep apply");
    ASSERT_TRUE(held);
    const std::optional<std::string> writer = writer_of(directory_);
    ASSERT_TRUE(writer);
    EXPECT_TRUE(writer->starts_with("process " + std::to_string(::getpid()) + " since ")) << *writer;
    EXPECT_TRUE(writer->ends_with("(lockstep apply)")) << *writer;
  }
  EXPECT_FALSE(writer_of(directory_));
  std::ofstream(directory_ + "/lock") << "process 7 since 2026-11-21T10:05:26Z";
  EXPECT_FALSE(writer_of(directory_)) << "it was killed, and its words stayed";
}

// The file still contains a killed writer. The query takes the lock briefly to check that nobody holds it.
TEST_F(FileLocks, WriterQueryBlocksNoWriter) {
  before_flock = [] { return EWOULDBLOCK; };
  const auto held = lock_for_writing(directory_, "lockstep apply");
  EXPECT_TRUE(held) << held.error().text();
}

// A process that lists descriptors (lsof) keeps the file of a lock open for longer than its owner. The file
// then contains no holder.
TEST_F(FileLocks, LockWithoutAHolderIsAwaited) {
  ASSERT_TRUE(lock_for_writing(directory_, "lockstep apply"));
  std::optional<Descriptor> last(std::in_place, ::open((directory_ + "/lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(last->number(), LOCK_EX | LOCK_NB), 0);
  // The calls are: an exclusive attempt, a failed shared attempt, the release, and the next exclusive
  // attempt.
  int calls = 0;
  const std::function<int()> at_the_fourth = [&] {
    if (++calls == 4)
      last.reset();
    else
      before_flock = at_the_fourth;
    return 0;
  };
  before_flock = at_the_fourth;
  const auto held = lock_for_writing(directory_, "lockstep apply");
  EXPECT_TRUE(held) << held.error().text();
  EXPECT_EQ(calls, 4);
}

TEST_F(FileLocks, LockIsReleasedWhenItsOwnerDies) {
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
