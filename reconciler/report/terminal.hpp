// Where a text report is printed (colour or not, and how wide), and how a report is composed so that nothing
// in it except lockstep's own texts and colours acts on a terminal.
//
// A report consists of lockstep's own texts and of fields (names, values, messages of a device or the
// kernel), which are untrusted. Shown is text that is safe to show; all ways to make it (paint, compose) make
// every field printable, on one line. A std::string is a field: given to a report, in compose() or as a table
// cell, it is made printable. A text that a report does not handle is therefore shown escaped, not
// interpreted; report_text() (escape.hpp) is the safeguard for texts concatenated with +.
//
// Colour only on a terminal, never with NO_COLOR set (https://no-color.org) or TERM=dumb; the width is the
// terminal's, 100 columns elsewhere. Everything else in report/ takes a Terminal and returns text: no global
// state.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "specs/model/printable.hpp"

namespace lockstep {

enum class Ink : std::uint8_t { plain, bold, dim, red, green, yellow, blue, cyan };

class Shown : public std::string {
 public:
  Shown() = default;
  explicit Shown(std::string text) : std::string(std::move(text)) {}
};

struct Terminal {
  bool on_terminal = false;
  bool colour = false;
  int width = 100;

  // The terminal behind a file descriptor (1: standard output).
  static Terminal of(int descriptor);

  // The same, without shortening: for text to be approved, or requested in detail.
  Terminal whole() const {
    Terminal out = *this;
    out.on_terminal = false;
    return out;
  }
  // A field, in a colour.
  Shown paint(Ink ink, std::string_view text) const;
};

// How fmt prints a field: text is made printable, unless it is already safe to show.
template <class T>
decltype(auto) field(const T& value) {
  if constexpr (std::is_base_of_v<Shown, T>)
    return std::string_view(value);
  else if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return printable(value);
  else
    return (value);
}
template <class T>
using FieldOf = decltype(field(std::declval<const T&>()));

// fmt::format for Shown text. The format string is lockstep's own.
template <class... T>
Shown compose(fmt::format_string<FieldOf<T>...> form, const T&... fields) {
  return Shown(fmt::format(form, field(fields)...));
}

// The length of lockstep's colour sequence at the beginning of `text`; 0: none.
std::size_t colour_sequence(std::string_view text);

// The width of a text on a terminal: UTF-8 characters without escape sequences. Wide (CJK) characters count
// as one: names of devices and ports are ASCII.
std::size_t display_width(std::string_view text);
// `text`, or if it is wider its beginning, "…" and its end (for a change, the desired value); colours stay
// complete.
std::string shorten(std::string_view text, std::size_t width);
// `text` followed by blanks up to `width` columns; longer texts are unchanged.
std::string pad(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);

}  // namespace lockstep
