#include "specs/language/text_index.hpp"

#include <algorithm>

#include "specs/model/printable.hpp"

namespace lockstep {
namespace {

constexpr std::size_t mark_every = 1024;

std::uint32_t count_characters(std::string_view text) {
  std::uint32_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

}  // namespace

TextIndex::TextIndex(std::uint32_t file, std::string_view text) : file_(file), text_(text) {
  line_starts_.push_back(0);
  for (std::size_t i = text.find('\n'); i != text.npos; i = text.find('\n', i + 1))
    line_starts_.push_back(static_cast<std::uint32_t>(i + 1));
  ascii_ = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
  if (ascii_) return;
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < text.size(); i += mark_every) {
    marks_.push_back(count);
    count += count_characters(text.substr(i, mark_every));
  }
  marks_.push_back(count);
}

std::size_t TextIndex::characters_before(std::size_t offset) const {
  if (ascii_) return offset;
  const std::size_t mark = offset / mark_every;
  return marks_[mark] + count_characters(text_.substr(mark * mark_every, offset - mark * mark_every));
}

Position TextIndex::position(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto line = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset) - line_starts_.begin();
  const std::size_t start = line_starts_[static_cast<std::size_t>(line - 1)];
  std::size_t column = characters_before(offset) - characters_before(start);
  if (line == 1 && column > 0 && text_.starts_with(byte_order_mark)) --column;  // not a character of the line
  return {file_, static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(column + 1)};
}

std::optional<std::size_t> find_control_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    const bool ends_line = point.value == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if (is_hidden(point.value) && point.value != '\t' && point.value != '\n' && !ends_line) return i;
    i += point.bytes;
  }
  return std::nullopt;
}

std::string control_character_at(std::string_view text, std::size_t offset) {
  const CodePoint point = code_point_at(text, offset);
  if (point.value == 0) return "a NUL character";
  if (point.value < 0xa0) return "a control character, " + visible(text, point, offset);
  return "a character that hides or reorders text, " + visible(text, point, offset);
}

}  // namespace lockstep
