#include "tests/contract/vty_relay.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace lockstep::contract {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) throw std::runtime_error("too long for a socket: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// What came in one read, for the other side. False: the connection is over.
bool pass_on(int from, int to, std::string* seen) {
  std::array<char, 65536> buffer{};
  const ssize_t count = ::recv(from, buffer.data(), buffer.size(), 0);
  if (count <= 0) return false;
  if (seen != nullptr) seen->append(buffer.data(), static_cast<std::size_t>(count));
  return ::send(to, buffer.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) == count;
}

}  // namespace

VtyRelay::VtyRelay(const std::string& folder, const std::string& run_dir, const std::string& daemon)
    : daemon_path_(run_dir + "/" + daemon + ".vty"),
      listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      quit_(::eventfd(0, EFD_CLOEXEC)) {
  const sockaddr_un address = address_of(folder + "/" + daemon + ".vty");
  if (::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener_.number(), 4) != 0)
    throw std::runtime_error(std::string("relay: ") + std::strerror(errno));
  thread_ = std::thread([this] { serve(); });
}

VtyRelay::~VtyRelay() {
  eventfd_write(quit_.number(), 1);
  thread_.join();
}

void VtyRelay::serve() {
  for (;;) {
    std::array<pollfd, 2> waits{{{listener_.number(), POLLIN, 0}, {quit_.number(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 || waits[1].revents != 0) return;
    const Descriptor client(::accept(listener_.number(), nullptr, nullptr));
    const Descriptor daemon(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of(daemon_path_);
    if (client &&
        ::connect(daemon.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
      converse(client.number(), daemon.number());
  }
}

// A command ends with one NUL byte; the daemon answers each before it reads the next.
void VtyRelay::converse(int client, int daemon) {
  std::string pending;
  bool configuring = false;
  bool lost = false;
  for (;;) {
    std::array<pollfd, 3> waits{{{client, POLLIN, 0}, {daemon, POLLIN, 0}, {quit_.number(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 || waits[2].revents != 0) return;
    if (waits[1].revents != 0 && (lost || !pass_on(daemon, client, nullptr))) return;
    if (waits[0].revents == 0) continue;
    if (!pass_on(client, daemon, &pending)) return;
    for (std::size_t end = pending.find('\0'); end != pending.npos; end = pending.find('\0')) {
      const std::string command = pending.substr(0, end);
      pending.erase(0, end + 1);
      lost = losing_ && configuring && command == "end";
      if (command == "configure terminal") configuring = true;
      if (command == "end") configuring = false;
    }
  }
}

}  // namespace lockstep::contract
