// Messages of the wire for its tests: an example of each, random ones, and what a message holds as text.
#pragma once

#include <cctype>
#include <string>
#include <vector>

#include "drivers/agent/wire.hpp"
#include "drivers/runtime/random.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep::wire {

// Every field of a message, without the code under test.
class HeldText {
 public:
  const std::string& text() const { return out_; }
  void add(const std::string& name, std::string_view value) {
    out_ += name + "=";
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      const bool plain = byte > ' ' && byte < 0x7f && c != '%';
      out_ += plain ? std::string(1, c) : "%" + std::to_string(byte);
    }
    out_ += '\n';
  }
  void add(const std::string& name, std::uint64_t value) { add(name, std::to_string(value)); }
  void add(const std::string& name, Value value) {
    const int kind = static_cast<int>(value.kind());
    switch (value.kind()) {
      case Value::Kind::boolean: return add(name, std::to_string(kind) + (value.as_boolean() ? "yes" : "no"));
      case Value::Kind::integer:
        return add(name, std::to_string(kind) + " " + std::to_string(value.as_integer()));
      default: return add(name, std::to_string(kind) + " " + std::string(value.as_text()));
    }
  }
  void add(const std::string& name, const ChangeSet& changes) {
    for (const Change& one : changes) {
      add(name + ".path", one.path.text());
      add(name + ".was", one.was);
      add(name + ".want", one.want);
    }
  }
  void add(const std::string& name, const std::vector<std::string>& texts) {
    for (const std::string& one : texts) add(name, one);
  }
  void add(const std::string& name, const std::vector<RowId>& rows) {
    for (const RowId one : rows) add(name, schema_row(one).pattern);
  }
  void add(const std::string& name, const Error& error) {
    add(name + ".kind", to_string(error.kind));
    add(name + ".what", error.what);
    if (error.cause) add(name + ".cause", *error.cause);
  }

 private:
  std::string out_;
};

inline std::string held(const Hello& one) {
  HeldText out;
  out.add("protocol", one.protocol);
  out.add("version", one.version);
  out.add("cluster", one.cluster);
  out.add("device", one.device);
  out.add("boot", one.boot_id);
  out.add("machine", one.machine_id);
  for (const Traits& traits : one.drivers) {
    out.add("driver", traits.driver);
    out.add("reads", traits.reads);
    out.add("writes", traits.writes);
    out.add("atomic", static_cast<std::uint64_t>(traits.atomic));
    out.add("undoes", static_cast<std::uint64_t>(traits.undoes_itself));
  }
  out.add("epoch", one.epoch);
  out.add("leader", one.leader);
  out.add("armed", one.armed);
  out.add("hold", one.hold);
  out.add("failed", one.failed_undo);
  return out.text();
}

inline std::string held(const ObserveRequest& one) {
  HeldText out;
  out.add("driver", one.driver);
  out.add("rows", one.scope.rows);
  for (const Path path : one.scope.named) out.add("named", path.text());
  out.add("if_not", one.if_not);
  out.add("epoch", one.epoch);
  out.add("leader", one.leader);
  return out.text();
}

inline std::string held(const ApplyRequest& one) {
  HeldText out;
  out.add("driver", one.driver);
  out.add("changes", one.changes);
  out.add("ticket", one.guard.ticket);
  out.add("revision", one.guard.revision);
  out.add("epoch", one.guard.epoch);
  out.add("leader", one.leader);
  if (one.guard.undo_after) out.add("after", static_cast<std::uint64_t>(one.guard.undo_after->count()));
  out.add("transaction", one.guard.transaction);
  out.add("undo", one.guard.undo);
  return out.text();
}

inline std::string held(const SettleRequest& one) {
  HeldText out;
  out.add("transaction", one.transaction);
  out.add("settlement", static_cast<std::uint64_t>(one.settlement));
  out.add("epoch", one.epoch);
  out.add("leader", one.leader);
  return out.text();
}

inline std::string held(const RemedyRequest& one) {
  HeldText out;
  out.add("driver", one.driver);
  out.add("effects", one.effects);
  out.add("epoch", one.epoch);
  out.add("leader", one.leader);
  return out.text();
}

inline std::string held(const UsageRequest& one) {
  HeldText out;
  out.add("driver", one.driver);
  out.add("entry", one.entry.text());
  return out.text();
}

inline std::string held(const Observation& one) {
  HeldText out;
  out.add("device", one.device);
  for (const Entry& entry : one.have.entries()) out.add(entry.path.text(), entry.value);
  out.add("boot", one.boot_id);
  for (const auto& [name, fact] : one.facts) out.add("fact " + name, fact);
  out.add("revision", one.revision);
  for (const Unread& unread : one.unread) {
    out.add("unread", std::vector<RowId>{unread.row});
    out.add("keys", unread.keys);
    out.add("why", unread.why);
  }
  for (const Incapable& incapable : one.incapable) {
    out.add("incapable", std::vector<RowId>{incapable.row});
    out.add("keys", incapable.keys);
    out.add("reason", incapable.reason);
    out.add("manual", static_cast<std::uint64_t>(incapable.by_hand));
  }
  out.add("notes", one.notes);
  out.add("armed", one.armed);
  return out.text();
}

inline std::string held(const Receipt& one) {
  HeldText out;
  out.add("ticket", one.ticket);
  for (const Receipt::Outcome& outcome : one.outcomes) {
    out.add("path", outcome.path.text());
    if (outcome.error) out.add("error", *outcome.error);
  }
  out.add("notes", one.notes);
  return out.text();
}

inline std::string held(const Usage::Use& one) {
  HeldText out;
  out.add("what", one.what);
  out.add("open", one.open);
  if (one.passed) out.add("passed", *one.passed);
  return out.text();
}

inline std::string held(const Woken& one) {
  HeldText out;
  out.add("all", static_cast<std::uint64_t>(one.all));
  out.add("devices", one.devices);
  return out.text();
}

inline std::string held(const Error& one) {
  HeldText out;
  out.add("error", one);
  return out.text();
}

inline std::string held(Done) { return ""; }

// An error as a message: Result can't hold one as its value.
struct ErrorBody {
  Error error;
};
inline std::string encode(const ErrorBody& body) { return encode(body.error); }
inline std::string held(const ErrorBody& body) { return held(body.error); }
// Random messages: texts that JSON has to escape, every kind of value at every row, keys of any bytes.
class AnyMessage {
 public:
  explicit AnyMessage(std::uint64_t seed) : random_(seed) {}

  std::string text() {
    static const std::vector<std::string> kOdd{"",
                                               "gpu1",
                                               "two words",
                                               "a \"quoted\" \\ text: {},[]",
                                               "line\nbreak\ttab",
                                               std::string("nul\0in it", 9),
                                               "\x1b[31mred",
                                               "z\xc3\xbcrich \xe2\x82\xac \xf0\x9f\x98\x80",
                                               "\xe2\x80\xae",
                                               std::string(3000, 'x')};
    return kOdd[random_.below(kOdd.size())];
  }
  std::string bytes() {
    std::string out;
    const std::uint64_t size = random_.below(6);
    for (std::uint64_t i = 0; i < size; ++i) out += static_cast<char>(random_.below(256));
    return random_.chance(0.5) ? out : text();
  }
  std::string key() {
    std::string out = bytes();
    std::erase_if(out, [](char c) { return c == '[' || c == ']'; });
    return out.empty() ? "rail0" : out;
  }
  RowId row() { return static_cast<RowId>(random_.below(kSchema.size())); }
  Path path() {
    std::string text;
    for (const char c : schema_row(row()).pattern) text += c == '*' ? key() : std::string(1, c);
    return *Path::parse(text);
  }
  std::vector<std::string> elements() {
    std::vector<std::string> out;
    const std::uint64_t size = random_.below(4);
    for (std::uint64_t i = 0; i < size; ++i) {
      std::string one = bytes();
      std::erase(one, '\n');
      out.push_back(std::move(one));
    }
    return out;
  }
  Value value() {
    switch (random_.below(9)) {
      case 0: return {};
      case 1: return Value::present();
      case 2: return Value::boolean(random_.chance(0.5));
      case 3: return Value::integer(static_cast<std::int64_t>(random_.next()));
      case 4: return Value::integer(static_cast<std::int64_t>(random_.below(10'000)) - 5'000);
      case 5: return Value::text(bytes());
      case 6: return random_.chance(0.5) ? Value::list(elements()) : Value::set(elements());
      case 7: return Value::secret(bytes());
      default: return Value::reference(bytes());
    }
  }
  ChangeSet changes() {
    ChangeSet out;
    const std::uint64_t size = random_.below(5);
    for (std::uint64_t i = 0; i < size; ++i) out.push_back({path(), value(), value(), 0});
    return out;
  }
  std::vector<RowId> rows() {
    std::vector<RowId> out;
    const std::uint64_t size = random_.below(4);
    for (std::uint64_t i = 0; i < size; ++i) out.push_back(row());
    return out;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> out;
    const std::uint64_t size = random_.below(3);
    for (std::uint64_t i = 0; i < size; ++i) out.push_back(text());
    return out;
  }
  Error error(int causes = 3) {
    Error out{static_cast<ErrorKind>(random_.below(8)), text()};
    if (causes > 0 && random_.chance(0.5)) out.cause = std::make_shared<const Error>(error(causes - 1));
    return out;
  }
  bool flag() { return random_.chance(0.5); }
  std::uint64_t number() { return random_.chance(0.5) ? random_.next() : random_.below(10); }

  Hello hello() {
    Hello out;
    out.protocol = static_cast<std::uint32_t>(random_.next());
    for (std::string* const one : {&out.version, &out.cluster, &out.device, &out.boot_id, &out.machine_id,
                                   &out.leader, &out.armed, &out.hold, &out.failed_undo})
      *one = text();
    out.epoch = number();
    for (std::uint64_t i = random_.below(3); i > 0; --i)
      out.drivers.push_back({text(), rows(), rows(), flag(), flag()});
    return out;
  }
  ObserveRequest observe() {
    ObserveRequest out{text(), {rows(), {}}, text(), number(), text()};
    for (std::uint64_t i = random_.below(4); i > 0; --i) out.scope.named.push_back(path());
    return out;
  }
  ApplyRequest apply() {
    ApplyRequest out{text(), changes(), {}, text()};
    out.guard = {.ticket = text(),
                 .revision = text(),
                 .epoch = number(),
                 .undo_after = std::nullopt,
                 .transaction = text(),
                 .undo = changes()};
    if (flag()) out.guard.undo_after = std::chrono::milliseconds(random_.below(1U << 31U));
    return out;
  }
  SettleRequest settle() { return {text(), static_cast<Settlement>(random_.below(3)), number(), text()}; }
  RemedyRequest remedy() { return {text(), changes(), number(), text()}; }
  UsageRequest usage() { return {text(), path()}; }
  Observation observation() {
    Observation out;
    for (std::string* const one : {&out.device, &out.boot_id, &out.revision, &out.armed}) *one = text();
    TreeBuilder builder;
    for (std::uint64_t i = random_.below(6); i > 0; --i) builder.add(path(), value());
    out.have = builder.build();
    for (std::uint64_t i = random_.below(3); i > 0; --i) out.unread.push_back({row(), {key()}, error()});
    for (std::uint64_t i = random_.below(3); i > 0; --i) out.incapable.push_back({row(), {}, text(), flag()});
    out.notes = texts();
    for (std::uint64_t i = random_.below(3); i > 0; --i)
      if (std::string one = text(); one.size() < 1000) out.facts["fact" + std::to_string(i)] = std::move(one);
    return out;
  }
  Receipt receipt() {
    Receipt out{text(), {}, texts()};
    for (std::uint64_t i = random_.below(4); i > 0; --i) {
      out.outcomes.push_back({path(), std::nullopt});
      if (flag()) out.outcomes.back().error = error();
    }
    return out;
  }
  Usage::Use use() {
    Usage::Use out{text(), number()};
    if (flag()) out.passed = number();
    return out;
  }
  Woken woken() { return {flag(), texts()}; }

 private:
  Random random_;
};

}  // namespace lockstep::wire
