// What a text report knows about where it is printed: colour or not, and how wide; and how it is put together
// so that nothing in it but our own words and colours acts on a terminal.
//
// A report is made of our words and of fields (names, values, what a device or the kernel said), which are
// anybody's. Shown is text that is fit to be shown; all ways to make it (paint, compose) make every field
// printable, on one line. A std::string is a field: where a report is given one, in compose() or as a cell of
// a table, it is made printable. So what a report forgets is shown escaped, and not obeyed; report_text()
// (escape.hpp) is the net under what is put together by + alone.
//
// Colour only on a terminal, never with NO_COLOR set (https://no-color.org) or TERM=dumb; a width is taken
// from the terminal, 100 columns elsewhere. Everything else in report/ takes a Terminal and returns text: no
// global state.
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

  // A field, in a colour.
  Shown paint(Ink ink, std::string_view text) const;
};

// What a field is to fmt: text is made printable, unless it is already fit to be shown.
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

// fmt::format, for what is shown. The form is ours.
template <class... T>
Shown compose(fmt::format_string<FieldOf<T>...> form, const T&... fields) {
  return Shown(fmt::format(form, field(fields)...));
}

// The length of the colour sequence of ours that `text` begins with; 0: with none.
std::size_t colour_sequence(std::string_view text);

// Columns that a text takes on a terminal: UTF-8 characters, escape sequences not counted. Wide (CJK)
// characters are counted as one: names of devices and ports are ASCII.
std::size_t display_width(std::string_view text);
// `text` followed by blanks up to `width` columns; longer texts stay whole.
std::string pad(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);

}  // namespace lockstep
