#include "drivers/sonic/redis_protocol.hpp"

#include <hiredis/hiredis.h>

#include <array>
#include <new>
#include <utility>

#include "specs/model/printable.hpp"

namespace lockstep::sonic {
namespace {

constexpr std::size_t kShownWordBytes = 300;  // of Redis' words in an error

// What the replies cost since begin(). hiredis calls the functions below for each value.
struct ReplyCost {
  std::size_t bytes = 0;
  std::size_t values = 0;
};

// False: the bound is exceeded.
bool charge(const redisReadTask* task, std::size_t values) {
  auto& cost = *static_cast<ReplyCost*>(task->privdata);
  if (values > kReplyValues - cost.values) return false;
  cost.values += values;
  return true;
}

// Where hiredis wants the value: the root, or an element of the array above, which has been charged.
RedisReply* value_place(const redisReadTask* task) {
  if (task->parent == nullptr) return charge(task, 1) ? new RedisReply() : nullptr;
  return &static_cast<RedisReply*>(task->parent->obj)->elements[static_cast<std::size_t>(task->idx)];
}

void* create_string(const redisReadTask* task, char* text, std::size_t length) {
  RedisReply* const reply = value_place(task);
  if (reply == nullptr) return nullptr;
  reply->kind = task->type == REDIS_REPLY_ERROR ? RedisReply::Kind::error : RedisReply::Kind::text;
  reply->text.assign(text, length);
  return reply;
}

void* create_array(const redisReadTask* task, int elements) {
  RedisReply* const reply = value_place(task);
  if (reply == nullptr) return nullptr;
  reply->kind = RedisReply::Kind::array;
  if (elements < 0 || !charge(task, static_cast<std::size_t>(elements))) {
    if (task->parent == nullptr) delete reply;
    return nullptr;
  }
  reply->elements.resize(static_cast<std::size_t>(elements));
  return reply;
}

void* create_integer(const redisReadTask* task, long long value) {
  RedisReply* const reply = value_place(task);
  if (reply == nullptr) return nullptr;
  reply->kind = RedisReply::Kind::integer;
  reply->integer = value;
  return reply;
}

void* create_nil(const redisReadTask* task) { return value_place(task); }

// hiredis frees whole replies only.
void free_reply(void* reply) { delete static_cast<RedisReply*>(reply); }

redisReplyObjectFunctions kCreate{create_string, create_array, create_integer, create_nil, free_reply};

struct Advice {
  std::string_view code;
  ErrorKind kind;
  std::string_view what_to_do;
};

// The codes of Redis 7.0 (server.c, createSharedObjects) that something other than a bug causes.
constexpr std::array kAdvice{
    Advice{"NOAUTH", ErrorKind::denied, "give the password of this Redis"},
    Advice{"WRONGPASS", ErrorKind::denied, "correct the user or the password"},
    Advice{"NOPERM", ErrorKind::denied, "allow the command in the ACL of this user of Redis"},
    Advice{"DENIED", ErrorKind::denied, "connect over the unix socket, or set a password in Redis"},
    Advice{"READONLY", ErrorKind::refused, "this Redis is a replica: write to its primary"},
    Advice{
        "MISCONF", ErrorKind::refused,
        "Redis cannot save its data, which mostly is a full or missing disk: make room, and see Redis' log"},
    Advice{"OOM", ErrorKind::refused,
           "Redis has reached its maxmemory: find what fills it, or raise the limit"},
    Advice{"NOREPLICAS", ErrorKind::refused, "Redis waits for replicas: see min-replicas-to-write"},
    Advice{"LOADING", ErrorKind::transient, {}},
    Advice{"BUSY", ErrorKind::transient, {}},
    Advice{"MASTERDOWN", ErrorKind::transient, {}},
    Advice{"TRYAGAIN", ErrorKind::transient, {}},
};

// Before Redis 6 a wrong password is "ERR invalid password", and too many clients are "ERR max number ...".
Advice advice_of(std::string_view words) {
  const std::string_view code = words.substr(0, words.find(' '));
  for (const Advice& one : kAdvice)
    if (one.code == code) return one;
  if (words.starts_with("ERR invalid password")) return kAdvice[1];
  if (words.starts_with("ERR max number of clients")) return {code, ErrorKind::transient, {}};
  return {code, ErrorKind::refused, {}};
}

}  // namespace

struct RedisReader::Parser {
  Parser() : reader(redisReaderCreateWithFunctions(&kCreate)) {
    if (reader == nullptr) throw std::bad_alloc();
    reader->privdata = &cost;  // its macro does not compile as C++
  }
  ~Parser() { redisReaderFree(reader); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  std::string_view unread() const { return {reader->buf + reader->pos, reader->len - reader->pos}; }

  ReplyCost cost;
  redisReader* reader;
};

RedisReader::RedisReader() : parser_(std::make_unique<Parser>()) {}
RedisReader::~RedisReader() = default;
RedisReader::RedisReader(RedisReader&&) noexcept = default;
RedisReader& RedisReader::operator=(RedisReader&&) noexcept = default;

std::string redis_bytes(const RedisCommand& command) {
  std::vector<const char*> words;
  std::vector<std::size_t> lengths;
  for (const std::string& word : command) {
    words.push_back(word.data());
    lengths.push_back(word.size());
  }
  char* formatted = nullptr;
  const int length =
      ::redisFormatCommandArgv(&formatted, static_cast<int>(command.size()), words.data(), lengths.data());
  if (length < 0) throw std::bad_alloc();
  std::string bytes(formatted, static_cast<std::size_t>(length));
  ::redisFreeCommand(formatted);
  return bytes;
}

void RedisReader::begin() { parser_->cost = {}; }

Result<Done> RedisReader::feed(std::string_view bytes) {
  parser_->cost.bytes += bytes.size();
  if (parser_->cost.bytes > kReplyBytes) return Error{ErrorKind::transient, "replies of more than 64 MiB"};
  if (::redisReaderFeed(parser_->reader, bytes.data(), bytes.size()) != REDIS_OK)
    return Error{ErrorKind::transient, "not a reply of Redis: " + printable(parser_->reader->errstr)};
  return Done{};
}

Result<std::optional<RedisReply>> RedisReader::next() {
  void* complete = nullptr;
  if (::redisReaderGetReply(parser_->reader, &complete) != REDIS_OK) {
    if (parser_->reader->err == REDIS_ERR_OOM)
      return Error{ErrorKind::transient, "replies of more than a million values"};
    return Error{ErrorKind::transient, "not a reply of Redis: " + printable(parser_->reader->errstr)};
  }
  if (complete != nullptr) {
    const std::unique_ptr<RedisReply> reply(static_cast<RedisReply*>(complete));
    return std::optional<RedisReply>(std::move(*reply));
  }
  // hiredis searches a line that has not ended from its beginning, each time that bytes come.
  const std::string_view unread = parser_->unread();
  if (unread.size() > kLineBytes && unread.substr(0, kLineBytes).find('\n') == unread.npos)
    return Error{ErrorKind::transient, "not a reply of Redis: a line of more than 64 KiB"};
  return std::optional<RedisReply>();
}

bool RedisReader::has_bytes() const {
  const redisReader& reader = *parser_->reader;
  const bool has_begun = reader.ridx >= 0 && reader.rstack[0].type >= 0;  // -1: no byte of a reply yet
  return has_begun || !parser_->unread().empty();
}

std::optional<Error> redis_error(const std::string& what, const RedisReply& reply) {
  if (!reply.is_error()) return std::nullopt;
  std::string_view words = reply.text;
  // An error of EXEC says why it has discarded the transaction.
  constexpr std::string_view kDiscarded = "EXECABORT Transaction discarded because of: ";
  if (words.starts_with(kDiscarded)) words.remove_prefix(kDiscarded.size());
  // "unknown command 'HSET', with args beginning with: ...": arguments are values, or a password.
  words = words.substr(0, words.find(", with args"));
  const Advice advice = advice_of(words);
  std::string text = what + ": Redis: " + printable(words, kShownWordBytes);
  while (text.ends_with('.')) text.pop_back();
  if (!advice.what_to_do.empty()) text.append(" (").append(advice.what_to_do).append(")");
  return Error{advice.kind, std::move(text)};
}

Result<RedisHash> redis_hash_in(const std::string& what, const RedisReply& reply) {
  if (auto error = redis_error(what, reply)) return *std::move(error);
  const Error not_redis{ErrorKind::transient, what + ": not the reply of Redis to this command"};
  const auto& parts = reply.elements;
  if (reply.kind != RedisReply::Kind::array || parts.size() % 2 != 0) return not_redis;
  RedisHash hash;
  for (std::size_t i = 0; i < parts.size(); i += 2) {
    if (parts[i].kind != RedisReply::Kind::text || parts[i + 1].kind != RedisReply::Kind::text)
      return not_redis;
    hash.emplace(parts[i].text, parts[i + 1].text);
  }
  return hash;
}

Result<std::string> run_id_in(const RedisReply& info) {
  if (auto error = redis_error("INFO server", info)) return *std::move(error);
  constexpr std::string_view kName = "\nrun_id:";
  const std::size_t at = info.text.find(kName);
  if (info.kind != RedisReply::Kind::text || at == info.text.npos)
    return Error{ErrorKind::transient, "INFO server: not the reply of Redis to this command"};
  const std::size_t from = at + kName.size();
  return info.text.substr(from, info.text.find_first_of("\r\n", from) - from);
}

}  // namespace lockstep::sonic
