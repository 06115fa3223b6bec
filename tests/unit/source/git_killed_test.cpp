// The cache survives a kill at any moment.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "drivers/posix/wait.hpp"
#include "tests/unit/source/lab.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

class GitKilled : public GitSourceTest {};

TEST_F(GitKilled, LeavesACacheThatTheNextStartCleansAndUses) {
  std::map<std::string, std::string> files;
  for (int i = 0; i < 200; ++i)
    files["specs/" + std::to_string(i) + ".yaml"] = std::string(1000, 'a') + std::to_string(i);
  const std::string id = repository.commit(files);
  constexpr int kKills = 10;
  int left = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) (void)fetched();
    }
    (void)pause(std::chrono::milliseconds(1 + 12 * kill), {});
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    if (fs::exists(folder / "cache") && !fs::is_empty(folder / "cache")) ++left;
    if (kill % 5 != 0) continue;
    const auto revision = expect_revision(fetched());
    ASSERT_TRUE(revision) << "after kill " << kill;
    EXPECT_EQ(revision->id, id);
    EXPECT_EQ(files_in(revision->folder->path()), files);
  }
  EXPECT_GT(left, 2) << "the kills came too late";
  // Programs of a killed process may still write for a moment.
  EXPECT_TRUE(becomes_true([&] {
    (void)source(settings());
    return fs::is_empty(folder / "cache");
  }));
}

}  // namespace
}  // namespace lockstep
