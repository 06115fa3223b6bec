// Text from lockstep's own tables for a paragraph or cell of Markdown: markup is escaped, but code spans are
// kept. Text from elsewhere goes through markdown_code (escape.hpp).
#pragma once

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

}  // namespace lockstep
