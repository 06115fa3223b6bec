// A netlink socket: dumps, single requests and batches, each with the caller's deadline, stop and wake.
//
// Promises: a dump of more than kDumpMax messages is aborted and refused; opened in the calling thread's
// network namespace (see in_namespace.hpp) and bound to it permanently; strict checking and extended
// acknowledgements are on if the kernel supports them; a dump that the kernel marks as inconsistent
// (NLM_F_DUMP_INTR) is read again, at most kDumpTries times; only messages from the kernel (port 0) with
// our sequence number count. A change whose acknowledgement does not arrive is unknown_outcome. Not
// thread-safe.
#pragma once

#include <linux/netlink.h>

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "drivers/linux/netlink.hpp"
#include "drivers/posix/call.hpp"
#include "specs/files/descriptor.hpp"

namespace lockstep::netlink {

using EachMessage = std::function<Result<Done>(const Message&)>;

class Socket {
 public:
  static constexpr int kDumpTries = 5;
  // Twice the routes of the whole Internet (1,000,000 of IPv4 in 2025, bgp.potaroo.net), far more than in any
  // fabric.
  static constexpr std::size_t kDumpMax = 2'000'000;

  // `protocol`: NETLINK_ROUTE, NETLINK_GENERIC.
  static Result<Socket> open(int protocol, std::size_t dump_max = kDumpMax);

  // Out of line: g++ 12 at -O2 reports a free of unallocated memory if a variant destroys one inline
  // (-Wfree-nonheap-object, a false positive).
  Socket(Socket&&) noexcept;
  Socket& operator=(Socket&&) noexcept;
  ~Socket();

  // All messages of a dump, in order. `restart` is called before a second reading, to discard the first.
  Result<Done> dump(Request& request, const Call& call, const EachMessage& each,
                    const std::function<void()>& restart);
  // One request that is answered by an acknowledgement only. Sends it with NLM_F_ACK.
  Result<Answer> change(Request& request, const Call& call);
  // Several of those in one send; as many answers as requests, in order. A transport failure ends it:
  // `answers` then holds the answers received so far.
  Result<Done> change_all(std::span<Request> requests, const Call& call, std::vector<Answer>& answers);
  // One request that is answered by messages and then an acknowledgement (a GET of one object).
  Result<Answer> ask(Request& request, const Call& call, const EachMessage& each);

  // Many queries with one answer each, a message or an error (a GET of one route), sent in batches. `each`
  // gets the index of the query with its answer.
  Result<Done> ask_all(std::span<Request> requests, const Call& call,
                       const std::function<Result<Done>(std::size_t, const Message&)>& each);

  Result<Done> join(unsigned group);  // a multicast group (RTNLGRP_LINK ...)
  // Reads one datagram without blocking; empty: nothing is waiting. ENOBUFS is reported as overrun.
  struct Event {
    bool overrun = false;
    Bytes bytes;  // valid until the next call
  };
  Result<Event> next_event();
  int descriptor() const { return descriptor_.number(); }

 private:
  Socket(Descriptor descriptor, std::size_t dump_max)
      : descriptor_(std::move(descriptor)), buffer_(kBufferBytes), dump_max_(dump_max) {}
  Result<Done> send(Bytes bytes, const Call& call);
  Result<Bytes> receive(const Call& call);
  Result<bool> dump_once(Request& request, const Call& call, const EachMessage& each);

  // The kernel fills dumps in pieces of up to 32 KiB if the reader's buffer allows (af_netlink.c,
  // netlink_recvmsg and netlink_dump: max_recvmsg_len is capped at 32768 there); twice that is always
  // sufficient.
  static constexpr std::size_t kBufferBytes = 65536;
  // Queries per send: their answers, of a kilobyte each at most, fit the socket's receive buffer even if it
  // could not be enlarged (net.core.rmem_default, 212992 bytes, including the skb overhead).
  static constexpr std::size_t kBatch = 64;
  Descriptor descriptor_;
  std::vector<std::byte> buffer_;
  std::size_t dump_max_;
  std::uint32_t sequence_ = 0;
};

// One dump: each message of `reply_type` decoded and appended to `out`.
template <class T>
Result<Done> read_all(Socket& socket, Request& request, std::uint16_t reply_type,
                      Result<std::optional<T>> (*decode)(Bytes), const Call& call, std::vector<T>& out) {
  const std::size_t before = out.size();
  return socket.dump(
      request, call,
      [&](const Message& message) -> Result<Done> {
        if (message.type != reply_type) return Done{};
        TRY(auto one, decode(message.payload));
        if (one) out.push_back(*std::move(one));
        return Done{};
      },
      [&] { out.resize(before); });
}

// The same, for a request that consists of a header only.
template <class T, class Header>
Result<Done> read_all(Socket& socket, std::uint16_t type, std::uint16_t reply_type, const Header& header,
                      Result<std::optional<T>> (*decode)(Bytes), const Call& call, std::vector<T>& out) {
  Request request(type, NLM_F_DUMP);
  request.header(header);
  return read_all(socket, request, reply_type, decode, call, out);
}

}  // namespace lockstep::netlink
