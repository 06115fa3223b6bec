// Scalars: how each C++ type of a field is read from the text of a YAML scalar, and its name in messages.
//
// Only unquoted scalars are numbers, booleans or null; a text that would read as one of these must be quoted.
// Quantities and words may be written either way.
#pragma once

#include <concepts>
#include <limits>
#include <span>
#include <string_view>

#include "specs/language/kinds.hpp"
#include "specs/language/node.hpp"
#include "specs/language/reporter.hpp"

namespace lockstep {

enum class ScalarShape : std::uint8_t { boolean, integer, text, literal };

// The syntax of a text beyond its type. word: text without blanks; hosts: a hostlist of host names (RFC 1123
// 2.1); note: the only form that may have several lines; sysctl: a dotted name; entry: an entry's path;
// scalar: a literal that is a scalar; filled: not only blanks.
enum class Form : std::uint8_t {
  any,
  note,
  name,
  word,
  sysctl,
  entry,
  hostlist,
  hosts,
  ports,
  sentence,
  filled,
  kernel_parameter,
  scalar
};

struct Limits {
  bool required = false;
  bool not_empty = false;  // for a list or map
  // In the smallest unit of the type: bit/s, bytes, nanoseconds, parts per million.
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::string_view range = {};    // "50ms to 60s", if users do not write the plain numbers
  std::string_view why = {};      // the source of the limits
  std::string_view pattern = {};  // for the JSON Schema of a text
  Form form = Form::any;
  Form key = Form::any;  // for a map with free keys
  std::string_view otherwise =
      {};  // the value that applies if the field is left out; empty: see its object's type
};

template <class T>
struct ScalarOf;

template <class T>
concept IsScalar = requires {
  ScalarOf<T>::noun;
};

// Reports and returns false if the node is not a scalar that a quantity or word can be read from.
bool expect_text(const Node& node, std::string_view noun, Reporter& reporter);
bool load_boolean(const Node& node, bool& out, Reporter& reporter);
bool load_integer(const Node& node, const Limits& limits, std::int64_t least, std::uint64_t most,
                  std::int64_t& out, Reporter& reporter);
bool load_string(const Node& node, const Limits& limits, std::string& out, Reporter& reporter);
bool load_word(const Node& node, std::span<const std::string_view> words, std::size_t& out,
               Reporter& reporter);
Literal literal_of(const Node& node);
// Whether a text has the form name, word or sysctl; true for other forms.
bool has_form(std::string_view text, Form form);
bool check_form(const Node& node, Form form, Reporter& reporter);
bool is_host_name(std::string_view name);
inline constexpr std::string_view host_name_rule =
    "use letters, digits, '-' and '.': parts of at most 63, 253 in all, that begin and end with a letter or "
    "digit (RFC 1123 2.1)";
void report_quantity(const Node& node, const Error& error, Reporter& reporter);
bool check_amount(const Node& node, const Limits& limits, std::uint64_t amount, Reporter& reporter);

// Describes the allowed values of each quantity: one row per type.
template <class T>
struct Quantity;  // noun, pattern, parse(text) -> Result<T>, amount(T) -> the number that Limits apply to

template <>
struct ScalarOf<bool> {
  static constexpr ScalarShape shape = ScalarShape::boolean;
  static constexpr std::string_view noun = "true or false";
  static constexpr std::string_view pattern = {};
  static constexpr std::span<const std::string_view> spellings{};
};
template <>
struct ScalarOf<std::string> {
  static constexpr ScalarShape shape = ScalarShape::text;
  static constexpr std::string_view noun = "a text";
  static constexpr std::string_view pattern = {};
  static constexpr std::span<const std::string_view> spellings{};
};
template <>
struct ScalarOf<Literal> {
  static constexpr ScalarShape shape = ScalarShape::literal;
  static constexpr std::string_view noun = "a value";
  static constexpr std::string_view pattern = {};
  static constexpr std::span<const std::string_view> spellings{};
};
template <std::integral T>
struct ScalarOf<T> {
  static constexpr ScalarShape shape = ScalarShape::integer;
  static constexpr std::string_view noun = "a whole number";
  static constexpr std::string_view pattern = {};
  static constexpr std::span<const std::string_view> spellings{};
};
template <class E>
requires requires(E e) { words(e); }
inline constexpr auto words_of = words(E{});
template <class E>
requires requires(E e) { words(e); }
struct ScalarOf<E> {
  static constexpr ScalarShape shape = ScalarShape::text;
  static constexpr std::string_view noun = "a word";
  static constexpr std::string_view pattern = {};
  static constexpr std::span<const std::string_view> spellings{words_of<E>};
};
template <class T>
requires requires { Quantity<T>::noun; }
struct ScalarOf<T> {
  static constexpr ScalarShape shape = ScalarShape::text;
  static constexpr std::string_view noun = Quantity<T>::noun;
  static constexpr std::string_view pattern = Quantity<T>::pattern;
  static constexpr std::span<const std::string_view> spellings{};
};

template <class T>
bool load_scalar(const Node& node, const Limits& limits, T& out, Reporter& reporter) {
  if constexpr (std::same_as<T, bool>) {
    return load_boolean(node, out, reporter);
  } else if constexpr (std::same_as<T, std::string>) {
    return load_string(node, limits, out, reporter);
  } else if constexpr (std::same_as<T, Literal>) {
    out = literal_of(node);
    return limits.form != Form::scalar || expect_text(node, "a number or a text", reporter);
  } else if constexpr (std::integral<T>) {
    std::int64_t value = 0;
    constexpr std::uint64_t most =
        std::min<std::uint64_t>(std::numeric_limits<T>::max(), std::numeric_limits<std::int64_t>::max());
    if (!load_integer(node, limits, std::int64_t{std::numeric_limits<T>::min()}, most, value, reporter))
      return false;
    out = static_cast<T>(value);
    return true;
  } else if constexpr (requires { words(out); }) {
    std::size_t index = 0;
    if (!load_word(node, ScalarOf<T>::spellings, index, reporter)) return false;
    out = static_cast<T>(index);
    return true;
  } else {
    if (!expect_text(node, Quantity<T>::noun, reporter)) return false;
    Result<T> parsed = Quantity<T>::parse(node.text);
    if (!parsed) {
      report_quantity(node, parsed.error(), reporter);
      return false;
    }
    if (!check_amount(node, limits, Quantity<T>::amount(*parsed), reporter)) return false;
    out = *std::move(parsed);
    return true;
  }
}

}  // namespace lockstep

#include "specs/language/quantities_of_fields.hpp"
