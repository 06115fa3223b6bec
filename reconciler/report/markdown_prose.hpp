// Text from lockstep's own tables for a paragraph or cell of Markdown: markup is escaped, but code spans are
// kept. Text from elsewhere goes through markdown_code (escape.hpp).
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace lockstep {

inline std::string markdown_prose(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("|<*[]").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

inline std::string capitalised(std::string_view text) {
  std::string out(text);
  if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  return out;
}

}  // namespace lockstep
