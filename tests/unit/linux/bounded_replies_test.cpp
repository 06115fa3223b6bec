// What a machine answers is input: a table or a file without end is refused, not kept.
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include <filesystem>
#include <fstream>

#include "drivers/linux/host/files.hpp"
#include "drivers/linux/netlink_socket.hpp"

namespace lockstep {
namespace {

TEST(BoundedReplies, ATableThatIsTooLongIsRefusedWhole) {
  auto socket = netlink::Socket::open(NETLINK_ROUTE);
  ASSERT_TRUE(socket) << socket.error().text();
  const auto links = [&](std::size_t most, std::size_t& seen) {
    netlink::Request request(RTM_GETLINK, NLM_F_DUMP);
    request.header(ifinfomsg{});
    seen = 0;
    return socket->dump(
        request, Call{},
        [&](const netlink::Message&) -> Result<Done> {
          ++seen;
          return Done{};
        },
        [&] { seen = 0; }, most);
  };
  std::size_t all = 0;
  ASSERT_TRUE(links(netlink::Socket::kDumpMost, all));
  ASSERT_GE(all, 1U) << "there is lo everywhere";
  std::size_t some = 0;
  EXPECT_TRUE(links(all, some));
  const auto refused = links(all - 1, some);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
  EXPECT_EQ(refused.error().text(),
            "netlink: a table of more than " + std::to_string(all - 1) + " entries");
}

TEST(BoundedReplies, AFileThatIsTooLongIsRefused) {
  std::string root = (std::filesystem::temp_directory_path() / "lockstep-bounded-XXXXXX").string();
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  const HostFiles files(root);
  std::ofstream(root + "/file") << "short";
  EXPECT_EQ(*files.read("file"), "short");
  std::filesystem::resize_file(root + "/file", std::uintmax_t{1} << 40);
  const auto refused = files.read("file");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "file: longer than 64 MiB");
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace lockstep
