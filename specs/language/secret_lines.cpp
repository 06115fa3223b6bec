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

bool names_a_place(std::string_view value) {
  return std::any_of(std::begin(places), std::end(places),
                     [value](std::string_view place) { return value.starts_with(place); });
}

std::size_t indent_of(std::string_view line) {
  return static_cast<std::size_t>(std::find_if_not(line.begin(), line.end(), is_blank) - line.begin());
}

// After the word at `from`: whether a value follows that is not the location of a secret. `map`: the key's
// value may be a map, whose own keys decide.
bool holds_value(std::string_view line, std::size_t from, bool map) {
  while (from < line.size() && is_of_key(line[from])) ++from;
  if (from < line.size() && is_quote(line[from])) ++from;
  while (from < line.size() && is_blank(line[from])) ++from;
  if (from >= line.size() || (line[from] != ':' && line[from] != '=')) return false;
  ++from;
  while (from < line.size() && (is_blank(line[from]) || is_quote(line[from]))) ++from;
  const std::string_view value = line.substr(from);
  if (map && (value.empty() || value.front() == '{' || value.front() == '#')) return false;
  return !names_a_place(value);
}

bool has_secret(std::string_view line) {
  if (line.find("PRIVATE KEY-----") != line.npos) return true;  // RFC 7468
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

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view around = " \t\r'\"{}";
  const std::size_t first = text.find_first_not_of(around);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(around) - first + 1);
}

// Within `credentials` any key may be a misspelt `secret`: only secret locations may be shown. `fields`:
// "secret: file:x, user: y", or one of its lines.
bool all_told(std::string_view fields) {
  while (!fields.empty()) {
    const std::size_t comma = std::min(fields.find(','), fields.size());
    const std::string_view one = trimmed(fields.substr(0, comma));
    fields.remove_prefix(std::min(comma + 1, fields.size()));
    const std::size_t colon = one.find(':');
    const bool comment = one.starts_with('#');
    if (comment || one.empty()) continue;
    const bool told = colon != one.npos && trimmed(one.substr(0, colon)) == "secret" &&
                      names_a_place(trimmed(one.substr(colon + 1)));
    if (!told) return false;
  }
  return true;
}

// The offset of the value of a `credentials` key in this line; npos: there is none.
std::size_t credentials_value(std::string_view line) {
  constexpr std::string_view key = "credentials";
  const std::size_t at = line.find(key);
  if (at == line.npos) return at;
  const std::size_t colon = line.find_first_not_of(" \t'\"", at + key.size());
  return colon == line.npos || line[colon] != ':' ? line.npos : colon + 1;
}

// For a line that has such a key, or is below one.
bool may_tell_a_secret(std::string_view line, bool below) {
  const std::size_t value = credentials_value(line);
  if (value == line.npos) return below && !all_told(line);
  std::string_view fields = line.substr(value);
  if (const std::size_t end = fields.find('}'); end != fields.npos) fields = fields.substr(0, end);
  return !all_told(fields);
}

}  // namespace

std::set<std::uint32_t> lines_with_secrets(std::string_view text) {
  std::set<std::uint32_t> out;
  std::size_t above = std::string_view::npos;        // indent of the key whose value this may be; npos: none
  std::size_t credentials = std::string_view::npos;  // the same, for that key
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t indent = indent_of(line);
    const bool below = above != std::string_view::npos && (indent > above || indent == line.size());
    if (!below) above = has_secret(line) ? indent : std::string_view::npos;
    if (credentials != std::string_view::npos && indent <= credentials && indent < line.size())
      credentials = std::string_view::npos;
    const bool inside = credentials != std::string_view::npos;
    if (above != std::string_view::npos || may_tell_a_secret(line, inside)) out.insert(number);
    if (credentials_value(line) != std::string_view::npos) credentials = indent;
  }
  return out;
}

}  // namespace lockstep
