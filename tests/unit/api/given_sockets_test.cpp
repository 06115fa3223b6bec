// Sockets that systemd made before the service was started.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "server_fixture.hpp"

namespace lockstep::api {
namespace {

class GivenSockets : public ApiServerTest {
 protected:
  GivenSockets() { settings_.listen.clear(); }
  void give(const Descriptor& socket) { settings_.given = {{socket.number(), "api"}}; }
  std::string path() const { return folder_.file("api.sock"); }
  bool is_there() const {
    struct stat found {};
    return ::stat(path().c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
  }
  // `listens`: the backlog; none: it does not listen.
  Descriptor unix_socket(int type = SOCK_STREAM, int listens = 16) const {
    Descriptor out(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    path().copy(at.sun_path, sizeof at.sun_path - 1);
    ::unlink(path().c_str());
    EXPECT_EQ(::bind(out.number(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    if (listens > 0) {
      EXPECT_EQ(::listen(out.number(), listens), 0);
    }
    return out;
  }
  static Descriptor tcp_socket(in_addr_t address, std::uint16_t& port) {
    Descriptor out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(address);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(out.number(), reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(out.number(), 16), 0);
    EXPECT_EQ(::getsockname(out.number(), reinterpret_cast<sockaddr*>(&at), &size), 0);
    port = ntohs(at.sin_port);
    return out;
  }
};

TEST_F(GivenSockets, AreServedBesideTheOthersAndNeverBoundAgain) {
  const Descriptor socket = unix_socket();
  give(socket);
  // Its folder is open to others: only for sockets of our own is that refused.
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  settings_.listen = {
      "127.0.0.1:0", "unix:" + path(),
      "unix:" + folder_.path() + "/../" + folder_.path().substr(folder_.path().rfind('/')) + "/api.sock"};
  start();
  EXPECT_EQ(ApiClient(path()).get("/api/v1alpha1/devices").status, 200) << "root, or this user";
  EXPECT_EQ(client("viewer").get("/api/v1alpha1/devices").status, 200);
  EXPECT_EQ(server_->port(1), 0);
  server_.reset();
  EXPECT_TRUE(is_there()) << "it is systemd's file";
}

TEST_F(GivenSockets, OutliveTheService) {
  const Descriptor socket = unix_socket();
  give(socket);
  const auto ask = [](ApiClient& client) {
    return client.send("GET /api/v1alpha1/devices HTTP/1.1\r\nHost: a\r\n\r\n");
  };
  ApiClient before(path());
  ASSERT_TRUE(before);
  ASSERT_TRUE(ask(before));
  start();
  EXPECT_EQ(before.reply().status, 200) << "it came before the service";
  server_.reset();
  EXPECT_TRUE(before.is_ended());
  ApiClient between(path());
  ASSERT_TRUE(between) << "nobody is refused while the service starts again";
  ASSERT_TRUE(ask(between));
  start();
  EXPECT_EQ(between.reply().status, 200);
  EXPECT_EQ(ApiClient(path()).get("/api/v1alpha1/devices").status, 200);
}

TEST_F(GivenSockets, MayBeOfLoopback) {
  std::uint16_t port = 0;
  const Descriptor socket = tcp_socket(INADDR_LOOPBACK, port);
  give(socket);
  settings_.listen = {"127.0.0.1:" + std::to_string(port)};
  start();
  EXPECT_EQ(server_->port(0), port);
  EXPECT_EQ(client("viewer").get("/api/v1alpha1/devices").status, 200);
  EXPECT_EQ(client().get("/api/v1alpha1/devices").status, 401) << "of whatever user";
}

TEST_F(GivenSockets, NeedTlsWhereTokensCouldBeRead) {
  std::uint16_t port = 0;
  const Descriptor socket = tcp_socket(INADDR_ANY, port);
  give(socket);
  const std::string why = why_not_started();
  EXPECT_NE(why.find("'api'"), std::string::npos) << why;
  EXPECT_NE(why.find("is not loopback: without TLS"), std::string::npos) << why;
}

TEST_F(GivenSockets, ListenForStreams) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const Descriptor reads(pipe[0]);
  const Descriptor writes(pipe[1]);
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const Descriptor connected(pair[0]);
  const Descriptor other(pair[1]);
  const auto why = [&](const Descriptor& socket) {
    give(socket);
    return why_not_started();
  };
  for (const std::string& said :
       {why(reads), why(connected), why(unix_socket(SOCK_STREAM, 0)), why(unix_socket(SOCK_SEQPACKET)),
        why(unix_socket(SOCK_DGRAM, 0)), why(Descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))),
        why(Descriptor(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0))), why(Descriptor())})
    EXPECT_NE(said.find("none that listens for streams of TCP or UNIX"), std::string::npos) << said;
}

}  // namespace
}  // namespace lockstep::api
