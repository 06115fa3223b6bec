#include "reconciler/api/selectors.hpp"

#include <algorithm>

#include "specs/model/printable.hpp"

namespace lockstep::api {
namespace {

// Of a label's value (Kubernetes, "Labels and selectors"): 63; of its key: prefix of 253, slash, name of 63.
// Values of fields are names, as long as those of devices may be.
constexpr std::size_t kWordMax = 253 + 1 + 63;

Error wrong_selector(const std::string& what) { return Error{ErrorKind::invalid_spec, what}; }

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string quoted_word(std::string_view text) { return "'" + printable(text.substr(0, kWordMax)) + "'"; }

Result<std::string> word_in(std::string_view text, bool may_be_empty, const char* what) {
  const std::string_view word = trimmed(text);
  if (word.empty() && !may_be_empty) return wrong_selector(std::string(what) + ": a name is missing");
  if (word.size() > kWordMax || word.find_first_of("=!(), ") != word.npos)
    return wrong_selector(std::string(what) + ": " + quoted_word(word) + " is not a name or value");
  return std::string(word);
}

// Where the requirement that begins here ends: at the next comma outside of parentheses.
std::size_t end_of_requirement(std::string_view text) {
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') inside = true;
    if (text[i] == ')') inside = false;
    if (text[i] == ',' && !inside) return i;
  }
  return text.size();
}

Result<std::vector<std::string>> values_in(std::string_view text) {
  const std::string_view list = trimmed(text);
  if (list.size() < 2 || list.front() != '(' || list.back() != ')')
    return wrong_selector("labelSelector: the values of 'in' and 'notin' must be in parentheses");
  std::vector<std::string> out;
  std::string_view rest = list.substr(1, list.size() - 2);
  for (bool last = false; !last;) {
    const std::size_t comma = rest.find(',');
    last = comma == rest.npos;
    TRY(std::string value, word_in(rest.substr(0, comma), true, "labelSelector"));
    out.push_back(std::move(value));
    if (!last) rest.remove_prefix(comma + 1);
  }
  return out;
}

struct Equality {
  std::string key;
  bool equal = true;
  std::string value;
};
Result<Equality> equality_of(std::string_view text, std::size_t sign, const char* what) {
  Equality out;
  std::string_view key = text.substr(0, sign);
  std::string_view value = text.substr(sign + 1);
  if (key.ends_with('!')) {
    out.equal = false;
    key.remove_suffix(1);
  } else if (value.starts_with('=')) {
    value.remove_prefix(1);
  }
  TRY(out.key, word_in(key, false, what));
  TRY(out.value, word_in(value, true, what));
  return out;
}

std::string fields_of(const KindRow& row) {
  std::string out = "metadata.name";
  for (const std::string_view field : row.fields)
    if (!field.empty()) out.append(", ").append(field);
  return out;
}

}  // namespace

Result<Done> Selector::add(Requirement one) {
  if (requirements_.size() >= kRequirementsMax)
    return wrong_selector("more than " + std::to_string(kRequirementsMax) + " requirements in selectors");
  requirements_.push_back(std::move(one));
  return Done{};
}

Result<Done> Selector::add_labels(std::string_view text) {
  while (!trimmed(text).empty()) {
    const std::size_t end = end_of_requirement(text);
    const std::string_view one = trimmed(text.substr(0, end));
    text = end < text.size() ? text.substr(end + 1) : std::string_view();
    Requirement made;
    const std::size_t space = one.find(' ');
    const std::string_view after = space == one.npos ? std::string_view() : trimmed(one.substr(space));
    if (after.starts_with("in ") || after.starts_with("in(") || after.starts_with("notin")) {
      TRY(made.key, word_in(one.substr(0, space), false, "labelSelector"));
      made.test = after.starts_with("in") ? Test::in : Test::not_in;
      TRY(made.values, values_in(after.substr(made.test == Test::in ? 2 : 5)));
    } else if (const std::size_t sign = one.find('='); sign != one.npos) {
      TRY(Equality equality, equality_of(one, sign, "labelSelector"));
      made.key = std::move(equality.key);
      made.test = equality.equal ? Test::in : Test::not_in;
      made.values.push_back(std::move(equality.value));
    } else {
      made.test = one.starts_with('!') ? Test::absent : Test::exists;
      TRY(made.key, word_in(made.test == Test::absent ? one.substr(1) : one, false, "labelSelector"));
    }
    TRY_DONE(add(std::move(made)));
  }
  return Done{};
}

Result<Done> Selector::add_fields(std::string_view text, Kind kind) {
  const KindRow& row = row_of(kind);
  while (!trimmed(text).empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, end);
    text = end < text.size() ? text.substr(end + 1) : std::string_view();
    const std::size_t sign = one.find('=');
    if (sign == one.npos) return wrong_selector("fieldSelector: " + quoted_word(one) + " has no =, == or !=");
    TRY(Equality equality, equality_of(one, sign, "fieldSelector"));
    if (equality.key != "metadata.name" && std::ranges::find(row.fields, equality.key) == row.fields.end())
      return wrong_selector("fieldSelector: " + quoted_word(equality.key) + " is not a field of " +
                            std::string(row.name) + " that it supports: " + fields_of(row));
    TRY_DONE(add({.field = true,
                  .key = std::move(equality.key),
                  .test = equality.equal ? Test::in : Test::not_in,
                  .values = {std::move(equality.value)}}));
  }
  return Done{};
}

bool Selector::selects(const ApiObject& object) const {
  return std::ranges::all_of(requirements_, [&](const Requirement& one) {
    const auto& values = one.field ? object.fields : object.labels;
    const auto found = values.find(one.key);
    const bool has = found != values.end();
    switch (one.test) {
      case Test::exists: return has;
      case Test::absent: return !has;
      case Test::in: return has && std::ranges::find(one.values, found->second) != one.values.end();
      case Test::not_in: return !has || std::ranges::find(one.values, found->second) == one.values.end();
    }
    return false;
  });
}

void Selector::require_name(const std::string& name) {
  requirements_.push_back({.field = true, .key = "metadata.name", .test = Test::in, .values = {name}});
}

}  // namespace lockstep::api
