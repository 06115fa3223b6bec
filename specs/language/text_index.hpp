// TextIndex: maps byte offsets of one text to line and column (in characters), and the checks before parsing.
//
// Promises: a look-up scans at most a kibibyte, whatever the length of the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "specs/model/diagnostic.hpp"

namespace lockstep {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

class TextIndex {
 public:
  TextIndex(std::uint32_t file, std::string_view text);
  Position position(std::size_t offset) const;

 private:
  std::size_t characters_before(std::size_t offset) const;
  std::uint32_t file_;
  std::string_view text_;
  bool ascii_ = true;
  std::vector<std::uint32_t> line_starts_;
  std::vector<std::uint32_t> marks_;  // characters before byte 1024 * i
};

// The offset of the first character for which is_hidden() (specs/model/printable.hpp) holds, other than tab,
// newline and a carriage return before a newline.
std::optional<std::size_t> find_control_character(std::string_view text);
// Describes the character at `offset`: "a control character, \x1b".
std::string control_character_at(std::string_view text, std::size_t offset);

}  // namespace lockstep
