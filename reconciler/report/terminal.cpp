#include "reconciler/report/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace lockstep {
namespace {

constexpr std::string_view escape(Ink ink) {
  switch (ink) {
    case Ink::plain: return "";
    case Ink::bold: return "\x1b[1m";
    case Ink::dim: return "\x1b[2m";
    case Ink::red: return "\x1b[31m";
    case Ink::green: return "\x1b[32m";
    case Ink::yellow: return "\x1b[33m";
    case Ink::blue: return "\x1b[34m";
    case Ink::cyan: return "\x1b[36m";
  }
  return "";
}

constexpr std::string_view kEnd = "\x1b[0m";

}  // namespace

Terminal Terminal::of(int descriptor) {
  Terminal terminal;
  if (isatty(descriptor) == 0) return terminal;
  terminal.on_terminal = true;
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  terminal.colour = (no_colour == nullptr || *no_colour == '\0') && !dumb;
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = size.ws_col;
  return terminal;
}

Shown Terminal::paint(Ink ink, std::string_view text) const {
  if (!colour || ink == Ink::plain || text.empty()) return Shown(printable(text));
  return Shown(std::string(escape(ink)) + printable(text) + std::string(kEnd));
}

std::size_t colour_sequence(std::string_view text) {
  if (!text.starts_with('\x1b')) return 0;
  for (const Ink ink : {Ink::bold, Ink::dim, Ink::red, Ink::green, Ink::yellow, Ink::blue, Ink::cyan})
    if (text.starts_with(escape(ink))) return escape(ink).size();
  return text.starts_with(kEnd) ? kEnd.size() : 0;
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0x1b) {  // one of lockstep's escape sequences: up to and including 'm'
      while (i < text.size() && text[i] != 'm') ++i;
    } else if ((byte & 0xC0) != 0x80) {
      ++columns;
    }
  }
  return columns;
}

std::string shorten(std::string_view text, std::size_t width) {
  const std::size_t whole = display_width(text);
  if (whole <= width || width == 0) return std::string(text);
  const std::size_t head = width / 2;
  const std::size_t tail = width - 1 - head;
  std::string out;
  std::size_t column = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t colour = colour_sequence(text.substr(i)); colour > 0) {
      out += text.substr(i, colour);
      i += colour;
      continue;
    }
    std::size_t next = i + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) ++next;
    if (column == head) out += "…";
    if (column < head || column >= whole - tail) out += text.substr(i, next - i);
    ++column;
    i = next;
  }
  return out;
}

std::string pad(std::string_view text, std::size_t width) {
  const std::size_t columns = display_width(text);
  return std::string(text) + std::string(columns < width ? width - columns : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t columns = display_width(text);
  return std::string(columns < width ? width - columns : 0, ' ') + std::string(text);
}

}  // namespace lockstep
