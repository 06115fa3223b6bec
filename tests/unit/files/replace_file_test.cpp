#include "specs/files/replace_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/needs.hpp"
#include "tests/unit/pipe.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

mode_t mode_of(const std::string& file) {
  struct stat found {};
  EXPECT_EQ(::lstat(file.c_str(), &found), 0) << file;
  return found.st_mode & 07777;
}

class ReplaceFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = (fs::temp_directory_path() / "lockstep-replace-XXXXXX").string();
    ASSERT_NE(::mkdtemp(made.data()), nullptr);
    folder_ = made;
    file_ = folder_ + "/settings";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::set<std::string> names() const {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder_)) out.insert(entry.path().filename());
    return out;
  }
  std::string error_of(const std::string& file, const Replacement& how = {}) const {
    const auto done = replace_file(file, "new", how);
    return done ? "" : done.error().what;
  }

  std::string folder_;
  std::string file_;
};

TEST_F(ReplaceFile, CheckReportsWhatReplacingWouldRefuse) {
  EXPECT_TRUE(check_replaceable(file_));
  EXPECT_TRUE(names().empty()) << "nothing is left";
  ASSERT_TRUE(replace_file(file_, "old"));
  EXPECT_TRUE(check_replaceable(file_));
  EXPECT_EQ(contents(file_), "old");
  EXPECT_EQ(names().size(), 1U);
  for (const std::string& bad : {folder_, folder_ + "/none/settings", file_ + "/settings", std::string()}) {
    const Result<Done> checked = check_replaceable(bad);
    ASSERT_FALSE(checked) << bad;
    EXPECT_EQ(checked.error().what, error_of(bad));
  }
  EXPECT_FALSE(check_replaceable("/dev/null"));
  EXPECT_TRUE(check_replaceable("/dev/null", {.write_through = true}));
}

TEST_F(ReplaceFile, MakesAFileAndReplacesIt) {
  ASSERT_TRUE(replace_file(file_, "old\n"));
  EXPECT_EQ(contents(file_), "old\n");
  const std::string large(std::size_t{3} << 20, 'x');
  ASSERT_TRUE(replace_file(file_, large));
  EXPECT_EQ(contents(file_), large);
  ASSERT_TRUE(replace_file(file_, ""));
  EXPECT_EQ(contents(file_), "");
  EXPECT_EQ(names(), std::set<std::string>{"settings"});
}

TEST_F(ReplaceFile, LetsAnotherWriteTheFileByItsPath) {
  ASSERT_TRUE(replace_file(file_, "old"));
  std::string beside;
  ASSERT_TRUE(replace_file_by(file_, [&](const std::string& path) -> Result<Done> {
    EXPECT_EQ(fs::path(path).parent_path(), folder_);
    EXPECT_EQ(contents(path), "");
    EXPECT_EQ(contents(file_), "old");
    std::ofstream(path) << "new";
    beside = path;
    return Done{};
  }));
  EXPECT_EQ(contents(file_), "new");
  const auto failed = replace_file_by(file_, [](const std::string& path) -> Result<Done> {
    std::ofstream(path) << "a part";
    return Error{ErrorKind::refused, "no more"};
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().what, "no more");
  EXPECT_EQ(contents(file_), "new");
  EXPECT_FALSE(fs::exists(beside));
  EXPECT_EQ(names(), std::set<std::string>{"settings"});
}

TEST_F(ReplaceFile, AcceptsANameWithoutAFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const auto done = replace_file("settings", "here");
  fs::current_path(before);
  ASSERT_TRUE(done);
  EXPECT_EQ(contents(file_), "here");
}

TEST_F(ReplaceFile, GivesANewFileTheRequestedMode) {
  for (const mode_t mask : {mode_t{0}, mode_t{077}, mode_t{0777}}) {
    fs::remove(file_);
    fs::remove(folder_ + "/exact");
    const mode_t before = ::umask(mask);
    const auto plain = replace_file(file_, "");
    const auto exact = replace_file(folder_ + "/exact", "", {.mode = 0604});
    ::umask(before);
    ASSERT_TRUE(plain && exact);
    EXPECT_EQ(mode_of(file_), 0644U) << mask;
    EXPECT_EQ(mode_of(folder_ + "/exact"), 0604U) << mask;
  }
}

TEST_F(ReplaceFile, KeepsTheModeOfAnExistingFile) {
  ASSERT_TRUE(replace_file(file_, "old", {.mode = 0640}));
  ASSERT_EQ(::chmod(file_.c_str(), 04711), 0);
  ASSERT_TRUE(replace_file(file_, "new", {.mode = 0600}));
  EXPECT_EQ(mode_of(file_), 04711U);
  EXPECT_EQ(contents(file_), "new");
}

TEST_F(ReplaceFile, KeepsTheOwnerOrTakesThatOfTheFolder) {
  LOCKSTEP_NEEDS_ROOT("gives files to another user");
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::chown(folder_.c_str(), kNobody, kNobody), 0);
  ASSERT_TRUE(replace_file(file_, "", {.mode = 0640, .owner = Replacement::Owner::folder}));
  struct stat found {};
  ASSERT_EQ(::stat(file_.c_str(), &found), 0);
  EXPECT_EQ(found.st_uid, kNobody);
  EXPECT_EQ(found.st_gid, kNobody);
  ASSERT_EQ(::chown(file_.c_str(), 1, 2), 0);
  ASSERT_TRUE(replace_file(file_, "new", {.mode = 0640, .owner = Replacement::Owner::folder}));
  ASSERT_EQ(::stat(file_.c_str(), &found), 0);
  EXPECT_EQ(found.st_uid, 1U);
  EXPECT_EQ(found.st_gid, 2U);
}

TEST_F(ReplaceFile, NamesTheFileAndTheReason) {
  EXPECT_EQ(error_of(folder_ + "/missing/settings"),
            folder_ + "/missing/settings: No such file or directory");
  ASSERT_TRUE(replace_file(file_, "old"));
  EXPECT_EQ(error_of(file_ + "/settings"), file_ + "/settings: Not a directory");
  EXPECT_EQ(error_of(folder_ + "/" + std::string(300, 'n')),
            folder_ + "/" + std::string(300, 'n') + ": File name too long");
  EXPECT_EQ(error_of(""), ": No such file or directory");
  EXPECT_EQ(error_of(folder_ + "/"), folder_ + "/: Is a directory");
  EXPECT_EQ(names(), std::set<std::string>{"settings"});
}

TEST_F(ReplaceFile, RefusesNonRegularFiles) {
  ASSERT_TRUE(replace_file(file_, "old"));
  fs::create_symlink("settings", folder_ + "/link");
  fs::create_directory(folder_ + "/sub");
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  const std::set<std::string> before = names();
  EXPECT_EQ(error_of(folder_ + "/link"), folder_ + "/link: is a symbolic link");
  EXPECT_EQ(error_of(folder_ + "/sub"), folder_ + "/sub: is a directory");
  EXPECT_EQ(error_of(folder_ + "/pipe"), folder_ + "/pipe: is no regular file");
  EXPECT_EQ(contents(file_), "old");
  EXPECT_TRUE(fs::is_symlink(folder_ + "/link"));
  EXPECT_EQ(names(), before);
}

TEST_F(ReplaceFile, DoesNotWriteThroughLinks) {
  constexpr Replacement kThrough{.write_through = true};
  ASSERT_TRUE(replace_file(file_, "precious", kThrough));
  fs::create_symlink("settings", folder_ + "/link");
  fs::create_symlink("absent", folder_ + "/dangling");
  for (const char* const name : {"/link", "/dangling"})
    EXPECT_EQ(error_of(folder_ + name, kThrough), folder_ + name + ": is a symbolic link");
  EXPECT_EQ(contents(file_), "precious");
  EXPECT_FALSE(fs::exists(folder_ + "/absent"));
}

TEST_F(ReplaceFile, WritesThroughNonRegularFilesOnRequest) {
  constexpr Replacement kThrough{.write_through = true};
  // A file that a shell opened for this process, as for `--out /dev/stdout > settings`.
  const int given = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_TRUE(replace_file("/dev/fd/" + std::to_string(given), "given", kThrough));
  ::close(given);
  EXPECT_EQ(contents(file_), "given");

  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string heard;
  std::thread reader([&] { heard = contents(pipe); });
  const auto piped = replace_file(pipe, "through", kThrough);
  reader.join();
  ASSERT_TRUE(piped) << piped.error().what;
  EXPECT_EQ(heard, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(error_of(folder_, kThrough), folder_ + ": is a directory");
}

TEST_F(ReplaceFile, LeavesTheOldFileAndNothingElseWhereItIsTooLarge) {
  ASSERT_TRUE(replace_file(file_, "old"));
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto was = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto done = replace_file(file_, std::string(2000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &limit);
  (void)std::signal(SIGXFSZ, was);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().what, file_ + ": File too large");
  EXPECT_EQ(contents(file_), "old");
  EXPECT_EQ(names(), std::set<std::string>{"settings"});
}

// Runs in a mount namespace of a child process. Returns what is wrong; empty if nothing is.
std::string on_a_full_disk(const std::string& folder) {
  const std::string file = folder + "/settings";
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", folder.c_str(), "tmpfs", 0, "size=64k") != 0)
    return "no disk of its own";
  if (!replace_file(file, "old")) return "the disk holds nothing";
  const auto done = replace_file(file, std::string(std::size_t{1} << 20, 'x'));
  if (done) return "more was written than there is room for";
  if (done.error().what != file + ": No space left on device") return done.error().what;
  if (contents(file) != "old") return "the old file is gone";
  if (std::distance(fs::directory_iterator(folder), fs::directory_iterator()) != 1)
    return "something is left";
  return "";
}

TEST_F(ReplaceFile, LeavesTheOldFileAndNothingElseOnAFullDisk) {
  LOCKSTEP_NEEDS_ROOT("mounts a small disk");
  Pipe pipe;
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string wrong = on_a_full_disk(folder_);
    ::_exit(::write(pipe.writer.number(), wrong.data(), wrong.size()) < 0 || !wrong.empty() ? 1 : 0);
  }
  pipe.writer.close();
  char said[200] = {};
  EXPECT_GE(::read(pipe.reader.number(), said, sizeof said - 1), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << said;
}

// A text whose content shows whether it is complete.
std::string whole_text(char letter) { return std::string(100'000, letter) + "end"; }

bool is_whole(const std::string& text) { return !text.empty() && text == whole_text(text.front()); }

TEST_F(ReplaceFile, IsOldOrNewWheneverItsWriterIsKilled) {
  constexpr int kRounds = 60;
  std::mt19937 random(20261);
  ASSERT_TRUE(replace_file(file_, whole_text('z')));
  std::set<char> seen;
  for (int round = 0; round < kRounds; ++round) {
    Pipe pipe;
    const pid_t child = ::fork();
    if (child == 0) {
      for (char letter = 'a';; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1))
        if (!replace_file(file_, whole_text(letter)) || ::write(pipe.writer.number(), &letter, 1) != 1)
          ::_exit(1);
    }
    pipe.writer.close();
    char letter = 0;
    for (auto more = random() % 3; more-- > 0;) ASSERT_EQ(::read(pipe.reader.number(), &letter, 1), 1);
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 1500);
    while (std::chrono::steady_clock::now() < until) continue;  // until a point inside the next write
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const std::string text = contents(file_);
    ASSERT_TRUE(is_whole(text)) << "of " << text.size() << " bytes";
    seen.insert(text.front());
  }
  EXPECT_GT(seen.size(), 1U) << "no writer was ever killed after its first";
}

TEST_F(ReplaceFile, ConcurrentWritersLeaveOneCompleteFile) {
  constexpr int kEach = 40;
  ASSERT_TRUE(replace_file(file_, whole_text('0')));
  std::vector<std::thread> writers;
  std::vector<int> failures(4);
  for (int one = 0; one < 4; ++one)
    writers.emplace_back([this, one, &failures] {
      for (int i = 0; i < kEach; ++i)
        if (!replace_file(file_, whole_text(static_cast<char>('a' + one)))) ++failures[one];
    });
  for (int i = 0; i < kEach; ++i) EXPECT_TRUE(is_whole(contents(file_)));
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failures, std::vector<int>(4, 0));
  EXPECT_TRUE(is_whole(contents(file_)));
  EXPECT_EQ(names(), std::set<std::string>{"settings"});
}

TEST(FileIn, NamesCannotEscapeTheFolder) {
  const Result<std::string> file = file_in("/srv/out", "leaf0.frr.conf");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(*file, "/srv/out/leaf0.frr.conf");
  for (const char* const name : {"", "..", "../leaf0", "/etc/passwd", "a/b", ".hidden"})
    EXPECT_FALSE(file_in("/srv/out", name)) << name;
}

}  // namespace
}  // namespace lockstep
