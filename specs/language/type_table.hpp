// Type and Field: one constant, type-erased table per kind. Loader, JSON Schema and field documentation each
// walk it, so that a new field costs one member and one row.
//
// Promises: a row refers to a member by pointer, so a table cannot disagree with its struct; every wrong
// value is reported at its position and leaves the member unset, at its default.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

#include "specs/language/node.hpp"
#include "specs/language/reporter.hpp"
#include "specs/language/scalars.hpp"

namespace lockstep {

struct Type;

struct Field {
  std::string_view name;
  std::string_view doc;
  const Type& (*type)();
  void* (*at)(void* object);
  Limits limits;
};

struct Type {
  enum class Shape : std::uint8_t { boolean, integer, text, literal, list, entries, object };
  using Load = void (*)(const Type&, const Limits&, const Node&, void* out, Reporter&);

  Shape shape = Shape::text;
  std::string_view noun;                    // "a bit rate such as 400Gbps"
  std::string_view pattern;                 // of a text, for the JSON Schema
  std::span<const std::string_view> words;  // of a text, or words that replace an object (`ecn: auto`)
  std::span<const Field> fields;            // of an object
  const Type& (*item)() = nullptr;          // of a list, or of the values of entries
  Load load = nullptr;
  // Rules between the fields of an object; called when all of them are loaded.
  void (*check)(const void* object, Span, Reporter&) = nullptr;
  // The range of an integer.
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  // Of an object: what applies if a field is left out and its own limits do not say.
  std::string_view otherwise = {};
};

// What applies if a field of that object is left out; empty: it is required, or there is no default to
// describe.
inline std::string_view otherwise_of(const Type& object, const Field& field) {
  if (field.limits.required) return {};
  return field.limits.otherwise.empty() ? object.otherwise : field.limits.otherwise;
}

// The table of a struct, specialised once beside its fields; declared for all in struct_types.hpp.
template <class S>
const Type& struct_type();

// An object may be loaded from several tables (its kind's fields, and those common to all kinds).
struct Part {
  std::span<const Field> fields;
  void* object;
};
void load_fields(std::span<const Part> parts, const Node& map, std::string_view what, Reporter& reporter);
// False, with a diagnostic, if the node is not a map.
bool expect_map(const Node& node, std::string_view noun, Reporter& reporter);
bool expect_list(const Node& node, Reporter& reporter);

template <class S>
void load_struct(const Type& type, const Limits&, const Node& node, void* out, Reporter& reporter) {
  S& object = *static_cast<S*>(out);
  if constexpr (requires { object.at.line; }) object.at = node.at;
  if (!expect_map(node, type.noun, reporter)) return;
  const Part part{type.fields, out};
  load_fields({&part, 1}, node, type.noun, reporter);
  if (type.check != nullptr) type.check(out, span_of(node), reporter);
}

template <class S>
constexpr Type object_type(std::string_view noun, std::span<const Field> fields,
                           void (*check)(const void*, Span, Reporter&) = nullptr,
                           std::string_view otherwise = {}) {
  Type type{Type::Shape::object, noun, {}, {}, fields, nullptr, load_struct<S>, check};
  type.otherwise = otherwise;
  return type;
}

// The type of a struct's member, by its C++ type.
template <class T>
struct TypeOf {
  static const Type& type() { return struct_type<T>(); }
};

template <class S>
struct Range {
  static constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
};
template <std::integral S>
struct Range<S> {
  static constexpr auto least = static_cast<std::int64_t>(std::numeric_limits<S>::min());
  static constexpr auto most = static_cast<std::int64_t>(
      std::min<std::uint64_t>(std::numeric_limits<S>::max(), std::numeric_limits<std::int64_t>::max()));
};

template <class S>
struct TypeOf<Said<S>> {
  static void load(const Type& type, const Limits& limits, const Node& node, void* out, Reporter& reporter) {
    auto& said = *static_cast<Said<S>*>(out);
    said.at = node.at;
    if constexpr (IsScalar<S>) {
      said.said = load_scalar(node, limits, said.value, reporter);
    } else {
      said.said = true;
      struct_type<S>().load(type, limits, node, &said.value, reporter);
    }
  }
  static const Type& type() {
    if constexpr (IsScalar<S>) {
      static constexpr Type scalar{ScalarOf<S>::shape == ScalarShape::boolean   ? Type::Shape::boolean
                                   : ScalarOf<S>::shape == ScalarShape::integer ? Type::Shape::integer
                                   : ScalarOf<S>::shape == ScalarShape::literal ? Type::Shape::literal
                                                                                : Type::Shape::text,
                                   ScalarOf<S>::noun,
                                   ScalarOf<S>::pattern,
                                   ScalarOf<S>::spellings,
                                   {},
                                   nullptr,
                                   load,
                                   nullptr,
                                   Range<S>::least,
                                   Range<S>::most};
      return scalar;
    } else {
      static const Type object = [] {
        Type copy = struct_type<S>();
        copy.load = load;
        return copy;
      }();
      return object;
    }
  }
};

template <class T>
struct TypeOf<std::vector<T>> {
  static void load(const Type& type, const Limits& limits, const Node& node, void* out, Reporter& reporter) {
    auto& list = *static_cast<std::vector<T>*>(out);
    if (!expect_list(node, reporter)) return;
    list.reserve(node.items.size());
    for (const Node* item : node.items)
      type.item().load(type.item(), limits, *item, &list.emplace_back(), reporter);
  }
  static const Type& type() {
    static constexpr Type list{Type::Shape::list, "a list", {}, {}, {}, TypeOf<T>::type, load};
    return list;
  }
};

template <class T>
struct TypeOf<std::vector<MapEntry<T>>> {
  static void load(const Type& type, const Limits& limits, const Node& node, void* out, Reporter& reporter) {
    auto& entries = *static_cast<MapEntries<T>*>(out);
    if (!expect_map(node, "a map", reporter)) return;
    entries.reserve(node.fields.size());
    for (const auto& [key, value] : node.fields) {
      if (!check_form(*key, limits.key, reporter)) continue;
      MapEntry<T>& entry = entries.emplace_back();
      entry.key = {key->text, key->at, true};
      type.item().load(type.item(), limits, *value, &entry.value, reporter);
    }
  }
  static const Type& type() {
    static constexpr Type entries{Type::Shape::entries, "a map", {}, {}, {}, TypeOf<Said<T>>::type, load};
    return entries;
  }
};

template <auto Member>
struct MemberOf;
template <class C, class T, T C::*Member>
struct MemberOf<Member> {
  using Owner = C;
  using Value = T;
  static void* at(void* object) { return &(static_cast<C*>(object)->*Member); }
};

template <auto Member>
constexpr Field field(std::string_view name, std::string_view doc, Limits limits = {}) {
  return {name, doc, TypeOf<typename MemberOf<Member>::Value>::type, MemberOf<Member>::at, limits};
}

// Calls a rule written for the struct.
template <class S, void (*Rule)(const S&, Span, Reporter&)>
void checked(const void* object, Span span, Reporter& reporter) {
  Rule(*static_cast<const S*>(object), span, reporter);
}

}  // namespace lockstep
