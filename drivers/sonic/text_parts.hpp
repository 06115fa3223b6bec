// Texts of CONFIG_DB in parts: keys at |, lists at commas. Texts of models in one line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::sonic {

// As Python's strip() takes them away.
inline std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The parts between separators, without the blanks around them.
inline std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t end = text.find(separator); end != text.npos; end = text.find(separator)) {
    parts.emplace_back(without_blanks(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  parts.emplace_back(without_blanks(text));
  return parts;
}

// Runs of blanks as one.
inline std::string in_one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!blank)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  return out;
}

}  // namespace lockstep::sonic
