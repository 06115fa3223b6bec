#include "drivers/linux/netlink_socket.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "drivers/posix/wait.hpp"

namespace lockstep::netlink {
namespace {

Error system_error(const char* what, int code) {
  return Error{kind_of_errno(code), std::string("netlink: ") + what + ": " + std::strerror(code)};
}

// Room for a burst of events: tens of thousands of small ones, as when a large routing table is withdrawn.
constexpr int kReceiveBytes = 4 << 20;

}  // namespace

Socket::Socket(Socket&&) noexcept = default;
Socket& Socket::operator=(Socket&&) noexcept = default;
Socket::~Socket() = default;

Result<Socket> Socket::open(int protocol, std::size_t dump_max) {
  Descriptor descriptor(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol));
  if (!descriptor) return system_error("socket", errno);
  const int fd = descriptor.number();
  sockaddr_nl here{};
  here.nl_family = AF_NETLINK;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&here), sizeof(here)) != 0)
    return system_error("bind", errno);
  // Optional improvements that an old kernel may lack (strict checking: 4.20) or deny (the forced buffer
  // needs CAP_NET_ADMIN in the first user namespace); everything is correct without them.
  const int one = 1;
  (void)::setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
  (void)::setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
  (void)::setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one, sizeof(one));
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBytes, sizeof(kReceiveBytes)) != 0)
    (void)::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof(kReceiveBytes));
  return Socket(std::move(descriptor), dump_max);
}

Result<Done> Socket::send(Bytes bytes, const Call& call) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  for (;;) {
    const ssize_t sent = ::sendto(descriptor_.number(), bytes.data(), bytes.size(), 0,
                                  reinterpret_cast<const sockaddr*>(&kernel), sizeof(kernel));
    if (sent >= 0 && static_cast<std::size_t>(sent) == bytes.size()) return Done{};
    if (sent >= 0) return Error{ErrorKind::unknown_outcome, "netlink: the kernel took half a request"};
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return system_error("send", errno);
    TRY_DONE(wait_for(descriptor_.number(), POLLOUT, call));
  }
}

Result<Bytes> Socket::receive(const Call& call) {
  for (;;) {
    sockaddr_nl from{};
    socklen_t from_size = sizeof(from);
    const ssize_t got = ::recvfrom(descriptor_.number(), buffer_.data(), buffer_.size(), MSG_TRUNC,
                                   reinterpret_cast<sockaddr*>(&from), &from_size);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return system_error("receive", errno);
      TRY_DONE(wait_for(descriptor_.number(), POLLIN, call));
      continue;
    }
    if (from.nl_pid != 0) continue;  // any local process can send to our port; only the kernel is trusted
    const auto size = static_cast<std::size_t>(got);
    if (size > buffer_.size()) {
      buffer_.resize(size);
      return Error{ErrorKind::transient, "netlink: a datagram was larger than the buffer"};
    }
    return Bytes(buffer_.data(), size);
  }
}

// True: complete. False: the kernel reports that the table changed meanwhile.
Result<bool> Socket::dump_once(Request& request, const Call& call, const EachMessage& each) {
  const std::uint32_t sequence = ++sequence_;
  TRY_DONE(send(request.finish(sequence), call));
  bool consistent = true;
  std::size_t count = 0;
  for (;;) {
    TRY(const Bytes bytes, receive(call));
    MessageWalk walk(bytes);
    for (Message message; walk.next(message);) {
      if (message.sequence != sequence) continue;
      if ((message.flags & NLM_F_DUMP_INTR) != 0) consistent = false;
      if (message.type == NLMSG_DONE) {
        const auto code = read_as<std::int32_t>(message.payload);
        if (code && *code < 0) return to_error(Answer{-*code, {}}, "netlink dump");
        return consistent;
      }
      if (message.type == NLMSG_ERROR) {
        TRY(const Answer answer, decode_answer(message));
        if (answer.code != 0) return to_error(answer, "netlink dump");
        return consistent;
      }
      if (message.type < NLMSG_MIN_TYPE) continue;
      // The rest of the reply has an older sequence number than the next request, and is skipped then.
      if (++count > dump_max_)
        return Error{ErrorKind::refused, "netlink: the kernel's table has more than " +
                                             std::to_string(dump_max_) + " entries, and no more are read"};
      TRY_DONE(each(message));
    }
    TRY_DONE(walk.finish());
  }
}

Result<Done> Socket::dump(Request& request, const Call& call, const EachMessage& each,
                          const std::function<void()>& restart) {
  for (int tries = 0; tries < kDumpTries; ++tries) {
    if (tries > 0) restart();
    TRY(const bool consistent, dump_once(request, call, each));
    if (consistent) return Done{};
  }
  return Error{ErrorKind::transient, "netlink: the kernel's table kept changing while it was read"};
}

Result<Answer> Socket::ask(Request& request, const Call& call, const EachMessage& each) {
  const std::uint32_t sequence = ++sequence_;
  TRY_DONE(send(request.finish(sequence), call));
  for (;;) {
    TRY(const Bytes bytes, receive(call));
    MessageWalk walk(bytes);
    for (Message message; walk.next(message);) {
      if (message.sequence != sequence) continue;
      if (message.type == NLMSG_ERROR) return decode_answer(message);
      if (message.type >= NLMSG_MIN_TYPE) TRY_DONE(each(message));
    }
    TRY_DONE(walk.finish());
  }
}

Result<Done> Socket::ask_all(std::span<Request> requests, const Call& call,
                             const std::function<Result<Done>(std::size_t, const Message&)>& each) {
  for (std::size_t from = 0; from < requests.size(); from += kBatch) {
    const std::size_t count = std::min(kBatch, requests.size() - from);
    std::vector<std::byte> together;
    const std::uint32_t first = sequence_ + 1;
    for (Request& request : requests.subspan(from, count)) {
      const Bytes bytes = request.finish(++sequence_);
      together.insert(together.end(), bytes.begin(), bytes.end());
    }
    TRY_DONE(send(together, call));
    for (std::size_t answered = 0; answered < count;) {
      TRY(const Bytes bytes, receive(call));
      MessageWalk walk(bytes);
      for (Message message; answered < count && walk.next(message);) {
        if (message.sequence != first + static_cast<std::uint32_t>(answered)) continue;
        TRY_DONE(each(from + answered, message));
        ++answered;
      }
      TRY_DONE(walk.finish());
    }
  }
  return Done{};
}

Result<Done> Socket::change_all(std::span<Request> requests, const Call& call, std::vector<Answer>& answers) {
  if (requests.empty()) return Done{};
  std::vector<std::byte> together;
  const std::uint32_t first = sequence_ + 1;
  for (Request& request : requests) {
    const Bytes bytes = request.finish(++sequence_);
    together.insert(together.end(), bytes.begin(), bytes.end());
  }
  TRY_DONE(send(together, call));
  // From here on the kernel may have made the change: every failure is an unknown outcome.
  while (answers.size() < requests.size()) {
    auto got = receive(call);
    if (!got) {
      Error lost{ErrorKind::unknown_outcome, "netlink: no acknowledgement"};
      lost.cause = std::make_shared<const Error>(std::move(got.error()));
      return lost;
    }
    MessageWalk walk(*got);
    for (Message message; walk.next(message) && answers.size() < requests.size();) {
      if (message.type != NLMSG_ERROR) continue;
      if (message.sequence != first + static_cast<std::uint32_t>(answers.size())) continue;
      auto answer = decode_answer(message);
      if (!answer) return Error{ErrorKind::unknown_outcome, answer.error().what};
      answers.push_back(*std::move(answer));
    }
  }
  return Done{};
}

Result<Answer> Socket::change(Request& request, const Call& call) {
  std::vector<Answer> answers;
  TRY_DONE(change_all(std::span(&request, 1), call, answers));
  return std::move(answers.front());
}

Result<Done> Socket::join(unsigned group) {
  if (::setsockopt(descriptor_.number(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) != 0)
    return system_error("joining a multicast group", errno);
  return Done{};
}

Result<Socket::Event> Socket::next_event() {
  for (;;) {
    sockaddr_nl from{};
    socklen_t from_size = sizeof(from);
    const ssize_t got = ::recvfrom(descriptor_.number(), buffer_.data(), buffer_.size(), MSG_TRUNC,
                                   reinterpret_cast<sockaddr*>(&from), &from_size);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return Event{};
      if (errno == ENOBUFS) return Event{true, {}};
      return system_error("receive", errno);
    }
    if (from.nl_pid != 0) continue;
    const auto size = static_cast<std::size_t>(got);
    if (size > buffer_.size()) return Event{true, {}};
    return Event{false, Bytes(buffer_.data(), size)};
  }
}

}  // namespace lockstep::netlink
