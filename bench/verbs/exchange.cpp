#include "bench/verbs/exchange.hpp"

#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>

#include "drivers/posix/wait.hpp"

namespace lockstep::bench::verbs {
namespace {

constexpr std::string_view protocol = "lockstep-verbs";
constexpr std::uint64_t low_24 = 0xffffff;
constexpr std::uint64_t low_32 = 0xffffffff;

Error lying(const std::string& what) { return {ErrorKind::refused, "the peer's address: " + what}; }

Result<std::uint64_t> number_in(const Json& json, const char* key, std::uint64_t most) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() > most)
    return lying(std::string(key) + " is not a number up to " + std::to_string(most));
  return found->get<std::uint64_t>();
}

}  // namespace

Error Exchange::wrong(const std::string& what) const {
  return {ErrorKind::refused, "exchange with " + peer_ + ": " + what};
}

Result<Exchange> Exchange::connect(const std::string& own, const std::string& peer, std::uint16_t port,
                                   const Call& call) {
  TRY(const Address from, parse_address(own, 0));
  TRY(const Address to, parse_address(peer, port));
  auto dialled = connect_from(from, to, {});
  if (!dialled) return wrap("exchange with " + peer, dialled.error());
  Exchange out(*std::move(dialled), peer);
  if (!wait_for(out.fd_.number(), POLLOUT, call)) return out.wrong("connect timed out");
  if (const int error = socket_error(out.fd_.number()); error != 0) return out.wrong(stage_of(error));
  TRY_DONE(out.greet(call));
  return out;
}

Result<Exchange> Exchange::accept(const Descriptor& listener, const std::string& peer, const Call& call) {
  TRY(const Address expected, parse_address(peer, 0));
  for (;;) {
    if (auto ready = wait_for(listener.number(), POLLIN, call); !ready)
      return Error{ready.error().kind, "nobody connected from " + peer};
    Descriptor fd = accept_from(listener.number(), expected);
    if (!fd) continue;
    Exchange out(std::move(fd), peer);
    TRY_DONE(out.greet(call));
    return out;
  }
}

Result<Done> Exchange::greet(const Call& call) {
  TRY_DONE(send("hello", {{"protocol", protocol}, {"version", protocol_version}}, call));
  TRY(const Json hello, receive("hello", call));
  if (text_of(hello, "protocol") != protocol) return wrong("it does not speak " + std::string(protocol));
  if (number_of(hello, "version") != protocol_version)
    return wrong("it speaks version " + std::to_string(number_of(hello, "version")) + ", this end version " +
                 std::to_string(protocol_version));
  return Done{};
}

Result<Done> Exchange::send(std::string_view kind, Json body, const Call& call) {
  body["kind"] = kind;
  const std::string bytes = framed(body);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t got =
        ::send(fd_.number(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (got >= 0) {
      sent += static_cast<std::size_t>(got);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return wrong(stage_of(errno));
    if (!wait_for(fd_.number(), POLLOUT, call)) return wrong("it does not read");
  }
  return Done{};
}

Result<bool> Exchange::read_some() {
  std::array<char, 4096> bytes{};
  const ssize_t got = recv(fd_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got < 0) return wrong(stage_of(errno));
  if (got == 0) return wrong("closed by the peer: its program ended or died");
  reader_.feed(bytes.data(), static_cast<std::size_t>(got));
  return true;
}

Result<Json> Exchange::taken(std::string_view kind) {
  auto message = reader_.next();
  if (!message) return wrong(message.error().what);
  if (!*message) return Json(nullptr);
  Json out = **std::move(message);
  const std::string said = text_of(out, "kind");
  if (said == "failed") return Error{ErrorKind::refused, peer_ + " says: " + text_of(out, "text")};
  if (said != kind) return wrong("'" + said + "' came where '" + std::string(kind) + "' was due");
  return out;
}

Result<Json> Exchange::take_if_there(std::string_view kind) {
  for (;;) {
    TRY(Json message, taken(kind));
    if (!message.is_null()) return message;
    TRY(const bool more, read_some());
    if (!more) return Json(nullptr);
  }
}

Result<Json> Exchange::receive(std::string_view kind, const Call& call) {
  for (;;) {
    TRY(Json message, take_if_there(kind));
    if (!message.is_null()) return message;
    if (auto ready = wait_for(fd_.number(), POLLIN, call); !ready)
      return wrong(ready.error().kind == ErrorKind::cancelled
                       ? "stopped"
                       : "no '" + std::string(kind) + "' came in time");
  }
}

Json to_json(const EndAddress& end) {
  Json pairs = Json::array();
  for (const QueuePairAddress& one : end.queue_pairs)
    pairs.push_back({{"number", one.number}, {"sequence", one.sequence}});
  return {{"gid", gid_text(end.gid)}, {"activeMtu", end.active_mtu},     {"memory", end.memory},
          {"key", end.key},           {"memoryBytes", end.memory_bytes}, {"queuePairs", std::move(pairs)}};
}

Result<EndAddress> end_address_from(const Json& json, std::size_t queue_pairs, std::uint64_t memory_bytes) {
  EndAddress out;
  TRY(out.gid, parse_gid(text_of(json, "gid")));
  TRY(const std::uint64_t mtu, number_in(json, "activeMtu", 4096));
  TRY(out.memory, number_in(json, "memory", ~std::uint64_t{0}));
  TRY(const std::uint64_t key, number_in(json, "key", low_32));
  TRY(out.memory_bytes, number_in(json, "memoryBytes", ~std::uint64_t{0}));
  out.active_mtu = static_cast<std::uint32_t>(mtu);
  out.key = static_cast<std::uint32_t>(key);
  if (!mtu_of(out.active_mtu)) return lying("an active MTU of " + std::to_string(mtu));
  if (out.memory_bytes != memory_bytes)
    return lying("a region of " + std::to_string(out.memory_bytes) + " bytes, the workload needs " +
                 std::to_string(memory_bytes));
  if (out.memory > ~std::uint64_t{0} - memory_bytes) return lying("a region beyond the end of memory");
  const auto pairs = json.find("queuePairs");
  if (pairs == json.end() || !pairs->is_array() || pairs->size() != queue_pairs)
    return lying("not " + std::to_string(queue_pairs) + " queue pairs");
  for (const Json& one : *pairs) {
    if (!one.is_object()) return lying("a queue pair that is not an object");
    TRY(const std::uint64_t number, number_in(one, "number", low_24));
    TRY(const std::uint64_t sequence, number_in(one, "sequence", low_24));
    out.queue_pairs.push_back({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(sequence)});
  }
  return out;
}

std::string gid_text(const ibv_gid& gid) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < sizeof gid.raw; ++i) {
    if (i != 0 && i % 2 == 0) out += ':';
    out += digits[gid.raw[i] >> 4U];
    out += digits[gid.raw[i] & 0xfU];
  }
  return out;
}

Result<ibv_gid> parse_gid(const std::string& text) {
  ibv_gid out{};
  constexpr std::size_t size = 8 * 4 + 7;
  bool good = text.size() == size;
  for (std::size_t i = 0; good && i < sizeof out.raw; ++i) {
    const std::size_t at = 2 * i + i / 2;
    if (i != 0 && i % 2 == 0) good = text[at - 1] == ':';
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 2, out.raw[i], 16);
    good = good && error == std::errc{} && end == text.data() + at + 2;
  }
  if (!good) return Error{ErrorKind::refused, "not a GID: '" + text + "'"};
  return out;
}

std::uint32_t bytes_of(ibv_mtu mtu) { return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << mtu : 0; }

std::optional<ibv_mtu> mtu_of(std::uint32_t bytes) {
  for (const ibv_mtu one : {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096})
    if (bytes_of(one) == bytes) return one;
  return std::nullopt;
}

}  // namespace lockstep::bench::verbs
