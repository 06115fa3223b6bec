#include "specs/language/secret_lines.hpp"

#include <algorithm>
#include <cctype>

namespace lockstep {
namespace {

constexpr std::string_view word_of_maps = "credential";
constexpr std::string_view secret_words[] = {"secret",  "password",    "passwd",      "passphrase",
                                             "token",   "private-key", "private_key", "privatekey",
                                             "api-key", "api_key",     "apikey",      word_of_maps};
constexpr std::string_view places[] = {"systemd:", "file:", "env:"};  // parse_secret_name

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool is_of_key(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; }
bool is_quote(char c) { return c == '\'' || c == '"'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::size_t indent_of(std::string_view line) {
  return static_cast<std::size_t>(std::find_if_not(line.begin(), line.end(), is_blank) - line.begin());
}

// Behind the word at `from`: the rest of a key and a value that is no place of a secret. `map`: the key's
// value may be a map, whose own keys tell.
bool holds_value(std::string_view line, std::size_t from, bool map) {
  while (from < line.size() && is_of_key(line[from])) ++from;
  if (from < line.size() && is_quote(line[from])) ++from;
  while (from < line.size() && is_blank(line[from])) ++from;
  if (from >= line.size() || line[from] != ':') return false;
  ++from;
  while (from < line.size() && (is_blank(line[from]) || is_quote(line[from]))) ++from;
  const std::string_view value = line.substr(from);
  if (map && (value.empty() || value.front() == '{' || value.front() == '#')) return false;
  return std::none_of(std::begin(places), std::end(places),
                      [value](std::string_view place) { return value.starts_with(place); });
}

bool has_secret(std::string_view line) {
  for (const std::string_view word : secret_words) {
    const auto same = [](char a, char b) { return lower(a) == b; };
    auto at = line.begin();
    while ((at = std::search(at, line.end(), word.begin(), word.end(), same)) != line.end()) {
      at += static_cast<std::ptrdiff_t>(word.size());
      if (holds_value(line, static_cast<std::size_t>(at - line.begin()), word == word_of_maps)) return true;
    }
  }
  return false;
}

}  // namespace

std::set<std::uint32_t> lines_with_secrets(std::string_view text) {
  std::set<std::uint32_t> out;
  std::size_t above = std::string_view::npos;  // the indent of the key whose value this may be; npos: none
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t indent = indent_of(line);
    const bool below = above != std::string_view::npos && (indent > above || indent == line.size());
    if (!below) above = has_secret(line) ? indent : std::string_view::npos;
    if (above != std::string_view::npos) out.insert(number);
  }
  return out;
}

}  // namespace lockstep
