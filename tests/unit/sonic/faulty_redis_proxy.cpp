#include "tests/unit/sonic/faulty_redis_proxy.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace lockstep::sonic {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) throw std::runtime_error("too long for a socket: " + path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// Where one value of the protocol (a command is one, too) ends that begins at `at`; npos: not there yet.
std::size_t end_of_value(const std::string& bytes, std::size_t at) {
  const std::size_t line = bytes.find("\r\n", at);
  if (line == bytes.npos) return bytes.npos;
  const std::size_t after = line + 2;
  const long count = std::strtol(bytes.c_str() + at + 1, nullptr, 10);
  if (bytes[at] == '$') {
    const std::size_t end = count < 0 ? after : after + static_cast<std::size_t>(count) + 2;
    return end <= bytes.size() ? end : bytes.npos;
  }
  std::size_t end = after;
  if (bytes[at] == '*')
    for (long i = 0; i < count && end != bytes.npos; ++i)
      end = end < bytes.size() ? end_of_value(bytes, end) : bytes.npos;
  return end;
}

// "*1\r\n$4\r\nEXEC\r\n" is EXEC.
std::string name_of(const std::string& command) {
  const std::size_t length = command.find("\r\n") + 2;
  const std::size_t from = command.find("\r\n", length) + 2;
  return command.substr(from, command.find("\r\n", from) - from);
}

bool read_more(int from, std::string& into) {
  std::array<char, 65536> buffer{};
  const ssize_t count = ::recv(from, buffer.data(), buffer.size(), 0);
  if (count <= 0) return false;
  into.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

struct FaultyRedisProxy::Conversation {
  Descriptor client;
  Descriptor redis;
  std::string commands{};
  std::string replies{};

  // The next reply of Redis; empty: it has closed.
  std::string next_reply() {
    for (;;) {
      const std::size_t end = replies.empty() ? replies.npos : end_of_value(replies, 0);
      if (end != replies.npos) {
        std::string reply = replies.substr(0, end);
        replies.erase(0, end);
        return reply;
      }
      if (!read_more(redis.number(), replies)) return {};
    }
  }
};

FaultyRedisProxy::FaultyRedisProxy(std::string path, std::string redis, RedisFaultPlan plan)
    : path_(std::move(path)),
      redis_(std::move(redis)),
      plan_(std::move(plan)),
      listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      quit_(::eventfd(0, EFD_CLOEXEC)) {
  const sockaddr_un address = address_of(path_);
  if (::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener_.number(), 4) != 0)
    throw std::runtime_error(std::string("proxy: ") + std::strerror(errno));
  thread_ = std::thread([this] { serve(); });
}

FaultyRedisProxy::~FaultyRedisProxy() {
  ::eventfd_write(quit_.number(), 1);
  thread_.join();
}

void FaultyRedisProxy::serve() {
  for (;;) {
    std::array<pollfd, 2> waits{{{listener_.number(), POLLIN, 0}, {quit_.number(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 || waits[1].revents != 0) return;
    Conversation talk{Descriptor(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC)),
                      Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))};
    const sockaddr_un address = address_of(redis_);
    if (::connect(talk.redis.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
      converse(talk);
  }
}

// One command at a time, and its reply.
void FaultyRedisProxy::converse(Conversation& talk) {
  for (;;) {
    const std::size_t end = talk.commands.empty() ? talk.commands.npos : end_of_value(talk.commands, 0);
    if (end != talk.commands.npos) {
      const std::string command = talk.commands.substr(0, end);
      talk.commands.erase(0, end);
      if (!pass_command(talk, command)) return;
      continue;
    }
    std::array<pollfd, 2> waits{{{talk.client.number(), POLLIN, 0}, {quit_.number(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 || waits[1].revents != 0) return;
    if (!read_more(talk.client.number(), talk.commands)) return;
  }
}

// False: the conversation is over.
bool FaultyRedisProxy::pass_command(Conversation& talk, const std::string& bytes) {
  const bool applies = plan_.applies ? plan_.applies() : !done_;
  const bool comes = applies && name_of(bytes) == plan_.command;
  const bool here = comes && skipped_ == plan_.skip;
  if (comes && !here) ++skipped_;
  const RedisFault fault = here ? plan_.fault : RedisFault::none;
  if (here && plan_.before) plan_.before();
  if (fault == RedisFault::late) {
    late_bytes_ = bytes;
    late_redis_ = std::move(talk.redis);
  }
  if (here) done_ = true;
  if (fault == RedisFault::cut_before) return false;
  if (fault == RedisFault::late) {
    std::array<pollfd, 2> waits{{{talk.client.number(), POLLRDHUP, 0}, {quit_.number(), POLLIN, 0}}};
    (void)::poll(waits.data(), waits.size(), -1);
    return false;
  }
  if (!write_all(talk.redis.number(), bytes)) return false;
  const std::string reply = talk.next_reply();
  if (reply.empty() || fault == RedisFault::cut_after) return false;
  return write_all(talk.client.number(), fault == RedisFault::answer ? plan_.answer : reply) &&
         fault != RedisFault::close_after;
}

void FaultyRedisProxy::deliver_late() {
  Conversation late{{}, std::move(late_redis_)};
  if (write_all(late.redis.number(), late_bytes_)) (void)late.next_reply();
}

}  // namespace lockstep::sonic
