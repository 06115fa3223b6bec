#include "tests/contract/relay.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace lockstep::contract {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) throw std::runtime_error("too long for a socket: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// Passes the bytes of one read to the other side. False: the connection has ended.
bool pass_on(int from, int to, std::string* seen) {
  std::array<char, 65536> buffer{};
  const ssize_t count = ::recv(from, buffer.data(), buffer.size(), 0);
  if (count <= 0) return false;
  if (seen != nullptr) seen->append(buffer.data(), static_cast<std::size_t>(count));
  return ::send(to, buffer.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) == count;
}

}  // namespace

Relay::Relay(const std::string& listen_on, std::string daemon, WriteCommands commands)
    : daemon_(std::move(daemon)),
      commands_(commands),
      listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      quit_(::eventfd(0, EFD_CLOEXEC)) {
  const sockaddr_un address = address_of(listen_on);
  if (::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener_.number(), 4) != 0)
    throw std::runtime_error(std::string("relay: ") + std::strerror(errno));
  thread_ = std::thread([this] { serve(); });
}

Relay::~Relay() {
  eventfd_write(quit_.number(), 1);
  thread_.join();
}

void Relay::serve() {
  for (;;) {
    std::array<pollfd, 2> waits{{{listener_.number(), POLLIN, 0}, {quit_.number(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 || waits[1].revents != 0) return;
    const Descriptor client(::accept(listener_.number(), nullptr, nullptr));
    const Descriptor daemon(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of(daemon_);
    if (client &&
        ::connect(daemon.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
      converse(client.number(), daemon.number());
  }
}

// The daemon answers the last command of a write before it reads another.
void Relay::converse(int client, int daemon) {
  std::string pending;
  bool writing = false;
  bool lost = false;
  for (;;) {
    std::array<pollfd, 3> waits{{{client, POLLIN, 0}, {daemon, POLLIN, 0}, {quit_.number(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 || waits[2].revents != 0) return;
    if (waits[1].revents != 0 && (lost || !pass_on(daemon, client, nullptr))) return;
    if (waits[0].revents == 0) continue;
    if (!pass_on(client, daemon, &pending)) return;
    for (std::size_t end = pending.find(commands_.separator); end != pending.npos;
         end = pending.find(commands_.separator)) {
      const std::string command = pending.substr(0, end);
      pending.erase(0, end + 1);
      lost = losing_ && writing && command == commands_.end;
      if (command == commands_.begin) {
        writing = true;
        if (at_begin_) at_begin_();
      }
      if (command == commands_.end) writing = false;
    }
  }
}

}  // namespace lockstep::contract
