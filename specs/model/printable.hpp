// Printable: makes text that this program did not write (a device's answer, a name in a spec, a file name, a
// kernel message) safe to show. The only place that decides which characters are never shown, and how they
// are replaced; reconciler/report/escape.hpp puts the result into Markdown, XML, workflow commands and so on.
//
// Promises: the result is UTF-8 and one line, whatever the bytes are; a text without such characters is
// unchanged; applying it twice is the same as once, so that each layer may apply it and none depends on
// another. A replaced character is shown as its number, never dropped: \x1b (a control character), \xff (a
// byte that is not UTF-8), \u{202e} (everything else). A backslash is not doubled: a text that contains these
// letters literally looks the same here, and differs in -o json.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

// The code point at `offset` and how many bytes it takes; malformed bytes (Unicode 15, table 3-7) count as
// one character each, 0xfffd of one byte.
struct CodePoint {
  char32_t value = 0;
  unsigned bytes = 1;
  bool malformed() const { return value == 0xfffd && bytes == 1; }
};
CodePoint code_point_at(std::string_view text, std::size_t offset);

// The offset of the first byte that is not part of well-formed UTF-8.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// Characters that act on a terminal, end a line, reorder or hide text, or are no characters: C0, DEL, C1;
// line and paragraph separator; the general category Cf (Unicode 15: bidirectional marks, zero-width
// characters, tags); noncharacters. XML 1.0 forbids some of them (section 2.2); those that it allows are of
// no use.
bool is_hidden(char32_t value);

// The replacement for a hidden or malformed character of `text`; any other character unchanged.
std::string visible(std::string_view text, const CodePoint& point, std::size_t offset);

std::string printable(std::string_view text);
// The same, and what exceeds `most` bytes is cut off, at the end of a character.
std::string printable(std::string_view text, std::size_t most);

}  // namespace lockstep
