// RedisConnection: a conversation with one Redis in one of its databases, over a unix socket or, in a lab,
// over TCP, without encryption.
//
// Promises: never blocks past the call's deadline, its stop or its wake descriptor, not even while it
// connects. Opens itself at the first use, and again at the first use after an error or after Redis has
// closed it. All commands of one send() go out in one piece, and their replies are read while they go; error
// replies of Redis are replies. An error means that no reply is known: transient (unreachable, closed, the
// deadline), denied (no access to the socket, NOAUTH, WRONGPASS), cancelled. If the commands write and any
// byte of them was sent, it is unknown_outcome. send_next() never opens: what WATCH and SUBSCRIBE have set up
// lasts as long as the connection. No error shows the password or a value. Refuses (invalid_spec): a host
// that is a name, since looking it up cannot be ended. For one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/posix/call.hpp"
#include "drivers/sonic/redis_protocol.hpp"
#include "specs/files/descriptor.hpp"
#include "specs/model/result.hpp"

namespace lockstep::sonic {

struct RedisServer {
  std::string socket_path{};  // of a unix socket; empty: TCP
  std::string host{};         // a numeric address
  std::uint16_t port = 0;
  std::string user{};      // empty: Redis' default user
  std::string password{};  // empty: Redis asks for none

  // As errors name it: "Redis at /var/run/redis/redis.sock".
  std::string name() const;
};

enum class RedisIntention : std::uint8_t { asks, writes };

class RedisConnection {
 public:
  RedisConnection(RedisServer server, int database) : server_(std::move(server)), database_(database) {}

  // One reply for each command, in order.
  Result<std::vector<RedisReply>> send(std::span<const RedisCommand> commands, RedisIntention intention,
                                       const Call& call);
  // The same over the connection of the send() before; transient if it is gone, and nothing was sent.
  Result<std::vector<RedisReply>> send_next(std::span<const RedisCommand> commands, RedisIntention intention,
                                            const Call& call);
  // What has come without a command (after SUBSCRIBE), without waiting. An error: the connection is over.
  Result<std::vector<RedisReply>> pending();

  // Of the connection, to be polled for pending(); -1: not open.
  int descriptor() const { return socket_.number(); }
  void close();

  const RedisServer& server() const { return server_; }
  int database() const { return database_; }
  // Since it was made: pipelines whose replies were awaited, without those that open a connection.
  std::uint64_t round_trips() const { return round_trips_; }
  std::uint64_t openings() const { return openings_; }

 private:
  Result<Done> open(const Call& call);
  Result<Done> greet(const Call& call);
  Result<std::vector<RedisReply>> exchange(std::span<const RedisCommand> commands, RedisIntention intention,
                                           const Call& call);
  Result<Done> transfer(std::string_view outgoing, std::size_t replies, std::vector<RedisReply>& received,
                        bool& anything_sent, const Call& call);
  Result<bool> receive();
  bool is_usable();

  RedisServer server_;
  int database_;
  Descriptor socket_;
  RedisReader reader_;
  std::uint64_t round_trips_ = 0;
  std::uint64_t openings_ = 0;
};

}  // namespace lockstep::sonic
