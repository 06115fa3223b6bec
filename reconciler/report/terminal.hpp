// What a text report knows about where it is printed: colour or not, and how wide.
//
// Colour only on a terminal, never with NO_COLOR set (https://no-color.org) or TERM=dumb; a width is taken
// from the terminal, 100 columns elsewhere. Everything else in report/ takes a Terminal and returns text: no
// global state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

enum class Ink : std::uint8_t { plain, bold, dim, red, green, yellow, blue, cyan };

struct Terminal {
  bool on_terminal = false;
  bool colour = false;
  int width = 100;

  // The terminal behind a file descriptor (1: standard output).
  static Terminal of(int descriptor);

  std::string paint(Ink ink, std::string_view text) const;
};

// Columns that a text takes on a terminal: UTF-8 characters, escape sequences not counted. Wide (CJK)
// characters are counted as one: names of devices and ports are ASCII.
std::size_t display_width(std::string_view text);
// `text` followed by blanks up to `width` columns; longer texts stay whole.
std::string pad(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);

}  // namespace lockstep
