#include "tests/contract/spike/redis_driver.hpp"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>

#include <algorithm>
#include <span>

#include "drivers/mapped/mapped_driver.hpp"
#include "drivers/posix/wait.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::contract {
namespace {

constexpr const char* kConfigDb = "4";  // CONFIG_DB in SONiC's database_config.json
// Native keys are TABLE|KEY|FIELD. A row without any fields has the field NULL.
constexpr std::string_view kPresence = "NULL";
constexpr MapRow kMap[] = {{row("interface[*]/mtu"), "PORT|{}|mtu"},
                           {row("interface[*]/admin"), "PORT|{}|admin_status"},
                           {row("interface[*]/pfc"), "PORT_QOS_MAP|{}|pfc_enable"},
                           {row("vlan[*]"), "VLAN|Vlan{}|NULL"},
                           {row("vlan[*]/name"), "VLAN|Vlan{}|description"}};
// A single command is atomic: it never sees half of the write of another client.
constexpr const char* kReadAll =
    "local rows = {} "
    "for _, pattern in ipairs({'PORT|*', 'PORT_QOS_MAP|*', 'VLAN|*'}) do "
    "for _, key in ipairs(redis.call('KEYS', pattern)) do "
    "rows[#rows + 1] = {key, redis.call('HGETALL', key)} end end "
    "return rows";

std::string text_of(const redisReply& reply) {
  return reply.str == nullptr ? std::string() : std::string(reply.str, reply.len);
}

std::span<redisReply* const> elements_of(const redisReply& reply) {
  if (reply.type != REDIS_REPLY_ARRAY) return {};
  return {reply.element, reply.elements};
}

std::pair<std::string, std::string> row_and_field(const std::string& key) {
  const std::size_t at = key.rfind('|');
  return {key.substr(0, at), key.substr(at + 1)};
}

std::string to_native(const std::string& field, const std::string& value) {
  if (field != "admin_status") return value;
  return value == "yes" ? "up" : "down";
}

std::string from_native(const std::string& field, const std::string& value) {
  if (field != "admin_status" || (value != "up" && value != "down")) return value;
  return value == "up" ? "yes" : "no";
}

bool are_equal(const NativeState& a, const NativeState& b) {
  return a.boot_id == b.boot_id &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                    [](const auto& x, const auto& y) { return x.key == y.key && x.value == y.value; });
}

Result<NativeState> read_all(RedisConnection& redis, const Call& call) {
  NativeState out;
  TRY(const RedisReply server, redis.ask({"INFO", "server"}, call));
  const std::string info = text_of(*server);
  const std::size_t at = info.find("run_id:");
  if (at == info.npos) return Error{ErrorKind::transient, "redis does not tell its run_id"};
  out.boot_id = info.substr(at, info.find('\r', at) - at);
  TRY(const RedisReply rows, redis.ask({"EVAL", kReadAll, "0"}, call));
  for (const redisReply* const row : elements_of(*rows)) {
    if (elements_of(*row).size() != 2) return Error{ErrorKind::transient, "redis answers with half a row"};
    const std::string key = text_of(*row->element[0]);
    const auto fields = elements_of(*row->element[1]);
    if (key.starts_with("VLAN|")) out.entries.push_back({key + "|NULL", "present"});
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2)
      if (const std::string field = text_of(*fields[i]); field != kPresence)
        out.entries.push_back({key + "|" + field, from_native(field, text_of(*fields[i + 1]))});
  }
  std::sort(out.entries.begin(), out.entries.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  return out;
}

std::vector<std::string> command_of(const NativeEdit& edit) {
  const auto [row, field] = row_and_field(edit.key);
  if (!edit.value && field == kPresence) return {"DEL", row};
  if (!edit.value) return {"HDEL", row, field};
  return {"HSET", row, field, field == kPresence ? std::string(kPresence) : to_native(field, *edit.value)};
}

// Once EXEC is sent, only its answer shows what happened.
Result<Done> execute(RedisConnection& redis, const Call& call) {
  auto done = redis.ask({"EXEC"}, call);
  if (!done) return wrap("EXEC was sent", Error{ErrorKind::unknown_outcome, done.error().text()});
  if ((*done)->type == REDIS_REPLY_NIL)
    return Error{ErrorKind::conflict, "the configuration changed while it was being written"};
  // Redis does not roll back: a failed command does not undo the others.
  for (const redisReply* const one : elements_of(**done))
    if (one->type == REDIS_REPLY_ERROR) return Error{ErrorKind::unknown_outcome, text_of(*one)};
  return Done{};
}

class ConfigDb final : public NativeStore {
 public:
  explicit ConfigDb(std::string socket) : socket_(std::move(socket)) {}

  Result<NativeState> read(const Call& call) override {
    TRY(RedisConnection redis, RedisConnection::open(socket_, call));
    return read_all(redis, call);
  }

  Result<Done> edit(const NativeState& ground, const std::vector<NativeEdit>& edits,
                    const Call& call) override {
    TRY(RedisConnection redis, RedisConnection::open(socket_, call));
    std::vector<std::string> watch{"WATCH"};
    for (const NativeEntry& one : ground.entries) watch.push_back(row_and_field(one.key).first);
    for (const NativeEdit& one : edits) watch.push_back(row_and_field(one.key).first);
    TRY(const RedisReply watched, redis.ask(watch, call));
    TRY(const NativeState now, read_all(redis, call));
    if (!are_equal(ground, now))
      return Error{ErrorKind::conflict, "the configuration has changed since it was read"};
    TRY(const RedisReply began, redis.ask({"MULTI"}, call));
    for (const NativeEdit& one : edits) {
      TRY(const RedisReply queued, redis.ask(command_of(one), call));
    }
    if (auto ended = call.why_ended(std::chrono::steady_clock::now())) return *std::move(ended);
    return execute(redis, call);
  }

  bool can_hold(std::string_view text) const override {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~' && c != '|'; });
  }

  std::string words(const NativeEdit& edit) const override {
    std::string out = std::string("redis-cli -n ") + kConfigDb;
    for (const std::string& word : command_of(edit)) out += " '" + word + "'";
    return out;
  }

 private:
  const std::string socket_;
};

class KeyspaceWatch final : public Watcher {
 public:
  KeyspaceWatch(RedisConnection redis, std::string device)
      : redis_(std::move(redis)), device_(std::move(device)) {}
  int descriptor() const override { return redis_.descriptor(); }
  Result<Woken> drain() override {
    Woken out;
    for (;;) {
      TRY(const RedisReply event, redis_.reply_at_hand());
      if (!event) return out;
      out.devices = {device_};
    }
  }

 private:
  RedisConnection redis_;
  const std::string device_;
};

}  // namespace

void FreeRedis::operator()(redisContext* connection) const { redisFree(connection); }
void FreeRedis::operator()(redisReply* reply) const { freeReplyObject(reply); }

int RedisConnection::descriptor() const { return connection_->fd; }

Result<RedisConnection> RedisConnection::open(const std::string& socket, const Call& call) {
  if (auto ended = call.why_ended(std::chrono::steady_clock::now())) return *std::move(ended);
  RedisConnection out;
  out.connection_.reset(redisConnectUnixNonBlock(socket.c_str()));
  if (!out.connection_ || out.connection_->err != 0)
    return Error{ErrorKind::transient, "can't connect to redis at " + socket};
  ::fcntl(out.descriptor(), F_SETFD, FD_CLOEXEC);
  TRY(const RedisReply selected, out.ask({"SELECT", kConfigDb}, call));
  return out;
}

Result<RedisReply> RedisConnection::reply_at_hand() {
  for (;;) {
    void* reply = nullptr;
    if (redisGetReplyFromReader(connection_.get(), &reply) != REDIS_OK) break;
    if (reply != nullptr) return RedisReply(static_cast<redisReply*>(reply));
    pollfd more{descriptor(), POLLIN, 0};
    if (::poll(&more, 1, 0) == 0) return RedisReply();
    if (redisBufferRead(connection_.get()) != REDIS_OK) break;
  }
  return Error{ErrorKind::transient, std::string("redis: ") + connection_->errstr};
}

Result<RedisReply> RedisConnection::next_reply(const Call& call) {
  for (;;) {
    TRY(RedisReply reply, reply_at_hand());
    if (reply && reply->type == REDIS_REPLY_ERROR) return Error{ErrorKind::refused, text_of(*reply)};
    if (reply) return reply;
    TRY_DONE(wait_for(descriptor(), POLLIN, call));
  }
}

Result<RedisReply> RedisConnection::ask(const std::vector<std::string>& words, const Call& call) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  redisAppendCommandArgv(connection_.get(), static_cast<int>(words.size()), texts.data(), sizes.data());
  for (int sent = 0; sent == 0;) {
    TRY_DONE(wait_for(descriptor(), POLLOUT, call));
    if (redisBufferWrite(connection_.get(), &sent) != REDIS_OK)
      return Error{ErrorKind::transient, std::string("redis: ") + connection_->errstr};
  }
  return next_reply(call);
}

Attached make_redis_driver(const std::string& device, const std::string& socket) {
  Attached out = make_mapped_driver("redis-spike", device, kMap, std::make_unique<ConfigDb>(socket));
  out.watch = [device, socket]() -> Result<std::shared_ptr<Watcher>> {
    const Call call{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5), .stop = {}};
    TRY(RedisConnection redis, RedisConnection::open(socket, call));
    const std::string channel = std::string("__keyspace@") + kConfigDb + "__:*";
    TRY(const RedisReply subscribed, redis.ask({"PSUBSCRIBE", channel}, call));
    return std::shared_ptr<Watcher>(std::make_shared<KeyspaceWatch>(std::move(redis), device));
  };
  return out;
}

}  // namespace lockstep::contract
