#include "drivers/sonic/keyspace_watch.hpp"

#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

constexpr const char* kSetting = "notify-keyspace-events";

// K: channels by key. A: all classes, of which a hash needs h (its fields) and g (DEL).
bool reports_hashes(std::string_view events) {
  const auto has = [&](char one) { return events.find(one) != events.npos; };
  return has('K') && (has('A') || (has('h') && has('g')));
}

bool add_to(int epoll, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

}  // namespace

Result<KeyspaceWatch> KeyspaceWatch::open(RedisServer server, int database, KeyspaceWatchOptions options,
                                          const Call& call) {
  KeyspaceWatch watch(std::move(server), database);
  TRY_DONE(watch.check_events(options, call));
  TRY_DONE(watch.subscribe(call));
  watch.both_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!watch.first_ || !watch.both_ || !add_to(watch.both_.number(), watch.first_.number()) ||
      !add_to(watch.both_.number(), watch.connection_.descriptor()))
    return Error{ErrorKind::transient, std::string("cannot watch Redis: ") + std::strerror(errno)};
  watch.first_.signal();
  return watch;
}

Result<Done> KeyspaceWatch::check_events(KeyspaceWatchOptions options, const Call& call) {
  const RedisCommand get[] = {{"CONFIG", "GET", kSetting}};
  TRY(const auto replies, connection_.send(get, RedisIntention::asks, call));
  const RedisReply& setting = replies[0];
  const std::string name = connection_.server().name();
  if (auto error = redis_error("CONFIG GET", setting)) {
    if (error->kind == ErrorKind::transient) return *std::move(error);
    doubt_ = name +
             ": whether changes are reported is not known; see that notify-keyspace-events has K and A: " +
             error->text();
    return Done{};
  }
  if (setting.kind != RedisReply::Kind::array || setting.elements.size() != 2 ||
      setting.elements[1].kind != RedisReply::Kind::text)
    return Error{ErrorKind::transient, name + ": not the reply of Redis to CONFIG GET"};
  const std::string& events = setting.elements[1].text;
  if (reports_hashes(events)) return Done{};
  if (options.may_set_events) {
    const RedisCommand set[] = {{"CONFIG", "SET", kSetting, events + "KA"}};
    TRY(const auto done, connection_.send_next(set, RedisIntention::writes, call));
    if (auto error = redis_error(name + ": CONFIG SET notify-keyspace-events", done[0]))
      return *std::move(error);
    return Done{};
  }
  return Error{ErrorKind::refused, name + " does not report changes of keys: notify-keyspace-events is '" +
                                       printable(events, 40) + "', and needs K and A; SONiC sets KEA"};
}

Result<Done> KeyspaceWatch::subscribe(const Call& call) {
  const std::string pattern = "__keyspace@" + std::to_string(connection_.database()) + "__:*";
  const RedisCommand subscribe[] = {{"PSUBSCRIBE", pattern}};
  // Over another connection the doubt would be about another Redis.
  TRY(const auto replies, connection_.send_next(subscribe, RedisIntention::asks, call));
  const std::string name = connection_.server().name();
  if (auto error = redis_error(name + ": PSUBSCRIBE", replies[0])) return *std::move(error);
  const auto& parts = replies[0].elements;
  if (parts.size() != 3 || !parts[0].is_text("psubscribe") || !parts[1].is_text(pattern))
    return Error{ErrorKind::transient, name + ": not the reply of Redis to PSUBSCRIBE"};
  return Done{};
}

Result<bool> KeyspaceWatch::drain() {
  const bool first = first_.clear();
  TRY(const auto events, connection_.pending());
  return first || !events.empty();
}

}  // namespace lockstep::sonic
