// Redis' protocol: commands as bytes, and bytes as replies. The parser is hiredis', which no other file
// includes.
//
// Promises: what a server sends is input. The replies to what was sent in one piece have at most kReplyBytes
// bytes and kReplyValues values together, a reply as many levels as hiredis accepts (7), a line of the
// protocol at most kLineBytes: what exceeds them is refused before memory is allocated for it. Errors of
// Redis are replies (RedisReply::Kind::error) and become an Error by redis_error() alone, which decides what
// the engine does next, says what an operator can do, and shows no argument that Redis repeats: values and
// passwords are among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/sonic/config_db.hpp"
#include "specs/model/result.hpp"

namespace lockstep::sonic {

// Choices: ten times the CONFIG_DB of a switch with 100,000 rows, whose names alone are some 3 MB.
inline constexpr std::size_t kReplyBytes = 64U << 20;
inline constexpr std::size_t kReplyValues = 1'000'000;  // of some 100 bytes each
// Redis' own limit of a line (PROTO_INLINE_MAX_SIZE of its server.h).
inline constexpr std::size_t kLineBytes = 64U << 10;

using RedisCommand = std::vector<std::string>;

struct RedisReply {
  enum class Kind : std::uint8_t { nil, text, integer, array, error };
  Kind kind = Kind::nil;
  std::string text{};  // of a text or an error
  std::int64_t integer = 0;
  std::vector<RedisReply> elements{};

  bool is_text(std::string_view same) const { return kind == Kind::text && text == same; }
  bool is_error() const { return kind == Kind::error; }
};

// The bytes of one command.
std::string redis_bytes(const RedisCommand& command);

// Parses what one connection receives.
class RedisReader {
 public:
  RedisReader();
  ~RedisReader();
  RedisReader(RedisReader&&) noexcept;
  RedisReader& operator=(RedisReader&&) noexcept;

  // The bounds count from here on.
  void begin();
  // After an error (transient: it is not the protocol, or a bound is exceeded) the connection is over.
  Result<Done> feed(std::string_view bytes);
  // The next complete reply; none: it needs more bytes.
  Result<std::optional<RedisReply>> next();
  // Whether bytes are left that are no complete reply yet, or that nobody has asked for.
  bool has_bytes() const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

// The error of an error reply; none: the reply is none. `what`: "write of PORT|Ethernet0".
std::optional<Error> redis_error(const std::string& what, const RedisReply& reply);

// The reply to HGETALL; empty: there is no such key. `what`: "row 'PORT|Ethernet0'".
Result<RedisHash> redis_hash_in(const std::string& what, const RedisReply& reply);

// Identity of the Redis process, in its reply to INFO server.
Result<std::string> run_id_in(const RedisReply& info);

}  // namespace lockstep::sonic
