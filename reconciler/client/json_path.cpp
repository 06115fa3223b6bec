#include "reconciler/client/json_path.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "reconciler/client/object_fields.hpp"
#include "specs/model/printable.hpp"

namespace lockstep::client {
namespace {

using Json = nlohmann::json;
using Path = JsonPath::Path;
using Selector = JsonPath::Selector;
using Part = JsonPath::Part;
using Values = std::vector<const Json*>;

Error wrong(const std::string& why) { return Error{ErrorKind::invalid_spec, "jsonpath: " + why}; }

Result<Values> follow(const Path& path, Values from, const Json& root);

const Json* field_of(const Json& value, const std::string& name) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(name);
  return found == value.end() ? nullptr : &*found;
}

// Itself and all in it, parents first.
void add_deep(const Json& value, Values& out) {
  out.push_back(&value);
  if (value.is_structured())
    for (const Json& part : value) add_deep(part, out);
}

Result<Done> add_slice(const Selector& slice, const Json& list, Values& out) {
  if (!list.is_array()) return wrong("[" + std::to_string(slice.from.value_or(0)) + "] of what is no list");
  const auto size = static_cast<std::int64_t>(list.size());
  const auto place = [size](std::int64_t at) { return at < 0 ? at + size : at; };
  if (slice.one) {
    const std::int64_t at = place(*slice.from);
    if (at < 0 || at >= size)
      return wrong("index " + std::to_string(*slice.from) + " of a list of " + std::to_string(size));
    out.push_back(&list[static_cast<std::size_t>(at)]);
    return Done{};
  }
  const std::int64_t first = std::max<std::int64_t>(0, place(slice.from.value_or(0)));
  const std::int64_t end = std::min(size, slice.to ? place(*slice.to) : size);
  for (std::int64_t at = first; at < end; at += std::min(slice.step, size))
    out.push_back(&list[static_cast<std::size_t>(at)]);
  return Done{};
}

template <class T>
bool compares(Selector::Test test, const T& left, const T& right) {
  switch (test) {
    case Selector::Test::equal: return left == right;
    case Selector::Test::unequal: return left != right;
    case Selector::Test::less: return left < right;
    case Selector::Test::at_most: return left <= right;
    case Selector::Test::more: return left > right;
    case Selector::Test::at_least: return left >= right;
    case Selector::Test::exists: break;
  }
  return false;
}

// Null: the path leads nowhere. `literal`: room for the value of one.
Result<const Json*> side_of(const Path& path, const Json& item, const Json& root, Json& literal) {
  if (path.size() == 1 && path[0].kind == Selector::Kind::literal) {
    literal = Json::parse(path[0].name);
    return &literal;
  }
  TRY(const Values found, follow(path, {&item}, root));
  if (found.size() > 1) return wrong("a comparison with several values");
  return found.empty() ? nullptr : found.front();
}

Result<bool> holds(const Selector& filter, const Json& item, const Json& root) {
  if (filter.test == Selector::Test::exists) {
    TRY(const Values found, follow(filter.of[0], {&item}, root));
    return !found.empty();
  }
  std::array<Json, 2> literals;
  std::array<const Json*, 2> sides{};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    TRY(sides[i], side_of(filter.of[i], item, root, literals[i]));
    if (sides[i] == nullptr) return false;
  }
  const Json& left = *sides[0];
  const Json& right = *sides[1];
  const bool ordered = filter.test != Selector::Test::equal && filter.test != Selector::Test::unequal;
  if ((left.is_number() && right.is_number()) || (left.is_string() && right.is_string()) ||
      (left.is_boolean() && right.is_boolean() && !ordered))
    return compares(filter.test, left, right);
  return wrong("a comparison of " + std::string(left.type_name()) + " with " + right.type_name());
}

Result<Done> add_selected(const Selector& by, const Json& value, const Json& root, Values& out) {
  switch (by.kind) {
    case Selector::Kind::root: out.push_back(&root); break;
    case Selector::Kind::current: out.push_back(&value); break;
    case Selector::Kind::deep: add_deep(value, out); break;
    case Selector::Kind::field:
      if (const Json* const found = field_of(value, by.name); found != nullptr) out.push_back(found);
      break;
    case Selector::Kind::all:
      if (value.is_structured())
        for (const Json& part : value) out.push_back(&part);
      break;
    case Selector::Kind::slice: return add_slice(by, value, out);
    case Selector::Kind::filter:
      if (!value.is_array()) return wrong("a filter of what is no list");
      for (const Json& item : value) {
        TRY(const bool is_chosen, holds(by, item, root));
        if (is_chosen) out.push_back(&item);
      }
      break;
    case Selector::Kind::either:  // of all values at once: follow()
    case Selector::Kind::literal: break;
  }
  return Done{};
}

Result<Values> follow(const Path& path, Values from, const Json& root) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Selector& by = path[i];
    Values next;
    if (by.kind == Selector::Kind::either) {
      for (const Path& one : by.of) {
        TRY(const Values found, follow(one, from, root));
        next.insert(next.end(), found.begin(), found.end());
      }
    } else {
      // After `..`, what has no such element is passed over.
      const bool lenient = i > 0 && path[i - 1].kind == Selector::Kind::deep;
      for (const Json* const value : from) {
        const Result<Done> added = add_selected(by, *value, root, next);
        if (!added && !lenient) return added.error();
      }
    }
    from = std::move(next);
  }
  return from;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return printable(value.get_ref<const std::string&>());
  return one_line(value);
}

Result<Done> print_parts(const std::vector<Part>& parts, const Json& current, const Json& root,
                         std::string& out) {
  for (const Part& part : parts) {
    if (part.path.empty()) {
      out += part.text;
      continue;
    }
    TRY(const Values found, follow(part.path, {&current}, root));
    if (!part.is_range) {
      for (std::size_t i = 0; i < found.size(); ++i) out += (i > 0 ? " " : "") + text_of(*found[i]);
      continue;
    }
    for (const Json* const one : found) TRY_DONE(print_parts(part.body, *one, root, out));
  }
  return Done{};
}

}  // namespace

Result<JsonPath> JsonPath::parse(std::string_view text) {
  JsonPath out;
  TRY(out.parts_, parse_json_path(text));
  if (std::ranges::all_of(out.parts_, [](const Part& one) { return one.path.empty() && !one.is_range; }) &&
      text.find('{') == text.npos)
    return wrong("nothing is in {}: write {.metadata.name}, not .metadata.name");
  return out;
}

Result<JsonPath> JsonPath::parse_path(std::string_view text) {
  std::string whole(text);
  if (!whole.starts_with('{')) {
    if (!whole.starts_with('.') && !whole.starts_with('[') && !whole.starts_with('$')) whole.insert(0, ".");
    whole = "{" + whole + "}";
  }
  JsonPath out;
  TRY(out.parts_, parse_json_path(whole));
  if (out.parts_.size() != 1 || out.parts_[0].path.empty() || out.parts_[0].is_range)
    return wrong("'" + printable(text) + "' is not one path such as .metadata.name");
  return out;
}

Result<std::string> JsonPath::print(const nlohmann::json& document) const {
  std::string out;
  TRY_DONE(print_parts(parts_, document, document, out));
  return out;
}

Result<std::vector<const nlohmann::json*>> JsonPath::find(const nlohmann::json& document) const {
  return follow(parts_[0].path, {&document}, document);
}

}  // namespace lockstep::client
