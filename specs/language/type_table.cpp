#include "specs/language/type_table.hpp"

#include <algorithm>

#include "specs/language/codes.hpp"
#include "specs/language/idle_fields.hpp"
#include "specs/model/near_miss.hpp"

namespace lockstep {
namespace {

struct Slot {
  const Field* field;
  void* object;
  bool seen;
};

std::string hint_for(std::string_view key, const std::vector<Slot>& slots) {
  std::vector<std::string_view> names;
  for (const Slot& slot : slots) names.push_back(slot.field->name);
  const std::string_view near = nearest(key, names);
  if (!near.empty()) return "did you mean '" + std::string(near) + "'?";
  std::sort(names.begin(), names.end());
  std::string all = "known here:";
  for (const std::string_view name : names) all += (name == names.front() ? " " : ", ") + std::string(name);
  return all;
}

bool is_empty(const Node& node) {
  return (node.shape == Node::Shape::list && node.items.empty()) ||
         (node.shape == Node::Shape::map && node.fields.empty());
}

}  // namespace

bool expect_map(const Node& node, std::string_view noun, Reporter& reporter) {
  if (node.shape == Node::Shape::map) return true;
  reporter.error(
      code::wrong_type, span_of(node),
      "expected " + std::string(noun) + ", found " +
          (node.shape == Node::Shape::list   ? "a list"
           : node.shape == Node::Shape::null ? "nothing"
           : noun == "credentials"           ? "a text"  // which may be the secret, so it is not repeated
                                             : in_quotes(node.text)),
      node.shape == Node::Shape::null ? "remove the key, or write its fields" : "write {field: value, ...}");
  return false;
}

bool expect_list(const Node& node, Reporter& reporter) {
  if (node.shape == Node::Shape::list) return true;
  reporter.error(
      code::wrong_type, span_of(node),
      std::string("expected a list, found ") + (node.shape == Node::Shape::map    ? "a map"
                                                : node.shape == Node::Shape::null ? "nothing"
                                                                                  : in_quotes(node.text)),
      node.shape == Node::Shape::scalar ? "write [" + node.text.substr(0, 60) + "]" : "write [value, ...]");
  return false;
}

void load_fields(std::span<const Part> parts, const Node& map, std::string_view what, Reporter& reporter) {
  std::vector<Slot> slots;
  for (const Part& part : parts)
    for (const Field& one : part.fields) slots.push_back({&one, part.object, false});
  for (const auto& [key, value] : map.fields) {
    const auto at =
        std::find_if(slots.begin(), slots.end(),
                     [text = std::string_view(key->text)](const Slot& s) { return s.field->name == text; });
    if (at == slots.end()) {
      reporter.error(code::unknown_field, span_of(*key),
                     "unknown field " + in_quotes(key->text) + " in " + std::string(what),
                     hint_for(key->text, slots));
      continue;
    }
    at->seen = true;
    if (is_idle(what, at->field->name))
      reporter.has_no_effect(span_of(*key), "'" + std::string(at->field->name) + "' in " + std::string(what));
    const Type& type = at->field->type();
    if (at->field->limits.not_empty && is_empty(*value))
      reporter.error(code::missing_field, span_of(*value), "'" + std::string(at->field->name) + "' is empty",
                     std::string(at->field->doc));
    type.load(type, at->field->limits, *value, at->field->at(at->object), reporter);
  }
  for (const Slot& slot : slots)
    if (slot.field->limits.required && !slot.seen)
      reporter.error(code::missing_field, span_of(map),
                     "'" + std::string(slot.field->name) + "' is missing in " + std::string(what),
                     std::string(slot.field->doc));
}

}  // namespace lockstep
