// Netlink messages as bytes: a bounds-checked reader of messages and attributes, and a builder of requests.
//
// Promises: every length is checked against the available bytes before a byte is read, so a truncated or
// malformed reply is an Error, never undefined behaviour; numbers are copied out (netlink aligns to 4, 64-bit
// attributes may be misaligned). Unknown attributes are skipped, as new kernels add them. Refuses: an
// attribute whose size is not that of the requested number. No I/O here (netlink_socket.hpp has it). Formats:
// netlink(7), rtnetlink(7), linux/netlink.h.
#pragma once

#include <linux/netlink.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "specs/model/result.hpp"

namespace lockstep::netlink {

using Bytes = std::span<const std::byte>;

struct Attribute {
  std::uint16_t type = 0;  // without NLA_F_NESTED and NLA_F_NET_BYTEORDER
  Bytes payload;
};

// Walks attributes one by one. next() is false at the end or at a fault; finish() distinguishes the two.
class AttributeWalk {
 public:
  explicit AttributeWalk(Bytes bytes) : rest_(bytes) {}
  bool next(Attribute& out);
  Result<Done> finish(std::string_view what) const;

 private:
  Bytes rest_;
  bool faulty_ = false;
};

template <class T>
requires std::is_trivially_copyable_v<T> std::optional<T> read_as(Bytes bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T out;
  std::memcpy(&out, bytes.data(), sizeof(T));
  return out;
}

// The text of a NUL-terminated attribute; what follows the first NUL is dropped, a missing NUL is tolerated.
std::string text_of(Bytes bytes);

// Attributes 0..N-1 by type; the last of a repeated type wins, as in the kernel's own parser.
template <std::size_t N>
class AttributeTable {
 public:
  static Result<AttributeTable> parse(Bytes bytes, std::string_view what) {
    AttributeTable out;
    AttributeWalk walk(bytes);
    for (Attribute one; walk.next(one);)
      if (one.type < N) {
        out.seen_[one.type] = true;
        out.payload_[one.type] = one.payload;
      }
    TRY_DONE(walk.finish(what));
    return out;
  }

  bool has(std::size_t type) const { return seen_.at(type); }
  Bytes bytes(std::size_t type) const { return payload_.at(type); }
  std::string text(std::size_t type) const { return text_of(payload_.at(type)); }

  // A number of exactly T's size; a wrong size counts as absent and marks the table (see sound()).
  template <class T>
  std::optional<T> number(std::size_t type) {
    if (!seen_.at(type)) return std::nullopt;
    if (payload_.at(type).size() != sizeof(T)) {
      sound_ = false;
      return std::nullopt;
    }
    return read_as<T>(payload_.at(type));
  }

  Result<Done> sound(std::string_view what) const {
    if (sound_) return Done{};
    return Error{ErrorKind::transient,
                 "netlink: an attribute of a " + std::string(what) + " has a wrong size"};
  }

 private:
  std::array<Bytes, N> payload_{};
  std::array<bool, N> seen_{};
  bool sound_ = true;
};

struct Message {
  std::uint16_t type = 0;
  std::uint16_t flags = 0;
  std::uint32_t sequence = 0;
  Bytes payload;  // after nlmsghdr
};

// Splits one datagram into messages. Works like AttributeWalk.
class MessageWalk {
 public:
  explicit MessageWalk(Bytes bytes) : rest_(bytes) {}
  bool next(Message& out);
  Result<Done> finish() const;

 private:
  Bytes rest_;
  bool faulty_ = false;
};

// A fixed header (ifinfomsg, tcmsg, ...) at the start of a payload, and the attributes after it.
template <class Header>
struct Framed {
  Header header{};
  Bytes attributes;
};
template <class Header>
Result<Framed<Header>> framed(Bytes payload, std::string_view what) {
  const auto header = read_as<Header>(payload);
  if (!header)
    return Error{ErrorKind::transient, "netlink: a " + std::string(what) + " message is cut short"};
  const std::size_t skip = NLMSG_ALIGN(sizeof(Header));
  return Framed<Header>{*header, payload.size() > skip ? payload.subspan(skip) : Bytes{}};
}

// The kernel's reply to one request: 0 is an acknowledgement, else an errno with its extended text.
struct Answer {
  int code = 0;
  std::string extack;
};
// Decodes an NLMSG_ERROR payload (code, echoed request, extended acknowledgement).
Result<Answer> decode_answer(const Message& message);
// `what` names the object of the request; the errno decides the kind: EOPNOTSUPP and EPROTONOSUPPORT
// unsupported, EPERM and EACCES denied, EAGAIN, EBUSY, EINTR, ENOBUFS and ENOMEM transient, everything else
// refused.
Error to_error(const Answer& answer, std::string_view what);
ErrorKind kind_of_errno(int code);

class Request {
 public:
  Request(std::uint16_t type, std::uint16_t flags);

  template <class T>
  requires std::is_trivially_copyable_v<T> Request& header(const T& fixed) {
    append(&fixed, sizeof(fixed));
    return *this;
  }
  Request& put(std::uint16_t type, Bytes payload);
  template <class T>
  requires std::is_trivially_copyable_v<T> Request& put_number(std::uint16_t type, const T& number) {
    return put(type, std::as_bytes(std::span<const T, 1>(&number, 1)));
  }
  Request& put_text(std::uint16_t type, std::string_view text);  // with its NUL
  Request& put_flag(std::uint16_t type) { return put(type, Bytes{}); }
  std::size_t open_nest(std::uint16_t type);
  void close_nest(std::size_t opened);
  // A struct rtnexthop inside RTA_MULTIPATH: attributes follow, and close_nest ends it (both start with their
  // length).
  // Weights are 1 to 256; flags RTNH_F_*.
  std::size_t open_hop(std::uint32_t interface, std::uint32_t weight, std::uint8_t flags);

  // The finished message under this sequence number.
  Bytes finish(std::uint32_t sequence);
  std::uint16_t type() const;

 private:
  void append(const void* from, std::size_t size);
  std::vector<std::byte> bytes_;
};

}  // namespace lockstep::netlink
