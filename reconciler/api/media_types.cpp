#include "reconciler/api/media_types.hpp"

#include <algorithm>
#include <string>

namespace lockstep::api {
namespace {

std::string_view trimmed_part(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Takes what is before the next separator.
std::string_view take_part(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view out = trimmed_part(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

// A weight of 0 refuses: "0", "0.", "0.000".
bool is_refused(std::string_view parameter) {
  const std::string text = lower(parameter);
  return text.starts_with("q=0") && text.find_first_not_of("0.", 2) == text.npos;
}

}  // namespace

bool accepts(std::string_view accept, std::string_view type) {
  if (trimmed_part(accept).empty()) return true;
  const std::string any_of_type = std::string(type.substr(0, type.find('/'))) + "/*";
  int found = 0;  // how specific the range is that decides: 1 */*, 2 type/*, 3 the type
  bool is_accepted = false;
  while (!accept.empty()) {
    std::string_view range = take_part(accept, ',');
    const std::string name = lower(take_part(range, ';'));
    const int rank = name == type ? 3 : name == any_of_type ? 2 : name == "*/*" ? 1 : 0;
    bool refused = false;
    while (!range.empty()) refused = is_refused(take_part(range, ';')) || refused;
    if (rank == 0 || rank < found) continue;
    is_accepted = rank == found ? is_accepted || !refused : !refused;
    found = rank;
  }
  return is_accepted;
}

bool is_json_type(std::string_view content_type) {
  if (lower(take_part(content_type, ';')) != "application/json") return false;
  while (!content_type.empty()) {
    std::string parameter = lower(take_part(content_type, ';'));
    std::erase(parameter, '"');
    if (parameter.starts_with("charset=") && parameter != "charset=utf-8") return false;
  }
  return true;
}

}  // namespace lockstep::api
