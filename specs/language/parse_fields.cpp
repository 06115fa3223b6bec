// The parsers of formatted texts other than quantities: bounds, pairs, versions, secrets.
#include <algorithm>
#include <charconv>

#include "specs/language/quantities_of_fields.hpp"

namespace lockstep {
namespace {

Error is_not(std::string_view text, std::string_view noun) {
  return Error{ErrorKind::invalid_spec, in_quotes(text) + " is not " + std::string(noun)};
}

constexpr std::string_view blanks = " \t\n";

// ": 255" for "0xff"; empty if it is no number.
std::string decimal_of(std::string_view hexadecimal) {
  constexpr int base = 16;
  std::uint64_t value = 0;
  const std::string_view digits = hexadecimal.substr(2);
  const auto [end, result] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  const bool whole = result == std::errc{} && end == digits.data() + digits.size();
  return whole ? ": " + std::to_string(value) : "";
}

constexpr std::pair<std::string_view, PairChoice::Way> pair_words[] = {
    {"all", PairChoice::Way::all},
    {"same-rail", PairChoice::Way::same_rail},
    {"cross-leaf", PairChoice::Way::cross_leaf},
    {"ring", PairChoice::Way::ring}};

}  // namespace

Result<Memlock> parse_memlock(std::string_view text) {
  if (text == "unlimited") return Memlock{true, {}};
  // A text that begins with a digit is meant as an amount: report what is wrong with the amount.
  if (text.empty() || text.front() < '0' || text.front() > '9') return is_not(text, Quantity<Memlock>::noun);
  TRY(const ByteCount amount, parse_byte_count(text));
  return Memlock{false, amount};
}

Result<VersionRule> parse_version_rule(std::string_view text) {
  constexpr std::pair<std::string_view, VersionRule::Compare> operators[] = {
      {">=", VersionRule::Compare::at_least},
      {"<=", VersionRule::Compare::at_most},
      {"==", VersionRule::Compare::equal},
      {">", VersionRule::Compare::above},
      {"<", VersionRule::Compare::below}};
  VersionRule rule;
  std::string_view rest = text;
  for (const auto& [spelling, compare] : operators) {
    if (!rest.starts_with(spelling)) continue;
    rule.compare = compare;
    rest.remove_prefix(spelling.size());
    break;
  }
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const auto fits = [](char c) {  // Debian Policy 5.6.12 and rpm: what a version consists of
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '+' || c == '~' || c == ':' || c == '_' || c == '^';
  };
  // deb-version(7): it begins with a digit; versions of kernels, drivers and firmware may begin with a
  // letter.
  constexpr std::string_view marks = ".-+~:_^";
  if (rest.empty() || marks.find(rest.front()) != marks.npos || !std::all_of(rest.begin(), rest.end(), fits))
    return is_not(text, Quantity<VersionRule>::noun);
  if (rest.find_first_of("0123456789") == rest.npos)
    return is_not(text, std::string(Quantity<VersionRule>::noun) +
                            ": it has a digit, and lockstep installs and removes nothing");
  rule.version = rest;
  return rule;
}

Result<SysctlValue> parse_sysctl_value(std::string_view text) {
  for (const std::string_view boolean : {"true", "True", "TRUE", "false", "False", "FALSE"})
    if (text == boolean)
      return is_not(text, "a value that a kernel parameter can have: write " +
                              std::string(boolean[0] == 't' || boolean[0] == 'T' ? "1" : "0"));
  if (text.find_first_of("\n\r") != text.npos)
    return is_not(text, "a value that a kernel parameter can have: it is one line");
  SysctlValue value;
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(blanks));
    text.remove_prefix(word.size());
    if (word.starts_with("0x") || word.starts_with("0X"))
      return is_not(word, "a value as the kernel prints it, which is decimal" + decimal_of(word));
    if (!word.empty()) value.text += (value.text.empty() ? "" : " ") + std::string(word);
  }
  if (value.text.empty()) return is_not(text, "a value that a kernel parameter can have: it is empty");
  return value;
}

Result<PairChoice> parse_pair_choice(std::string_view text) {
  for (const auto& [word, way] : pair_words)
    if (text == word) return PairChoice{way, 0};
  constexpr std::string_view head = "sample(";
  if (!text.starts_with(head) || !text.ends_with(')')) return is_not(text, Quantity<PairChoice>::noun);
  const std::string_view digits = text.substr(head.size(), text.size() - head.size() - 1);
  PairChoice choice{PairChoice::Way::sample, 0};
  const auto [end, result] = std::from_chars(digits.data(), digits.data() + digits.size(), choice.sample);
  if (result != std::errc{} || end != digits.data() + digits.size() || choice.sample == 0)
    return is_not(text, Quantity<PairChoice>::noun);
  return choice;
}

Result<Bound> parse_bound(std::string_view text) {
  Bound bound;
  constexpr std::string_view of = " of ";
  if (const std::size_t at = text.find(of); at != text.npos) {
    const std::string_view reference = text.substr(at + of.size());
    TRY(bound.ratio, parse_ratio(text.substr(0, at)));
    bound.of = reference == "nominal" ? Bound::Of::nominal : Bound::Of::baseline;
    if (reference == "nominal" || reference == "baseline") return bound;
    return reference == "ideal"
               ? is_not(text, "a bound: ideal is for diagnosis, an SLO compares with nominal or baseline")
               : is_not(text, "a bound: it compares with nominal or baseline");
  }
  if (text.ends_with('%')) {
    TRY(bound.ratio, parse_ratio(text));
    return bound;
  }
  if (text.ends_with("bps")) {
    bound.unit = Bound::Unit::rate;
    TRY(bound.rate, parse_bit_rate(text));
    return bound;
  }
  const auto time = parse_duration(text);
  if (!time) return is_not(text, Quantity<Bound>::noun);
  bound.unit = Bound::Unit::time;
  bound.time = *time;
  return bound;
}

Result<SecretName> parse_secret_name(std::string_view text) {
  const std::size_t colon = text.find(':');
  for (std::size_t i = 0; i < words_of<SecretStore>.size(); ++i)
    if (colon != text.npos && colon + 1 < text.size() && text.substr(0, colon) == words_of<SecretStore>[i])
      return SecretName{static_cast<SecretStore>(i), std::string(text.substr(colon + 1))};
  // The message does not repeat the text, which may be the secret.
  return Error{ErrorKind::denied, "not " + std::string(Quantity<SecretName>::noun)};
}

Result<IpPrefix> parse_ip_prefix(std::string_view text) {
  const auto prefix = IpPrefix::parse(text);
  if (!prefix) return is_not(text, Quantity<IpPrefix>::noun);
  return *prefix;
}

Result<IpAddress> parse_ip_address(std::string_view text) {
  const auto address = IpAddress::parse(text);
  if (!address) return is_not(text, Quantity<IpAddress>::noun);
  return *address;
}

std::string entry_text(const Memlock& value) {
  return value.unlimited ? "unlimited" : std::to_string(value.limit.bytes);
}

std::string entry_text(const VersionRule& value) {
  static constexpr std::string_view spellings[] = {"==", ">=", "<=", ">", "<"};
  return std::string(spellings[static_cast<std::size_t>(value.compare)]) + value.version;
}

std::string format(const Bound& value) {
  switch (value.of) {
    case Bound::Of::nominal: return format(value.ratio) + " of nominal";
    case Bound::Of::baseline: return format(value.ratio) + " of baseline";
    case Bound::Of::absolute: break;
  }
  switch (value.unit) {
    case Bound::Unit::rate: return format(value.rate);
    case Bound::Unit::time: return format(value.time);
    case Bound::Unit::ratio: break;
  }
  return format(value.ratio);
}

std::string format(const PairChoice& value) {
  for (const auto& [word, way] : pair_words)
    if (way == value.way) return std::string(word);
  return "sample(" + std::to_string(value.sample) + ")";
}

}  // namespace lockstep
