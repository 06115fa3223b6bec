#include "specs/model/printable.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace lockstep {
namespace {

constexpr std::pair<char32_t, char32_t> kHidden[] = {
    {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
    {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x180e, 0x180e},
    {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},   {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},
    {0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0xe0000, 0xe007f}};

unsigned char byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }
bool continues(std::string_view text, std::size_t i) {
  return i < text.size() && (byte_at(text, i) & 0xc0) == 0x80;
}

std::string hex(char32_t value, std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (; value != 0 || out.size() < digits; value >>= 4U) out.insert(out.begin(), kDigits[value & 0xfU]);
  return out;
}

}  // namespace

CodePoint code_point_at(std::string_view text, std::size_t offset) {
  const unsigned char first = byte_at(text, offset);
  const unsigned bytes = first < 0x80 ? 1U : first < 0xc2 ? 0U : first < 0xe0 ? 2U : first < 0xf0 ? 3U : 4U;
  if (bytes == 1) return {first, 1};
  if (bytes == 0 || first > 0xf4) return {0xfffd, 1};
  char32_t value = first & (0xffU >> (bytes + 1));
  for (unsigned i = 1; i < bytes; ++i) {
    if (!continues(text, offset + i)) return {0xfffd, 1};
    value = value << 6 | (byte_at(text, offset + i) & 0x3fU);
  }
  const bool overlong = (bytes == 3 && value < 0x800) || (bytes == 4 && value < 0x10000);
  if (overlong || (value >= 0xd800 && value < 0xe000) || value > 0x10ffff) return {0xfffd, 1};
  return {value, bytes};
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (byte_at(text, i) < 0x80) {
      ++i;
      continue;
    }
    const CodePoint point = code_point_at(text, i);
    if (point.bytes == 1) return i;
    i += point.bytes;
  }
  return std::nullopt;
}

bool is_hidden(char32_t value) {
  if (value >= 0x20 && value < 0x7f) return false;
  if ((value & 0xfffe) == 0xfffe) return true;  // the last two of each plane are noncharacters
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [value](const auto& range) { return value >= range.first && value <= range.second; });
}

std::string visible(std::string_view text, const CodePoint& point, std::size_t offset) {
  if (point.malformed()) return "\\x" + hex(byte_at(text, offset), 2);
  if (!is_hidden(point.value)) return std::string(text.substr(offset, point.bytes));
  return point.value < 0x100 ? "\\x" + hex(point.value, 2) : "\\u{" + hex(point.value, 4) + "}";
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    if (point.value >= 0x20 && point.value < 0x7f)
      out += text[i];
    else
      out += visible(text, point, i);
    i += point.bytes;
  }
  return out;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string out = printable(text);
  if (out.size() <= most) return out;
  out.resize(most);
  if (const auto cut = find_invalid_utf8(out)) out.resize(*cut);
  return out;
}

}  // namespace lockstep
