#include "examples/driver/map.hpp"

#include <algorithm>
#include <charconv>

#include "specs/model/schema_rows.hpp"

namespace lockstep::example {
namespace {

struct Entry {
  RowId row;
  std::string_view before;  // the key is before + the row's key + after
  std::string_view after;
};
constexpr Entry kMap[] = {{row("interface[*]/mtu"), "port.", ".mtu"},
                          {row("interface[*]/admin"), "port.", ".enabled"},
                          {row("service[*]"), "service.", ""}};

// A blank or a line's end inside a word would write another line than the one asked for.
bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

Value read_value(LeafType type, std::string_view word) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (type == LeafType::integer && error == std::errc() && end == word.data() + word.size())
    return Value::integer(number);
  if (type == LeafType::boolean && (word == "yes" || word == "no")) return Value::boolean(word == "yes");
  return Value::text(word);  // of the wrong form: shown as it is, and so a difference
}

}  // namespace

std::vector<RowId> rows() {
  std::vector<RowId> out;
  for (const Entry& one : kMap) out.push_back(one.row);
  return out;
}

std::optional<Leaf> leaf_of(std::string_view line) {
  const std::size_t blank = line.find(' ');
  if (blank == line.npos || !is_word(line.substr(blank + 1))) return std::nullopt;
  const std::string_view key = line.substr(0, blank);
  for (const Entry& one : kMap) {
    const std::size_t around = one.before.size() + one.after.size();
    if (key.size() <= around || !key.starts_with(one.before) || !key.ends_with(one.after)) continue;
    const std::string_view name = key.substr(one.before.size(), key.size() - around);
    return Leaf{Path(one.row, {name}), 0, read_value(schema_row(one.row).type, line.substr(blank + 1))};
  }
  return std::nullopt;
}

Result<std::string> key_of(Path path) {
  for (const Entry& one : kMap) {
    if (one.row != path.row()) continue;
    if (!is_word(path.key(0))) return Error{ErrorKind::invalid_spec, path.text() + ": a name is one word"};
    return std::string(one.before) + std::string(path.key(0)) + std::string(one.after);
  }
  return Error{ErrorKind::unsupported, "the example driver does not set " + path.text()};
}

Result<std::string> line_of(const Change& change) {
  TRY(const std::string key, key_of(change.path));
  switch (change.want.kind()) {
    case Value::Kind::boolean: return key + (change.want.as_boolean() ? " yes" : " no");
    case Value::Kind::integer: return key + " " + std::to_string(change.want.as_integer());
    default:
      if (change.want.kind() == Value::Kind::text && is_word(change.want.as_text()))
        return key + " " + std::string(change.want.as_text());
      return Error{ErrorKind::invalid_spec, change.path.text() + ": the value is not one word"};
  }
}

}  // namespace lockstep::example
