#include "specs/model/version.hpp"

#include <charconv>

namespace lockstep {
namespace {

struct VersionParts {
  unsigned epoch = 0;
  std::string_view upstream;
  std::string_view revision;

  explicit VersionParts(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos) {
      const auto [end, code] = std::from_chars(text.data(), text.data() + colon, epoch);
      if (code == std::errc{} && end == text.data() + colon) text.remove_prefix(colon + 1);
    }
    const std::size_t hyphen = text.rfind('-');
    upstream = text.substr(0, hyphen);
    if (hyphen != std::string_view::npos) revision = text.substr(hyphen + 1);
  }
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Order of non-digits: '~' before the end, the end before letters, letters before all others.
int rank_at(std::string_view text, std::size_t at) {
  if (at == text.size() || is_digit(text[at])) return 0;
  if (text[at] == '~') return -1;
  const int code = static_cast<unsigned char>(text[at]);
  return is_letter(text[at]) ? code : code + 256;
}

std::string_view take_digits(std::string_view& text) {
  while (text.starts_with('0')) text.remove_prefix(1);
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

// Alternates between non-digits, character by character, and a run of digits, as a number.
int compare_parts(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    std::size_t at = 0;
    for (;; ++at) {
      const int one = rank_at(a, at);
      const int other = rank_at(b, at);
      if (one != other) return one - other;
      if (one == 0) break;  // both are at a digit or at their end
    }
    a.remove_prefix(at);
    b.remove_prefix(at);
    const std::string_view one = take_digits(a);
    const std::string_view other = take_digits(b);
    if (one.size() != other.size()) return one.size() < other.size() ? -1 : 1;
    if (const int order = one.compare(other); order != 0) return order;
  }
  return 0;
}

struct Operator {
  std::string_view text;
  bool below, equal, above;  // accepted orderings of the version relative to the constraint
};
constexpr Operator kOperators[] = {{"==", false, true, false},
                                   {">=", false, true, true},
                                   {"<=", true, true, false},
                                   {">", false, false, true},
                                   {"<", true, false, false}};

}  // namespace

int compare_versions(std::string_view a, std::string_view b) {
  const VersionParts one(a);
  const VersionParts other(b);
  if (one.epoch != other.epoch) return one.epoch < other.epoch ? -1 : 1;
  const int order = compare_parts(one.upstream, other.upstream);
  return order != 0 ? order : compare_parts(one.revision, other.revision);
}

bool version_meets(std::string_view version, std::string_view constraint) {
  Operator wanted = kOperators[0];
  for (const Operator& one : kOperators) {
    if (!constraint.starts_with(one.text)) continue;
    wanted = one;
    constraint.remove_prefix(one.text.size());
    break;
  }
  const int order = compare_versions(version, constraint);
  return order < 0 ? wanted.below : order == 0 ? wanted.equal : wanted.above;
}

}  // namespace lockstep
