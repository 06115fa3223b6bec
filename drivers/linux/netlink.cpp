#include "drivers/linux/netlink.hpp"

#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>

namespace lockstep::netlink {
namespace {

Bytes after(Bytes bytes, std::size_t aligned) {
  return aligned < bytes.size() ? bytes.subspan(aligned) : Bytes{};
}

}  // namespace

bool AttributeWalk::next(Attribute& out) {
  if (rest_.empty() || faulty_) return false;
  const auto header = read_as<nlattr>(rest_);
  if (!header || header->nla_len < NLA_HDRLEN || header->nla_len > rest_.size()) {
    faulty_ = true;
    return false;
  }
  out.type = static_cast<std::uint16_t>(header->nla_type & NLA_TYPE_MASK);
  out.payload = rest_.subspan(NLA_HDRLEN, header->nla_len - std::size_t{NLA_HDRLEN});
  rest_ = after(rest_, NLA_ALIGN(std::size_t{header->nla_len}));
  return true;
}

Result<Done> AttributeWalk::finish(std::string_view what) const {
  if (!faulty_) return Done{};
  return Error{ErrorKind::transient,
               "netlink: the attributes of a " + std::string(what) + " run past their message"};
}

std::string text_of(Bytes bytes) {
  const auto end = std::find(bytes.begin(), bytes.end(), std::byte{0});
  return std::string(reinterpret_cast<const char*>(bytes.data()),
                     static_cast<std::size_t>(end - bytes.begin()));
}

bool MessageWalk::next(Message& out) {
  if (rest_.empty() || faulty_) return false;
  const auto header = read_as<nlmsghdr>(rest_);
  if (!header || header->nlmsg_len < NLMSG_HDRLEN || header->nlmsg_len > rest_.size()) {
    faulty_ = true;
    return false;
  }
  out.type = header->nlmsg_type;
  out.flags = header->nlmsg_flags;
  out.sequence = header->nlmsg_seq;
  out.payload = rest_.subspan(NLMSG_HDRLEN, header->nlmsg_len - std::size_t{NLMSG_HDRLEN});
  rest_ = after(rest_, NLMSG_ALIGN(std::size_t{header->nlmsg_len}));
  return true;
}

Result<Done> MessageWalk::finish() const {
  if (!faulty_) return Done{};
  return Error{ErrorKind::transient, "netlink: a message runs past its datagram"};
}

Result<Answer> decode_answer(const Message& message) {
  const auto error = read_as<std::int32_t>(message.payload);
  constexpr std::int32_t kMostErrno = 4095;  // MAX_ERRNO of linux/err.h
  if (!error || *error > 0 || *error < -kMostErrno)
    return Error{ErrorKind::transient, "netlink: an acknowledgement is cut short or carries no errno"};
  Answer out{-*error, {}};
  if ((message.flags & NLM_F_ACK_TLVS) == 0) return out;
  // nlmsgerr contains the request's header; its body follows too unless NLM_F_CAPPED is set.
  const auto echoed = read_as<nlmsgerr>(message.payload);
  if (!echoed) return out;
  std::size_t skip = sizeof(nlmsgerr);
  if ((message.flags & NLM_F_CAPPED) == 0) {
    if (echoed->msg.nlmsg_len < NLMSG_HDRLEN) return out;
    skip += NLMSG_ALIGN(std::size_t{echoed->msg.nlmsg_len} - std::size_t{NLMSG_HDRLEN});
  }
  TRY(auto table,
      AttributeTable<NLMSGERR_ATTR_MAX + 1>::parse(after(message.payload, skip), "acknowledgement"));
  out.extack = table.text(NLMSGERR_ATTR_MSG);
  return out;
}

ErrorKind kind_of_errno(int code) {
  switch (code) {
    case EOPNOTSUPP:
    case EPROTONOSUPPORT: return ErrorKind::unsupported;
    case EPERM:
    case EACCES: return ErrorKind::denied;
    case EAGAIN:
    case EBUSY:
    case EINTR:
    case ENOBUFS:
    case ENOMEM: return ErrorKind::transient;
    default: return ErrorKind::refused;
  }
}

Error to_error(const Answer& answer, std::string_view what) {
  std::string text(what);
  text += ": ";
  text += answer.extack.empty() ? std::string(std::strerror(answer.code)) : answer.extack;
  while (!text.empty() && (text.back() == '.' || text.back() == '\n')) text.pop_back();
  return Error{kind_of_errno(answer.code), std::move(text)};
}

Request::Request(std::uint16_t type, std::uint16_t flags) {
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_flags = static_cast<std::uint16_t>(flags | NLM_F_REQUEST);
  bytes_.reserve(256);
  append(&header, sizeof(header));
}

void Request::append(const void* from, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(from);
  bytes_.insert(bytes_.end(), first, first + size);
  bytes_.resize(NLMSG_ALIGN(bytes_.size()));
}

Request& Request::put(std::uint16_t type, Bytes payload) {
  nlattr header{};
  header.nla_type = type;
  header.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + payload.size());
  append(&header, sizeof(header));
  if (!payload.empty()) append(payload.data(), payload.size());
  return *this;
}

Request& Request::put_text(std::uint16_t type, std::string_view text) {
  std::string ended(text);
  return put(type, std::as_bytes(std::span(ended.c_str(), ended.size() + 1)));
}

std::size_t Request::open_nest(std::uint16_t type) {
  const std::size_t at = bytes_.size();
  put(static_cast<std::uint16_t>(type | NLA_F_NESTED), Bytes{});
  return at;
}

void Request::close_nest(std::size_t opened) {
  const auto length = static_cast<std::uint16_t>(bytes_.size() - opened);
  std::memcpy(bytes_.data() + opened + offsetof(nlattr, nla_len), &length, sizeof(length));
}

std::size_t Request::open_hop(std::uint32_t interface, std::uint32_t weight, std::uint8_t flags) {
  static_assert(offsetof(rtnexthop, rtnh_len) == offsetof(nlattr, nla_len));
  const std::size_t at = bytes_.size();
  rtnexthop hop{};
  hop.rtnh_ifindex = static_cast<int>(interface);
  hop.rtnh_hops = static_cast<unsigned char>(std::clamp<std::uint32_t>(weight, 1, 256) - 1);
  hop.rtnh_flags = flags;
  append(&hop, sizeof(hop));
  return at;
}

Bytes Request::finish(std::uint32_t sequence) {
  nlmsghdr header{};
  std::memcpy(&header, bytes_.data(), sizeof(header));
  header.nlmsg_len = static_cast<std::uint32_t>(bytes_.size());
  header.nlmsg_seq = sequence;
  std::memcpy(bytes_.data(), &header, sizeof(header));
  return bytes_;
}

std::uint16_t Request::type() const {
  nlmsghdr header{};
  std::memcpy(&header, bytes_.data(), sizeof(header));
  return header.nlmsg_type;
}

}  // namespace lockstep::netlink
