// KeyspaceWatch: a descriptor that is readable when keys of one database of Redis may have changed.
//
// Promises: a connection of its own, subscribed to the events of that database. The first drain() always says
// that something changed: what happened before the subscription is not known, so that a watch which is opened
// again after an error loses nothing. drain() never blocks; its error means that the connection is over and
// events are lost. Redis reports no event when a whole database is emptied (FLUSHDB): only what is then
// written wakes. Redis' settings are changed only if the options allow it.
// Refuses: a Redis that does not report these events (notify-keyspace-events without K, or without A and
// without h and g), since it would never wake anybody; SONiC sets KEA. Where the setting cannot be read,
// doubt() gives the reason.
#pragma once

#include <memory>
#include <string>

#include "drivers/posix/wake_descriptor.hpp"
#include "drivers/sonic/redis_connection.hpp"

namespace lockstep::sonic {

struct KeyspaceWatchOptions {
  bool may_set_events =
      false;  // adds what is missing to notify-keyspace-events, for all clients of this Redis
};

class KeyspaceWatch {
 public:
  static Result<KeyspaceWatch> open(RedisServer server, int database, KeyspaceWatchOptions options,
                                    const Call& call);

  int descriptor() const { return both_.number(); }
  // Whether anything may have changed since the last one.
  Result<bool> drain();
  // Why it is not known whether events come; empty: they do.
  const std::string& doubt() const { return doubt_; }

 private:
  KeyspaceWatch(RedisServer server, int database) : connection_(std::move(server), database) {}
  Result<Done> check_events(KeyspaceWatchOptions options, const Call& call);
  Result<Done> subscribe(const Call& call);

  RedisConnection connection_;
  WakeDescriptor first_;  // signalled until the first drain()
  Descriptor both_;       // epoll(7) of both
  std::string doubt_;
};

}  // namespace lockstep::sonic
