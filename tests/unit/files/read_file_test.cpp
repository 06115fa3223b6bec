// Reading files that other users may have created.
#include "specs/files/read_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/pipe.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Outcome = FileText::Outcome;

constexpr std::size_t kMost = std::size_t{1} << 20;

// A secret outside, and a folder of specs with links that lead to it.
class ReadFile : public testing::Test {
 protected:
  void SetUp() override {
    ::alarm(60);  // a read that hangs ends the suite
    std::string made = (fs::temp_directory_path() / "lockstep-read-XXXXXX").string();
    ASSERT_NE(::mkdtemp(made.data()), nullptr);
    root_ = made;
    folder_ = root_ + "/specs";
    fs::create_directories(folder_ + "/sites");
    std::ofstream(root_ + "/shadow") << "root:hash";
    std::ofstream(folder_ + "/sites/hosts.csv") << "name";
    fs::create_symlink("sites/hosts.csv", folder_ + "/inside.csv");
    fs::create_symlink("../shadow", folder_ + "/relative.csv");
    fs::create_symlink(root_ + "/shadow", folder_ + "/absolute.csv");
    fs::create_directory_symlink("..", folder_ + "/up");
    fs::create_symlink("/proc/self/environ", folder_ + "/environ.csv");
    fs::create_symlink("/proc/self/root" + root_ + "/shadow", folder_ + "/magic.csv");
    fs::create_symlink("/dev/zero", folder_ + "/zero");
    fs::create_symlink("nowhere", folder_ + "/dangling");
    ASSERT_EQ(::mkfifo((folder_ + "/fifo").c_str(), 0600), 0);
  }
  void TearDown() override {
    ::alarm(0);
    fs::remove_all(root_);
  }
  FileText beneath(const std::string& name) const { return read_beneath(folder_, name, kMost); }

  std::string root_;
  std::string folder_;
};

const char* const kWaysOut[] = {"../shadow",  "sites/../../shadow", "relative.csv", "absolute.csv",
                                "up/shadow",  "environ.csv",        "magic.csv",    "zero",
                                "/etc/passwd"};

TEST_F(ReadFile, ReadsFilesBeneathTheFolder) {
  for (const char* const name : {"sites/hosts.csv", "inside.csv", "./sites/../sites/hosts.csv"}) {
    const FileText read = beneath(name);
    EXPECT_TRUE(read) << name << ": " << read.why;
    EXPECT_EQ(read.text, "name") << name;
  }
}

TEST_F(ReadFile, ReadsNothingOutsideOfTheFolder) {
  for (const char* const name : kWaysOut) {
    const FileText read = beneath(name);
    EXPECT_EQ(read.outcome, Outcome::outside) << name << ": " << read.why;
    EXPECT_EQ(read.text, "") << name;
  }
}

TEST_F(ReadFile, RefusesNonRegularFilesWithoutWaiting) {
  EXPECT_EQ(beneath("fifo").why, "not a regular file");
  EXPECT_EQ(beneath("sites").why, "not a regular file");
  EXPECT_EQ(beneath("dangling").outcome, Outcome::missing);
  EXPECT_EQ(beneath("absent").outcome, Outcome::missing);
  EXPECT_EQ(beneath("inside.csv/absent").outcome, Outcome::missing);
  EXPECT_EQ(read_named(folder_ + "/zero", kMost).why, "not a regular file");
  EXPECT_EQ(read_named(folder_ + "/fifo", kMost).why, "not a regular file");
  EXPECT_EQ(read_named(folder_, kMost).why, "not a regular file");
  EXPECT_EQ(read_named(folder_ + "/absent", kMost).outcome, Outcome::missing);
  EXPECT_EQ(read_named(folder_ + "/inside.csv", kMost).text, "name");
  EXPECT_EQ(why_not_regular(folder_ + "/fifo"), "not a regular file");
  EXPECT_EQ(why_not_regular(folder_ + "/inside.csv"), "");
}

TEST_F(ReadFile, RefusesLargeFilesWhateverTheirReportedSize) {
  std::ofstream(folder_ + "/full") << std::string(kMost, 'x');
  EXPECT_EQ(beneath("full").text.size(), kMost);
  std::ofstream(folder_ + "/large") << std::string(kMost + 1, 'x');
  EXPECT_EQ(beneath("large").why, "larger than 1 MiB");
  fs::resize_file(folder_ + "/large", std::uintmax_t{1} << 40);  // sparse: a terabyte
  EXPECT_EQ(beneath("large").outcome, Outcome::too_large);
  EXPECT_EQ(read_named(folder_ + "/large", kMost).outcome, Outcome::too_large);
  // The kernel reports size 0 for a file that has content.
  EXPECT_EQ(fs::file_size("/proc/self/maps"), 0U);
  EXPECT_EQ(read_named("/proc/self/maps", 100).outcome, Outcome::too_large);
}

TEST_F(ReadFile, ReadsStandardInputOnlyToItsLimit) {
  const int zero = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(read_open(zero, kMost).outcome, Outcome::too_large);
  ::close(zero);
}

// Makes openat2(2) fail with the errno `answer`, as an old kernel or a sandbox does.
bool without_openat2(std::uint32_t answer) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, rules};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

std::string wrong_without_openat2(const std::string& folder, std::uint32_t answer) {
  if (!without_openat2(answer)) return "no filter of system calls";
  if (::syscall(SYS_openat2, 0, "", nullptr, 0) != -1 || errno != static_cast<int>(answer))
    return "openat2 is there";
  if (read_beneath(folder, "./sites/../sites/hosts.csv", kMost).text != "name") return "a file is not read";
  for (const char* const name : kWaysOut) {
    const FileText read = read_beneath(folder, name, kMost);
    if (read || !read.text.empty()) return std::string(name) + " is read";
  }
  if (read_beneath(folder, "inside.csv", kMost).why != "a symbolic link") return "a link is followed";
  if (read_beneath(folder, "fifo", kMost).why != "not a regular file") return "a FIFO is read";
  if (read_beneath(folder, "", kMost)) return "no name is read";
  return "";
}

TEST_F(ReadFile, FollowsNoLinkWhereTheKernelHasNoOpenat2) {
  for (const std::uint32_t answer : {ENOSYS, EPERM}) {
    Pipe pipe;
    const pid_t child = ::fork();
    if (child == 0) {
      const std::string wrong = wrong_without_openat2(folder_, answer);
      ::_exit(::write(pipe.writer.number(), wrong.data(), wrong.size()) < 0 || !wrong.empty() ? 1 : 0);
    }
    pipe.writer.close();
    char said[200] = {};
    EXPECT_GE(::read(pipe.reader.number(), said, sizeof said - 1), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << said;
  }
}

}  // namespace
}  // namespace lockstep
