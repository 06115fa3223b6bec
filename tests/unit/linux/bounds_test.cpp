// Limits on the size of a kernel's table and of a machine's file: more than the limit is an error.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "drivers/linux/host/files.hpp"
#include "drivers/linux/netlink_socket.hpp"
#include "drivers/linux/sysctl.hpp"
#include "tests/needs.hpp"

namespace lockstep {
namespace {

Call soon() { return {.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20), .stop = {}}; }

Result<std::size_t> count_rules(netlink::Socket& socket) {
  netlink::Request request(RTM_GETRULE, NLM_F_DUMP);
  fib_rule_hdr header{};
  header.family = AF_INET;
  request.header(header);
  std::size_t count = 0;
  TRY_DONE(socket.dump(
      request, soon(),
      [&count](const netlink::Message&) -> Result<Done> {
        ++count;
        return Done{};
      },
      [&count] { count = 0; }));
  return count;
}

// Every network namespace has three rules: local, main and default (ip-rule(8)).
TEST(Bounds, ATableWithTooManyEntriesIsAnErrorAndNotTruncated) {
  auto plenty = netlink::Socket::open(NETLINK_ROUTE);
  ASSERT_TRUE(plenty) << plenty.error().text();
  const auto rules = count_rules(*plenty);
  ASSERT_TRUE(rules) << rules.error().text();
  ASSERT_GE(*rules, 3U);
  auto exact = netlink::Socket::open(NETLINK_ROUTE, *rules);
  ASSERT_TRUE(exact);
  EXPECT_EQ(*count_rules(*exact), *rules);
  auto small = netlink::Socket::open(NETLINK_ROUTE, *rules - 1);
  ASSERT_TRUE(small);
  for (int again = 0; again < 2; ++again) {  // the first answer is not mistaken for the second
    const auto refused = count_rules(*small);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::refused);
    EXPECT_NE(refused.error().what.find("more than " + std::to_string(*rules - 1) + " entries"),
              std::string::npos);
  }
}

class Files : public ::testing::Test {
 protected:
  Files() {
    std::string name = std::filesystem::temp_directory_path() / "lockstep-bounds-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~Files() override { std::filesystem::remove_all(root_); }
  std::filesystem::path root_;
};

TEST_F(Files, RefusesLargeFilesAndNonFiles) {
  const HostFiles files(root_);
  const auto why = [&files](const char* path) {
    const auto read = files.read(path);
    return read ? "" : read.error().what;
  };
  ASSERT_EQ(::mkfifo((root_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(why("/fifo"), "/fifo: not a regular file") << "and it does not wait for a writer";
  std::filesystem::create_symlink("/dev/zero", root_ / "zero");
  EXPECT_EQ(why("/zero"), "/zero: not a regular file");
  for (const char* const name : {"/whole", "/larger"}) {
    const int made = ::creat(files.at(name).c_str(), 0600);
    ASSERT_EQ(::ftruncate(made, static_cast<off_t>(HostFiles::kFileMax) + (name[1] == 'l' ? 1 : 0)), 0);
    ::close(made);
  }
  EXPECT_EQ(why("/whole"), "");
  EXPECT_EQ(why("/larger"), "/larger: larger than 64 MiB");
}

// Otherwise a plan of specs that name such a parameter would show its value in the CI log.
TEST(Sysctl, DoesNotShowValuesThatOnlyRootMayRead) {
  for (const char* const name : {"net.ipv4.tcp_fastopen_key", "net.core.bpf_jit_harden"}) {
    struct stat status {};
    if (::stat(sysctl_file(name)->c_str(), &status) != 0 || (status.st_mode & S_IROTH) != 0) continue;
    const auto read = read_sysctl(name);
    ASSERT_FALSE(read) << name;
    EXPECT_EQ(read.error().kind, ErrorKind::denied);
    return;
  }
  LOCKSTEP_NOT_TESTED("this kernel has no parameter that only root may read");
}

}  // namespace
}  // namespace lockstep
