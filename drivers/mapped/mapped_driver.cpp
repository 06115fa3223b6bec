#include "drivers/mapped/mapped_driver.hpp"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <stdexcept>

#include "drivers/mapped/map_table.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kHole = "{}";

// The entry's keys in a native key; none: it does not match the pattern. A placeholder ends where the text
// after it begins.
std::optional<std::vector<std::string_view>> keys_in(std::string_view key, std::string_view pattern) {
  std::vector<std::string_view> keys;
  for (std::size_t hole = pattern.find(kHole); hole != pattern.npos; hole = pattern.find(kHole)) {
    if (!key.starts_with(pattern.substr(0, hole))) return std::nullopt;
    key.remove_prefix(hole);
    pattern.remove_prefix(hole + kHole.size());
    const std::string_view next = pattern.substr(0, pattern.find(kHole));
    const std::size_t end =
        pattern == next ? (key.ends_with(next) ? key.size() - next.size() : key.npos) : key.find(next, 1);
    if (end == key.npos || end == 0) return std::nullopt;
    keys.push_back(key.substr(0, end));
    key.remove_prefix(end);
  }
  return key == pattern ? std::optional(keys) : std::nullopt;
}

// The path that a native entry maps to; none: it is not of this row, or its key is invalid.
std::optional<Path> path_of(const MapRow& map, std::string_view native) {
  const auto keys = keys_in(native, map.key);
  if (!keys) return std::nullopt;
  std::string text(schema_row(map.row).pattern);
  std::size_t at = 0;
  for (const std::string_view key : *keys) {
    at = text.find('*', at);
    text.replace(at, 1, key);
    at += key.size();
  }
  const auto path = Path::parse(text);
  return path ? std::optional(*path) : std::nullopt;
}

Value value_of(RowId id, std::string_view text) {
  const Row& row = schema_row(id);
  std::int64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  switch (row.type) {
    case EntryType::present: return Value::present();
    case EntryType::boolean:
      if (text == "yes" || text == "no") return Value::boolean(text == "yes");
      break;
    case EntryType::integer:
      if (error == std::errc() && end == last) return Value::integer(number);
      break;
    case EntryType::list: {
      std::vector<std::string> elements;
      for (std::size_t from = 0; from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        elements.emplace_back(text.substr(from, comma - from));
        from = comma + 1;
      }
      return row.is_set() ? Value::set(std::move(elements)) : Value::list(elements);
    }
    case EntryType::text:
    case EntryType::secret: break;
  }
  return Value::text(text);  // wrong form: shown unchanged, and so a difference
}

std::optional<std::string> text_of(Value value) {
  switch (value.kind()) {
    case Value::Kind::present: return "present";
    case Value::Kind::boolean: return value.as_boolean() ? "yes" : "no";
    case Value::Kind::integer: return std::to_string(value.as_integer());
    case Value::Kind::text: return std::string(value.as_text());
    case Value::Kind::list: {
      std::string text;
      for (const std::string_view element : value.as_list())
        text += (text.empty() ? "" : ",") + std::string(element);
      return text;
    }
    default: return std::nullopt;
  }
}

// libstdc++'s std::hash is stable across processes. Each field is preceded by its length, so that no two
// states have the same text.
std::string revision_of(const NativeState& state) {
  std::string all;
  const auto add = [&all](const std::string& field) { all += std::to_string(field.size()) + ':' + field; };
  add(state.boot_id);
  for (const NativeEntry& one : state.entries) {
    add(one.key);
    add(one.value);
  }
  return std::to_string(std::hash<std::string>()(all));
}

std::size_t count_of(std::string_view text, std::string_view what) {
  std::size_t out = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++out;
  return out;
}

// A table is part of a driver's source: a row that does not fit is a bug.
std::span<const MapRow> checked(std::span<const MapRow> map) {
  for (const MapRow& one : map)
    if (const std::string_view pattern = schema_row(one.row).pattern;
        count_of(one.key, kHole) != count_of(pattern, "*"))
      throw std::invalid_argument("'" + std::string(one.key) + "' needs one " + std::string(kHole) +
                                  " for each key of " + std::string(pattern));
  return map;
}

class MappedDriver : public Driver, public Preview {
 public:
  MappedDriver(std::string driver, std::string device, std::span<const MapRow> map,
               std::unique_ptr<NativeStore> store)
      : driver_(std::move(driver)),
        device_(std::move(device)),
        map_(checked(map)),
        store_(std::move(store)) {}

  Result<Traits> traits(const Call& call) override {
    if (auto ended = call.why_ended(std::chrono::steady_clock::now()))
      return wrap(device_, *std::move(ended));
    Traits out;
    out.driver = driver_;
    out.reads = rows_of(map_);
    out.writes = out.reads;
    out.atomic = true;
    return out;
  }

  Result<Observation> observe(const Scope& scope, std::string_view if_not, const Call& call) override {
    TRY(const NativeState state, read(call));
    Observation out;
    out.device = device_;
    out.when = std::chrono::steady_clock::now();
    out.boot_id = state.boot_id;
    out.revision = revision_of(state);
    if (!if_not.empty() && if_not == out.revision) return out;
    TreeBuilder tree;
    for (const NativeEntry& entry : state.entries)
      for (const MapRow& one : map_)
        if (const auto path = path_of(one, entry.key); path && scope.wants(one.row))
          tree.add(*path, value_of(one.row, entry.value));
    out.have = tree.build();
    return out;
  }

  Result<Receipt> apply(const ChangeSet& changes, const Guard& guard, const Call& call) override {
    const std::lock_guard lock(mutex_);
    TRY(const NativeState ground, admit(guard, call));
    Receipt receipt{guard.ticket, {}, {}};
    std::vector<NativeEdit> edits;
    bool refused = false;
    for (const Change& change : changes) {
      auto edit = edit_of(change);
      refused = refused || !edit;
      receipt.outcomes.push_back({change.path, edit ? std::nullopt : std::optional(std::move(edit.error()))});
      if (edit) edits.push_back(*std::move(edit));
    }
    for (Receipt::Outcome& one : receipt.outcomes)  // all or nothing
      if (refused && !one.error)
        one.error = Error{ErrorKind::cancelled, "not done, because another was refused"};
    if (!refused && !edits.empty()) TRY_DONE(store_->edit(ground, edits, call));
    return receipt;
  }

  Result<Done> settle(std::string_view, Settlement settlement, const Call&) override {
    if (settlement != Settlement::undo) return Done{};
    return Error{ErrorKind::unsupported, device_ + ": undo is a plan from what is to what was"};
  }

  std::vector<std::string> native(const ChangeSet& changes) const override {
    std::vector<std::string> out;
    for (const Change& change : changes) {
      const auto edit = edit_of(change);
      out.push_back(edit ? store_->words(*edit) : "! " + edit.error().text());
    }
    return out;
  }

 private:
  Result<NativeState> read(const Call& call) {
    if (call.stop.stop_requested()) return Error{ErrorKind::cancelled, device_ + ": asked to stop"};
    return store_->read(call);
  }

  // The actual state, if the guard allows writing to it.
  Result<NativeState> admit(const Guard& guard, const Call& call) {
    if (guard.undo_after) return Error{ErrorKind::unsupported, device_ + ": it can't roll back by itself"};
    if (guard.epoch < epoch_) return Error{ErrorKind::denied, device_ + ": a newer leader was here"};
    TRY(NativeState now, read(call));
    if (!guard.revision.empty() && guard.revision != revision_of(now))
      return Error{ErrorKind::conflict, device_ + " has changed since it was read"};
    epoch_ = guard.epoch;
    return now;
  }

  Result<NativeEdit> edit_of(const Change& change) const {
    const MapRow* const at = find_row(map_, change.path.row());
    if (at == nullptr)
      return Error{ErrorKind::unsupported, driver_ + " does not carry " + change.path.text()};
    NativeEdit edit{std::string(at->key), change.want ? text_of(change.want) : std::nullopt};
    std::size_t from = 0;  // text inserted for a key is not part of the pattern
    for (std::size_t i = 0; i < change.path.key_count(); ++i) {
      const std::string_view key = change.path.key(i);
      if (!store_->can_hold(key))
        return Error{ErrorKind::invalid_spec, change.path.text() + ": the device has no such names"};
      const std::size_t hole = edit.key.find(kHole, from);
      edit.key.replace(hole, kHole.size(), key);
      from = hole + key.size();
    }
    if (change.want && (!edit.value || !store_->can_hold(*edit.value)))
      return Error{ErrorKind::invalid_spec, change.path.text() + ": the device can't hold this value"};
    return edit;
  }

  const std::string driver_;
  const std::string device_;
  const std::span<const MapRow> map_;
  const std::unique_ptr<NativeStore> store_;
  std::mutex mutex_;  // guards epoch_, and the device between its read and its edit
  std::uint64_t epoch_ = 0;
};

}  // namespace

Attached make_mapped_driver(std::string driver, std::string device, std::span<const MapRow> map,
                            std::unique_ptr<NativeStore> store) {
  auto mapped = std::make_unique<MappedDriver>(std::move(driver), std::move(device), map, std::move(store));
  Attached out;
  out.preview = mapped.get();
  out.driver = std::move(mapped);
  return out;
}

}  // namespace lockstep
